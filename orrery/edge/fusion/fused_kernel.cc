#include "orrery/edge/fusion/fused_kernel.h"

#include <array>

namespace orrery {

std::string_view edge_family_name(EdgeFamily family) {
  constexpr std::array<std::string_view, kEdgeFamilies> kNames = {
      "convolution",   "grouped convolution",
      "depthwise",     "deconvolution",
      "inner product", "matmul",
      "attention",     "recurrent",
      "pool",          "global pool",
      "norm",          "activation",
      "elementwise",   "concat",
      "slice",         "permute",
      "shuffle",       "resize",
      "pad",           "gather",
      "softmax",       "reduce",
      "detection",     "cast",
      "unknown"};
  return kNames.at(static_cast<std::size_t>(family));
}

}  // namespace orrery
