// How many engines a service should have, asked at regular times in the loop.
//
// Adding one: a class in autoscalers.cc (or a file of its own) and a line in its list.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

// What it sees. Engines that start up count as present, those that drain do not.
struct FleetLoad {
  std::int64_t engines = 0;
  std::int64_t outstanding = 0, waiting = 0;  // requests; without an engine they wait
  double kv_use = 0;                          // mean share of KV memory in use
};

class Autoscaler {
 public:
  virtual ~Autoscaler() = default;
  // Engines wanted, before the limits are applied.
  virtual std::int64_t wanted(const FleetLoad& load) const = 0;
};

struct AutoscalerKind {
  std::string_view name, doc;
  std::unique_ptr<Autoscaler> (*make)(double target);
};
const std::vector<AutoscalerKind>& autoscaler_kinds();

// Elastic engines. The fleet begins with its configured number.
//
// A new engine takes requests `start_up` after it was asked for. One that is to go takes no more
// requests, ends those it has, and is off. After a change the fleet is left alone for `cool_down`,
// except that it may grow.
struct Autoscale {
  std::string policy = "none";
  double target = 8;  // of the policy; > 0
  std::int64_t least = 1, most = 1;
  SimTime interval = sim_seconds(10);
  SimTime start_up = sim_seconds(60);
  SimTime cool_down = sim_seconds(300);

  bool on() const { return policy != "none"; }
};

// nullptr for "none". InputError naming the nearest; limits or times that make no sense.
std::unique_ptr<Autoscaler> make_autoscaler(const Autoscale& config);

}  // namespace orrery
