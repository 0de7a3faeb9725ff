// A network for tests of what stands above it: only predict() is asked.
#pragma once

#include "orrery/network/collectives/network_model.h"

namespace orrery {

class FakeNetwork : public NetworkModel {
 public:
  CollectiveTime predict(const Collective&) const override { return {}; }
  CollectiveTime predict(const Collective& c, const RankPlacement&) const override {
    return predict(c);
  }
  CollectiveTime predict(const Collective& c, const NcclForced&) const override {
    return predict(c);
  }
  CollectiveTime exchange(const ExpertExchange&, Collective::Group, int) const override {
    return {};
  }
  CollectiveTime exchange(const ExpertExchange&, Collective::Group, int,
                          const RankPlacement&) const override {
    return {};
  }
  CollectiveChoice choice(const Collective&, const NcclForced&) const override { return {}; }
  Seconds bound(const Collective&, const NcclForced&) const override { return Seconds(0); }
  std::string provenance(const Collective&) const override { return "fake"; }
};

}  // namespace orrery
