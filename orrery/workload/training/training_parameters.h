// The parameters that one rank of a training job holds of a virtual stage, before any sharding over
// data-parallel ranks.
//
// Divided by tp: mixers, dense MLPs, shared experts, embedding and LM head (vocabulary padded to a
// multiple of 128*tp, Megatron's rule). Whole on every rank: norms, routers, learned positions.
// Routed experts: 1/ep of them, each divided by etp. The first virtual stage holds the embedding,
// the last final norm and LM head; tied ones are held once by a stage that is both, else by either.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/model/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct ChunkParameters {
  double dense = 0;    // copied (or sharded) over the dp*cp ranks, experts left out
  double experts = 0;  // routed ones, copied (or sharded) over the expert_data_ranks
  // Of them, what the optimizer updates: all of them; with LoRA the adapters alone, which `dense`
  // and `experts` do not count.
  double trained_dense = 0, trained_experts = 0;
  // Of dense and experts, the matrices of the layers: what fp8 and 4-bit bases store narrowly.
  double products = 0;

  double all() const { return dense + experts; }
  double trained() const { return trained_dense + trained_experts; }
};

// REQUIRES that check_job accepts, 0 <= chunk < pp*vp.
ChunkParameters chunk_parameters(const Architecture& model, const TrainingJob& job, int chunk);

// A projection that LoRA adapts, of the whole model: `column`: its outputs are divided by tp, else
// its inputs; `copies`: one for each routed expert.
struct AdaptedProjection {
  std::int64_t in = 1, out = 1;
  bool column = true;
  double copies = 1;
};
std::vector<AdaptedProjection> adapted_projections(const Architecture& model,
                                                   const LayerSpec& layer, const TrainingJob& job);

// Bytes of a weight in NF4: 0.5, an 8-bit scale a block of 64, an fp32 one for 256 of those
// (Dettmers et al. 2023).
inline constexpr double kNf4Bytes = 0.5 + 1.0 / 64 + 4.0 / (64 * 256);

// Bytes of a layer's weight (ChunkParameters::products) as ranks that share it gather it: NF4 of
// QLoRA's base, fp8, or the format of activations.
Bytes gathered_weight(const TrainingJob& job);

// Trained parameters of the whole model: all of them, or what LoRA adds (32.8 M for Llama-2-70B
// with rank 16 on q and v).
double trained_parameters(const Architecture& model, const TrainingJob& job);

}  // namespace orrery
