// Autoscaling: how many engines a service should have, asked at regular times.
//
// Adding a policy: a class in autoscalers.cc (or in a file of its own) and an entry of the list
// there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

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

// Settings of autoscaling. The fleet starts with PoolConfig::replicas engines.
//
// A new engine takes requests `start_up` after it was asked for. An engine that is removed takes no
// more requests, ends those it has, and is then off. After a change the fleet does not shrink for
// `cool_down`.
struct Autoscale {
  std::string policy = "none";
  double target = 8;  // target of the policy, > 0
  std::int64_t least = 1, most = 1;
  SimTime interval = sim_seconds(10);
  SimTime start_up = sim_seconds(60);
  SimTime cool_down = sim_seconds(300);

  bool on() const { return policy != "none"; }
};

// A new policy; null for "none". Throws InputError with the nearest name, and for limits or times
// out of range.
std::unique_ptr<Autoscaler> make_autoscaler(const Autoscale& config);

}  // namespace orrery
