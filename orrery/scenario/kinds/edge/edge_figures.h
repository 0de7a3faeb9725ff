// The figures that only devices at the edge have.
#pragma once

#include "orrery/scenario/answer/figures.h"

namespace orrery {

inline constexpr Figure kEdgeFigures[] = {
    {"memory", "GB per device", Better::kLess, Subject::kOther, "edge",
     "memory that the model and its KV cache take on one device"},
    {"latency", "ms", Better::kLess, Subject::kOther, "edge",
     "time of the network for all inputs at once"},
    {"throughput", "inputs/s", Better::kMore, Subject::kRate, "edge",
     "inputs per second, one batch after the other"},
    {"macs", "GMAC", Better::kNeither, Subject::kOther, "edge",
     "multiply-adds of the network for all inputs at once"},
    {"parameters", "million", Better::kNeither, Subject::kOther, "edge", "weights of the network"},
    {"kernels", "kernels", Better::kNeither, Subject::kOther, "edge",
     "kernels that the runtime makes of the network's nodes"},
    {"energy_per_inference", "mJ", Better::kLess, Subject::kOther, "edge",
     "energy of the board for one input, where its power was measured (microcontrollers, NPUs)"},
    {"prefill_throughput", "tokens/s", Better::kMore, Subject::kRate, "edge",
     "tokens of the prompt per second"},
    {"max_context", "tokens", Better::kMore, Subject::kOther, "edge",
     "longest context for which the device has the memory"},
    {"energy_per_token_limit", "J", Better::kLess, Subject::kOther, "edge",
     "most energy of a generated token: the thermal design power of the chip in its time"},
};

template <std::size_t kSize>
consteval FigureRef edge_figure(const char (&name)[kSize]) {
  return own_figure<kEdgeFigures>(name);
}

}  // namespace orrery
