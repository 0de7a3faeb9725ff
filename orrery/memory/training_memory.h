// The memory of one rank of a training job at the moment when it holds the most, and whether that
// fits on the device.
//
// P is the number of parameters of the rank's virtual stages (workload/training_parameters.h), and
// D the number of ranks that share what is sharded. Bytes for each parameter:
//
//   weights      bytes of the activations' format; divided by D with zero 3. fp32 if the stack
//                keeps its master weights as parameters. 1 in products with fp8 parameters. With
//                bf16 parameters, fp8 products keep two copies in fp8 (row- and column-wise) unless
//                they are gathered again. 0.516 for a 4-bit base (NF4 in blocks of 64 with 8-bit
//                scales and an fp32 scale for 256 of them: Dettmers et al. 2023, arXiv:2305.14314).
//   gradients    bytes of the gradients' format, for trained parameters; divided by D with zero 2
//                and 3. Stacks may have 16-bit gradients and buckets beside sums in fp32
//                (StackMemory).
//   optimizer    4 for master weights, and moments: Adam 2, SGD 1, Muon 1 for products and 2 for
//                other parameters, Adafactor 2/hidden; divided by D from zero 1 on; none if they
//                are offloaded
//
// Bytes of a rank:
//
//   activations  in_flight * chunk_activations, the layer that is recomputed, and the gradients
//                inside of the layer whose backward pass runs (saved_activations.h)
//   logits       tokens * vocab/tp * (their format + copies of the loss), on the last stage
//   buckets      zero 3: two unsharded layers (one with prefetch post or none), or the embedding or
//                LM head if that is larger; weights that stay after a forward pass (all without
//                resharding, 1/n with reshard_ranks n); gradients of two layers before they are
//                reduced (one with prefetch none). Stacks with buckets: two of them. Pipelines: two
//                boundaries. Context parallelism: keys and values of the next rank (ring) or of the
//                whole sequence (all-gather).
//   A paged optimizer's states lie on the device as far as there is room at the peak. They have no
//   multi-tensor copy. Adapters in a format of their own (TrainingJob::adapter_format) have
//   gradients in it and no master copy.
//   context      of the driver and libraries, and the buffers of every group of ranks that
//                communicates
//   workspace    of matrix products (training_constants.h)
//   fragmentation  memory that the allocator reserves and no tensor uses (training_constants.h)
//
// The peak is the largest sum at one of four moments, each with the tensors that exist then:
//
//   "loss"             all activations in flight, and the logits
//   "backward"         all activations in flight, and the backward pass of the widest layer
//   "end of backward"  the backward pass of one layer, and all gradients. Where some gradients are
//                      freed after every backward pass (StackMemory::narrow_gradients_freed), it is
//                      the only moment with them, and has the activations of the micro-batches in
//                      flight but one.
//   "optimizer step"   no activations; fp32 copies of gradients that are stored in 16 bits
//
// Gradients without a buffer (PyTorch) do not exist at the first two moments if there is only one
// micro-batch.
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
#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingMemory {
  Bytes weights, gradients, optimizer, activations, logits, buckets, workspace, context,
      fragmentation;
  // Part of the optimizer's states that may page to the host; what did is not in `optimizer`.
  Bytes pageable, paged;
  Bytes host;               // memory of the host: offloaded and paged states, saved activations
  Bytes capacity;           // usable memory of the device
  Bytes routed;             // activations that change with the router's choices
  std::string_view moment;  // of the peak

  // The parts, in the order of the members.
  std::array<MemoryItem, 9> items() const;
  Bytes total() const;      // on the device, as nvidia-smi reports it
  Bytes reserved() const;   // by the framework's allocator: total without context
  Bytes allocated() const;  // in tensors: reserved without fragmentation
  bool fits() const { return total() <= capacity; }
  // One line with the two largest parts: "does not fit: needs 113 GB of 85.0 GB (optimizer step);
  // optimizer 80.9 GB, gradients 27.0 GB".
  std::string summary() const;
};

// The work of a rank of a pipeline stage on which its memory depends.
struct StageLoad {
  std::vector<int> chunks;  // its virtual stages
  // Largest number of micro-batches whose activations of all chunks are alive at once. If chunks
  // are alike, this is the number of chunk-activations alive, divided by the number of chunks.
  double in_flight = 1;
  // One of them is the forward half of a pair that runs layer by layer, and never whole at the peak
  // (PipelineScheduleTraits::pairs_by_layer).
  bool in_pairs = false;
};

// The load of a stage by the closed form of the job's schedule, which assumes equal stages
// (PipelineScheduleTraits::in_flight; tests/law compares it with the event level). InputError:
// there is no schedule of that name. REQUIRES that check_job accepts the job, 0 <= stage < pp.
StageLoad classic_load(const TrainingJob& job, int stage);

// The memory of one rank with this load. Throws as check_job does.
TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu,
                               const StageLoad& load);
// The memory of the stage with the largest total, with the loads of classic_load.
TrainingMemory training_memory(const Architecture& model, const TrainingJob& job,
                               const TrainingMemoryConstants& stack, const Gpu& gpu);

// The standard deviation of the total as a share of it. No measured row has routed experts. The
// activations of a model that has them are assumed to vary by a fifth more, as the number of tokens
// that the experts of a rank get.
double memory_error(const TrainingMemory& memory, const MemoryError& error);

// Probability that the job fits, with all pageable states on the host, if the real memory is normal
// about the prediction with the deviations of memory_error. In (0, 1), and falls with the memory.
double fit_probability(const TrainingMemory& memory, const MemoryError& error);

// The largest micro-batch that fits, at most 2^20; 0 if a single sequence does not fit. The number
// of micro-batches stays the same, so that the global batch grows.
std::int64_t largest_micro_batch(const Architecture& model, const TrainingJob& job,
                                 const TrainingMemoryConstants& stack, const Gpu& gpu);

}  // namespace orrery
