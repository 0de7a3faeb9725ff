// The time that the work of a simulated service takes a GPU at the data sheet's rates. An answer
// states it as MFU and as share of the memory bandwidth; services that share a GPU contend by it.
//
//   arithmetic   2 FLOPs a token and active parameter, of prompts that are computed and of outputs,
//                over the peak of the weights' format. Attention's own products are not counted, as
//                usual for MFU.
//   traffic      once a step the weights and the tokens in the KV blocks in use, over the
//                bandwidth; room that is reserved or not yet filled is not read. Of routed
//                experts those that a step's tokens meet if each picks its own at random: with a
//                share p of the experts picked by a token, (1 - p)^tokens of them are not read.
#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/serving/engine/replica.h"

namespace orrery {

class GpuWork {
 public:
  GpuWork() = default;  // not known
  GpuWork(const Architecture& model, const ParallelPlan& plan, const Precision& precision,
          const MemoryModel& memory, const Gpu& gpu, std::int64_t block_size);
  explicit GpuWork(const ServedModel& served);

  bool known() const { return token_ > Seconds(0); }
  // Time of one GPU of the engines that were counted, summed over engines.
  Seconds arithmetic(const ReplicaCounts& sum) const;
  Seconds traffic(const ReplicaCounts& sum) const;

 private:
  Seconds token_, weights_, cached_;  // a token, all weights, a token in a KV block
  double tokens_a_block_ = 1;
  double idle_ = 0;    // share of the weights that a single token does not meet
  double missed_ = 1;  // share of the routed experts that a token does not pick
};

}  // namespace orrery
