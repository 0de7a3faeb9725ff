#include "orrery/network/collectives/unnamed_fabric.h"

#include <cmath>
#include <utility>

namespace orrery {
namespace {

constexpr double kFabricError = 0.47;

// Times within a node occupy no port of the network.
CollectiveTime widened(CollectiveTime t) {
  if (t.port_time > Seconds(0)) t.time.shared = std::hypot(t.time.shared, kFabricError);
  return t;
}

class UnnamedFabric : public NetworkModel {
 public:
  explicit UnnamedFabric(std::unique_ptr<NetworkModel> usual) : usual_(std::move(usual)) {}

  CollectiveTime predict(const Collective& c) const override { return widened(usual_->predict(c)); }
  CollectiveTime predict(const Collective& c, const RankPlacement& placement) const override {
    return widened(usual_->predict(c, placement));
  }
  CollectiveTime predict(const Collective& c, const ForcedChoice& forced) const override {
    return widened(usual_->predict(c, forced));
  }
  CollectiveTime exchange(const ExpertExchange& e, Collective::Group group,
                          int ranks) const override {
    return widened(usual_->exchange(e, group, ranks));
  }
  CollectiveTime exchange(const ExpertExchange& e, Collective::Group group, int ranks,
                          const RankPlacement& placement) const override {
    return widened(usual_->exchange(e, group, ranks, placement));
  }
  CollectiveChoice choice(const Collective& c, const ForcedChoice& forced) const override {
    return usual_->choice(c, forced);
  }
  Seconds bound(const Collective& c, const ForcedChoice& forced) const override {
    return usual_->bound(c, forced);
  }
  std::string provenance(const Collective& c) const override { return usual_->provenance(c); }

 private:
  std::unique_ptr<NetworkModel> usual_;
};

}  // namespace

std::unique_ptr<NetworkModel> on_unnamed_fabric(std::unique_ptr<NetworkModel> usual) {
  return std::make_unique<UnnamedFabric>(std::move(usual));
}

}  // namespace orrery
