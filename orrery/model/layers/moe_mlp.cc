#include "orrery/model/layers/moe_mlp.h"

#include <fmt/format.h>

namespace orrery {

std::string MoeMlp::text() const {
  std::string out = fmt::format("{} of {} experts of {}", top_k, experts, intermediate);
  if (latent > 0) out += fmt::format(" on a latent of {}", latent);
  if (hash_routing) out += ", by token";
  if (shared_intermediate > 0) out += fmt::format(" + shared {}", shared_intermediate);
  return out;
}

}  // namespace orrery
