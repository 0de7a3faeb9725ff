// Parameters that one rank of a training job holds of a virtual stage, before any sharding over
// data-parallel ranks.
//
// The layers declare their weights and how tensor-parallel ranks divide them (model/layers); groups
// of key-value heads are cut (RankShare::cuts_groups). The vocabulary is padded to a multiple of
// 128*tp (Megatron's rule). Towers are not part of a job. A rank holds 1/ep of the routed experts,
// each divided by etp. The first virtual stage holds the embedding and learned positions, the last
// one the final norm and the LM head. Tied embeddings are held once by a stage that is both first
// and last, else by each of the two.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct ChunkParameters {
  double dense = 0;    // copied (or sharded) over the dp*cp ranks, experts left out
  double experts = 0;  // routed experts, copied (or sharded) over the expert_data_ranks
  // Parameters that the optimizer updates: all of the above; with LoRA the adapters alone, which
  // `dense` and `experts` do not count.
  double trained_dense = 0, trained_experts = 0;
  // Matrices of the layers among `dense` and `experts`, routers left out, which fp8 and 4-bit bases
  // store narrowly.
  double products = 0;

  double all() const { return dense + experts; }
  double trained() const { return trained_dense + trained_experts; }
};

// REQUIRES that check_job accepts, 0 <= chunk < pp*vp.
ChunkParameters chunk_parameters(const Architecture& model, const TrainingJob& job, int chunk);

// The matrices of the layer that LoRA adapts. An adapter of rank r has r elements for each of their
// inputs and outputs, divided among ranks as these are.
std::vector<LayerMatrix> adapted_matrices(const Architecture& model, const LayerSpec& layer,
                                          const TrainingJob& job);

// Bytes of a weight in NF4: half a byte, an 8-bit scale per block of 64 weights, and an fp32 scale
// per 256 of those blocks (Dettmers et al. 2023, arXiv:2305.14314).
inline constexpr double kNf4Bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);

// Bytes per weight of a layer (ChunkParameters::products) when the ranks that shard it gather it:
// NF4 for QLoRA's base, fp8, or the format of the activations.
Bytes gathered_weight(const TrainingJob& job);

// Number of trained parameters of the whole model: all, or those that LoRA adds (32.8 M for
// Llama-2-70B with rank 16 on q and v).
double trained_parameters(const Architecture& model, const TrainingJob& job);

}  // namespace orrery
