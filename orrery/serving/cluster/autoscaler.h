// Autoscaling: how many engines a service should have, asked at regular times.
//
// Adding a policy: a class in autoscalers.cc (or in a file of its own) and an entry of the list
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"

namespace orrery {

// The load that a policy sees. Engines that start up count as present, engines that drain do not.
struct FleetLoad {
  std::int64_t engines = 0;
  std::int64_t outstanding = 0, waiting = 0;  // requests; all wait if there is no engine
  double kv_use = 0;                          // mean share of KV memory in use, 0 to 1
};

class Autoscaler {
 public:
  virtual ~Autoscaler() = default;
  // Number of engines that the policy asks for, before limits are applied.
  virtual std::int64_t wanted(const FleetLoad& load) const = 0;
};

struct AutoscalerKind {
  std::string_view name, doc;
  std::unique_ptr<Autoscaler> (*make)(double target);
};
const std::vector<AutoscalerKind>& autoscaler_kinds();

// Settings of autoscaling, the group `autoscale` of a scenario. The fleet starts with
// PoolConfig::replicas engines.
//
// A new engine takes requests `start_up` after it was asked for. An engine that is removed takes no
// more requests, ends those it has, and is then off. After a change the fleet does not shrink for
// `cool_down`.
struct Autoscale {
  std::string policy = "none";
  double target = 8;  // target of the policy, > 0
  std::int64_t least = 1, most = 16;
  // Disaggregated prefill: of the pool that decodes. An absent target is that of the first pool.
  std::optional<double> decode_target;
  std::int64_t decode_least = 1, decode_most = 16;
  Seconds interval = Seconds(10), start_up = Seconds(60), cool_down = Seconds(300);

  bool on() const { return policy != "none"; }
  // The settings of the pool that decodes.
  Autoscale of_decode() const;
};
// `disaggregated`: whether the service has engines that only decode.
void declare(Fields& fields, Autoscale& autoscale, const std::function<bool()>& disaggregated);

// A new policy; null for "none". Throws InputError with the nearest name, and for limits or times
// out of range.
std::unique_ptr<Autoscaler> make_autoscaler(const Autoscale& config);

}  // namespace orrery
