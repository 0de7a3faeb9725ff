// What one rank of a training job holds at the moment when it holds most, and whether that fits.
//
// P parameters of the rank's virtual stages (workload/training_parameters.h), D the ranks that
// share what is sharded, bytes a parameter:
//   weights      that of the activations' format, /D with zero 3. fp32 where the stack keeps its
//                master weights as parameters; 1 for products with fp8 parameters; beside bf16
//                parameters, fp8 products keep two copies in fp8 (row- and column-wise) unless
//                gathered anew; a 4-bit base 0.516 (NF4 in blocks of 64, scales in 8 bits with an
//                fp32 one per 256 of them: Dettmers et al. 2023)
//   gradients    that of the gradients' format, of what is trained; /D with zero 2 and 3
//   optimizer    master weights 4, and moments: Adam 2, SGD 1, Muon 1 for products and 2 for the
//                rest, Adafactor 2/hidden of them; /D from zero 1 on; none where offloaded
//   activations  in_flight * chunk_activations, and the layer that is recomputed and the gradients
//                inside the layer whose backward pass runs (saved_activations.h)
//   logits       tokens * vocab/tp * (their format + the loss's copies), on the last stage
//   buckets      zero 3: two unsharded layers (one with prefetch post or none), or the embedding or
//                LM head if that is more; what stays of the weights after a forward pass (all
//                without resharding, 1/n with reshard_ranks n); two layers' gradients before they
//                are reduced (one with prefetch none); stacks with buckets: two of them; pipeline:
//                two boundaries; context parallel: keys and values of the next rank (ring) or of
//                the whole sequence (all-gather)
//   context      the driver's and libraries', and the buffers of every group of ranks that
//                communicates
//   workspace, fragmentation   training_constants.h
//
// Peaks are the largest of three moments; at each only what lives then counts:
//   "loss"            all activations in flight and the logits
//   "backward"        all activations in flight and the widest layer's backward pass
//   "end of backward" one layer's backward pass, all gradients
//   "optimizer step"  no activations; fp32 copies of gradients that are kept in 16 bits
// Gradients that have no buffer (PyTorch) and only one micro-batch do not exist in the first two.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/memory_model.h"
#include "orrery/memory/training_constants.h"
#include "orrery/model/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingMemory {
  Bytes weights, gradients, optimizer, activations, logits, buckets, workspace, context,
      fragmentation;
  Bytes capacity;
  std::string_view moment;

  // In the order above.
  std::array<MemoryItem, 9> items() const;
  Bytes total() const;      // of the device, as nvidia-smi shows it
  Bytes reserved() const;   // without context: as the framework's allocator has reserved
  Bytes allocated() const;  // nor fragmentation: tensors alone
  bool fits() const { return total() <= capacity; }
  // One line with the two largest parts: "does not fit: needs 113 GB of 85.0 GB at the optimizer
  // step; optimizer 80.9 GB, gradients 27.0 GB".
  std::string summary() const;
};

// What a rank of a pipeline stage holds: which virtual stages, and how many micro-batches'
// activations of all of them are alive at once at most (chunk-activations alive over the number of
// chunks, where chunks are alike).
struct StageLoad {
  std::vector<int> chunks;
  double in_flight = 1;
};

// By the closed forms of equal stages, m micro-batches, stage s of p (the event level's exactly:
// tests/law): gpipe m; 1f1b min(m, p - s); interleaved min(m v, 2 (p - s - 1) + (v - 1) p + 1) / v;
// zb-h1 min(m, p), zb-h2 min(m, 2p - 1): late gradients of weights keep as much on every stage;
// zb-v and dualpipe-v (chunks s and 2p - 1 - s) min(m, p) and min(m, p + 1/2); dualpipe (chunks s
// and p - 1 - s, each with half of the micro-batches) min(m, p + 1) / 2. Sources: Narayanan et al.
// 2021, Qi et al. 2023 and 2024, DeepSeek-V3. InputError for a schedule that is none of them.
// REQUIRES that check_job accepts, 0 <= stage < pp.
StageLoad classic_load(const TrainingJob& job, int stage);

// One rank of a pipeline stage. Throws as check_job does.
TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu,
                               const StageLoad& load);
// Of the stage with the largest total, by classic_load.
TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu);

// The chance that it fits, if ln(predicted / real) is normal with deviation `error`. In (0, 1).
double fit_probability(const TrainingMemory& memory, double error);

// The largest micro-batch that fits, at most 2^20; 0 if not one sequence does. The number of
// micro-batches stays: the global batch grows.
std::int64_t largest_micro_batch(const Architecture& model, const TrainingJob& job,
                                 const TrainingMemoryConstants& stack, const Gpu& gpu);

}  // namespace orrery
