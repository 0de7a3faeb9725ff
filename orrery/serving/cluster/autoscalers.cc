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

Autoscale Autoscale::of_decode() const {
  Autoscale a = *this;
  a.target = decode_target.value_or(target);
  a.least = decode_least;
  a.most = decode_most;
  return a;
}

void declare(Fields& f, Autoscale& a, const std::function<bool()>& disaggregated) {
  constexpr const char* kPolicy = "autoscale.policy";
  const auto elastic = [&a] { return a.on(); };
  f.add("policy", a.policy, "measure by which replicas are added and removed")
      .one_of(names_of(autoscaler_kinds()));
  f.add("target", a.target,
        "value that the policy aims at: requests per replica, or share of the KV memory in use")
      .range(1e-3, 1e6)
      .needs(kPolicy, elastic);
  f.add("least", a.least, "fewest replicas").range(1, 1e4).needs(kPolicy, elastic);
  f.add("most", a.most, "most replicas").range(1, 1e4).needs(kPolicy, elastic);
  const auto both = [&a, disaggregated] { return a.on() && disaggregated(); };
  constexpr const char* kBoth = "autoscale.policy and disaggregation.decode";
  f.add("decode_target", a.decode_target,
        "target of the replicas that decode; absent: the same as target")
      .range(1e-3, 1e6)
      .needs(kBoth, both);
  f.add("decode_least", a.decode_least, "fewest replicas that decode")
      .range(1, 1e4)
      .needs(kBoth, both);
  f.add("decode_most", a.decode_most, "most replicas that decode").range(1, 1e4).needs(kBoth, both);
  f.add("interval", a.interval, "time between two decisions").needs(kPolicy, elastic);
  f.add("start_up", a.start_up, "time until a new replica takes requests").needs(kPolicy, elastic);
  f.add("cool_down", a.cool_down, "time after a change before replicas are removed")
      .needs(kPolicy, elastic);
}

std::unique_ptr<Autoscaler> make_autoscaler(const Autoscale& c) {
  const AutoscalerKind& kind = kind_named(autoscaler_kinds(), "autoscale policy", c.policy);
  if (!c.on()) return nullptr;
  if (!(c.target > 0)) throw InputError("autoscale: its target must be above 0");
  if (c.least < 1 || c.most < c.least)
    throw InputError(
        fmt::format("autoscale: {} to {} replicas; expected 1 <= least <= most", c.least, c.most));
  if (c.interval <= Seconds(0)) throw InputError("autoscale: its interval must be above 0 s");
  return kind.make(c.target);
}

}  // namespace orrery
