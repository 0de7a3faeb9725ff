// The answer of `orrery edge` for a network on a microcontroller or an NPU (small_processor.h).
#pragma once

#include <optional>
#include <string>

#include "orrery/edge/graph/graph.h"
#include "orrery/edge/predict/edge_answer.h"
#include "orrery/edge/small/small_law.h"

namespace orrery {

struct SmallAnswer {
  EdgeAnswer network;                      // its kernels are those of TensorFlow Lite
  std::optional<Estimate<Joules>> energy;  // of an inference
  std::string misfit;                      // why it does not fit into the chip; empty: it does
};

// Weights of a byte each must fit into the flash; the inputs and outputs of a kernel, of a byte an
// element, into the RAM. NoData: a network without multiply-adds, or with nodes of unknown types.
SmallAnswer answer_small(const SmallLaw& law, const SmallProcessor& processor,
                         const EdgeGraph& graph);

}  // namespace orrery
