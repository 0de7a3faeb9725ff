#include "orrery/network/collectives/mixed_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/network/collectives/make_network.h"

namespace orrery {
namespace {

// Relative error of the rule itself, which was never compared with a measurement: a guess. It adds
// to the errors of the rule's parts.
constexpr double kUnmeasured = 0.25;

class MixedNetwork final : public NetworkModel {
 public:
  explicit MixedNetwork(std::vector<std::unique_ptr<NetworkModel>> kinds)
      : kinds_(std::move(kinds)) {}

  CollectiveTime predict(const Collective& c) const override {
    return slowest([&](const NetworkModel& m) { return m.predict(c); });
  }
  CollectiveTime predict(const Collective& c, const RankPlacement& p) const override {
    return slowest([&](const NetworkModel& m) { return m.predict(c, p); });
  }
  CollectiveTime predict(const Collective& c, const ForcedChoice& forced) const override {
    return slowest([&](const NetworkModel& m) { return m.predict(c, forced); });
  }
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group,
                          int ranks) const override {
    return slowest([&](const NetworkModel& m) { return m.exchange(x, group, ranks); });
  }
  CollectiveTime exchange(const ExpertExchange& x, Collective::Group group, int ranks,
                          const RankPlacement& p) const override {
    return slowest([&](const NetworkModel& m) { return m.exchange(x, group, ranks, p); });
  }

  CollectiveChoice choice(const Collective& c, const ForcedChoice& forced) const override {
    const NetworkModel* slowest = kinds_.front().get();
    Seconds longest = slowest->predict(c, forced).time.value;
    for (const auto& m : kinds_) {
      const Seconds t = m->predict(c, forced).time.value;
      if (t > longest) longest = t, slowest = m.get();
    }
    return slowest->choice(c, forced);
  }

  Seconds bound(const Collective& c, const ForcedChoice& forced) const override {
    Seconds highest;
    for (const auto& m : kinds_) highest = std::max(highest, m->bound(c, forced));
    return highest;
  }

  std::string provenance(const Collective& c) const override {
    std::string all = "the slowest kind of nodes at every step:";
    for (const auto& m : kinds_) all += " " + m->provenance(c) + ";";
    return all + " no mixed group was measured";
  }

 private:
  template <class Predict>
  CollectiveTime slowest(Predict predict) const {
    CollectiveTime worst = predict(*kinds_.front());
    Estimate<Seconds> widest = worst.time;  // the widest errors of any kind
    for (std::size_t i = 1; i < kinds_.size(); ++i) {
      const CollectiveTime t = predict(*kinds_[i]);
      widest.shared = std::max(widest.shared, t.time.shared);
      widest.own = std::max(widest.own, t.time.own);
      widest.origin = std::max(widest.origin, t.time.origin);
      if (t.time.value > worst.time.value) worst = t;
    }
    if (worst.time.value <= Seconds(0)) return worst;
    worst.time = {worst.time.value, std::hypot(widest.shared, kUnmeasured), widest.own,
                  std::max(widest.origin, Origin::kTransferred)};
    return worst;
  }

  std::vector<std::unique_ptr<NetworkModel>> kinds_;
};

}  // namespace

std::unique_ptr<NetworkModel> make_mixed_network(const std::vector<Cluster>& kinds,
                                                 const ParallelPlan& plan, std::string_view stack,
                                                 const Bundle& bundle,
                                                 std::optional<LibraryVersion> version) {
  if (kinds.empty())
    throw InputError("a group of different nodes needs at least one kind of nodes");
  if (kinds.size() == 1) return make_network_model(kinds.front(), plan, stack, bundle, {}, version);
  std::vector<std::unique_ptr<NetworkModel>> models;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i].gpus() != kinds.front().gpus())
      throw InputError("the clusters of a mixed group need the same number of GPUs");
    if (collective_library(kinds[i].gpu()) != collective_library(kinds.front().gpu())) {
      throw InputError(
          fmt::format("{} and {} cannot form one group: NCCL and RCCL do not talk to each other",
                      kinds.front().gpu().id, kinds[i].gpu().id));
    }
    std::vector<Cluster> others = kinds;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    models.push_back(make_network_model(kinds[i], plan, stack, bundle, others, version));
  }
  return std::make_unique<MixedNetwork>(std::move(models));
}

}  // namespace orrery
