#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/kinds.h"
#include "orrery/serving/cluster/autoscaler.h"

namespace orrery {
namespace {

std::int64_t quotient_up(double load, double target) {
  return static_cast<std::int64_t>(std::ceil(load / target));
}

class None : public Autoscaler {
 public:
  explicit None(double) {}
  std::int64_t wanted(const FleetLoad& load) const override { return load.engines; }
};

// Kubernetes' rule (engines times metric over target) for the mean of unfinished requests.
class Outstanding : public Autoscaler {
 public:
  explicit Outstanding(double target) : target_(target) {}
  std::int64_t wanted(const FleetLoad& load) const override {
    return quotient_up(static_cast<double>(load.outstanding), target_);
  }

 private:
  double target_;
};

// The same for the share of KV memory in use.
class KvUse : public Autoscaler {
 public:
  explicit KvUse(double target) : target_(target) {}
  std::int64_t wanted(const FleetLoad& load) const override {
    return quotient_up(static_cast<double>(load.engines) * load.kv_use, target_);
  }

 private:
  double target_;
};

// One engine more while queues are longer than the target, one less when no request waits.
class Queue : public Autoscaler {
 public:
  explicit Queue(double target) : target_(target) {}
  std::int64_t wanted(const FleetLoad& load) const override {
    if (static_cast<double>(load.waiting) > target_ * static_cast<double>(load.engines))
      return load.engines + 1;
    return load.waiting == 0 ? load.engines - 1 : load.engines;
  }

 private:
  double target_;
};

template <class A>
std::unique_ptr<Autoscaler> make(double target) {
  return std::make_unique<A>(target);
}

}  // namespace

const std::vector<AutoscalerKind>& autoscaler_kinds() {
  static const std::vector<AutoscalerKind> kinds = {
      {"none", "a fixed number", make<None>},
      {"outstanding", "engines for `target` unfinished requests each", make<Outstanding>},
      {"kv-use", "engines for a share `target` of KV memory in use (0 to 1)", make<KvUse>},
      {"queue", "one more while more than `target` requests wait at each, one less if none does",
       make<Queue>},
  };
  return kinds;
}

std::unique_ptr<Autoscaler> make_autoscaler(const Autoscale& c) {
  const AutoscalerKind& kind = kind_named(autoscaler_kinds(), "autoscale policy", c.policy);
  if (!c.on()) return nullptr;
  if (!(c.target > 0)) throw InputError("autoscale: its target must be above 0");
  if (c.least < 1 || c.most < c.least)
    throw InputError(
        fmt::format("autoscale: {} to {} replicas; expected 1 <= least <= most", c.least, c.most));
  if (c.interval.ps <= 0) throw InputError("autoscale: its interval must be above 0 s");
  return kind.make(c.target);
}

}  // namespace orrery
