// Autoscaling of the pools of a fleet (autoscaler.h), each by a policy of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/serving/cluster/autoscaler.h"
#include "orrery/serving/cluster/event_queue.h"
#include "orrery/serving/cluster/fleet.h"

namespace orrery {

class FleetScaling {
 public:
  // `settings`: one entry for each pool of the fleet. Borrows fleet and events. Throws InputError
  // as make_autoscaler().
  FleetScaling(const std::vector<Autoscale>& settings, Fleet& fleet, EventQueue& events);

  // Requests that an engine of the pool will serve: those sent to one, and those that wait until
  // one is up.
  struct Demand {
    std::int64_t outstanding = 0, parked = 0;
  };
  // Asks for the first decision of each pool.
  void begin();
  // Adds or removes engines of a pool, and asks for its next decision.
  void decide(std::size_t pool, const Demand& demand, SimTime now);

  // Engines of all pools that serve, start or restart.
  std::int64_t present() const;
  std::int64_t starts() const { return starts_; }  // engines that decide() started

 private:
  struct Pool {
    std::unique_ptr<Autoscaler> policy;  // null: a fixed number of engines
    std::int64_t least = 1, most = 1;    // engines
    SimTime interval, start_up, cool_down;
    SimTime changed;  // when the pool last did
  };
  std::int64_t present(std::size_t pool) const;
  FleetLoad load(std::size_t pool, const Demand& demand) const;
  void grow(std::size_t pool, std::int64_t by, SimTime now);
  void shrink(std::size_t pool, std::int64_t by, SimTime now);

  Fleet& fleet_;
  EventQueue& events_;
  std::vector<Pool> pools_;
  std::int64_t starts_ = 0;
};

}  // namespace orrery
