// A network without time, for tests of what uses one: derived classes override predict().
#pragma once

#include "orrery/network/collectives/network_model.h"

namespace orrery {

class FakeNetwork : public NetworkModel {
 public:
  using NetworkModel::predict;
  CollectiveTime predict(const Collective&) const override { return {}; }
  CollectiveTime predict(const Collective& c, const RankPlacement&) const override {
    return predict(c);
  }
  CollectiveTime exchange(const ExpertExchange&, Collective::Group, int) const override {
    return {};
  }
  CollectiveTime exchange(const ExpertExchange&, Collective::Group, int,
                          const RankPlacement&) const override {
    return {};
  }
  std::string provenance(const Collective&) const override { return "fake"; }
};

}  // namespace orrery
