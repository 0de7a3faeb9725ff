#include "orrery/workload/plan/draft_model.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

Architecture with_layers(const Architecture& target, LayerStack layers, const char* what) {
  Architecture head = target;
  head.id = fmt::format("{} {}", target.id, what);
  head.layers = std::move(layers);
  head.mtp.reset();
  return head;
}

}  // namespace

Architecture eagle_head(const Architecture& target) {
  LayerStack one;
  one.append(target.layers.at(target.layers.size() - 1));
  return with_layers(target, std::move(one), "EAGLE head");
}

Architecture mtp_head(const Architecture& target) {
  if (!target.mtp || target.mtp->layers == 0)
    throw NoData(fmt::format("{} has no multi-token-prediction layer", target.id));
  LayerStack one;
  one.append(target.mtp->layer);
  return with_layers(target, std::move(one), "MTP head");
}

Architecture medusa_head(const Architecture& target) {
  LayerSpec nothing;  // a plan needs a layer to place
  nothing.mixer = NoMixer{};
  nothing.mlp = NoMlp{};
  nothing.norms = 0;
  LayerStack one;
  one.append(nothing);
  return with_layers(target, std::move(one), "Medusa head");
}

}  // namespace orrery
