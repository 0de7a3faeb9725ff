#include "orrery/model/layers/layer_weights.h"

#include <array>

namespace orrery {

std::string_view to_text(WeightPart part) {
  constexpr std::array<std::string_view, 10> kNames = {"embedding",      "lm_head",
                                                       "mixers",         "indexers",
                                                       "dense_mlps",     "routed_experts",
                                                       "shared_experts", "latent_projections",
                                                       "routers",        "mtp"};
  return kNames[static_cast<std::size_t>(part)];
}

}  // namespace orrery
