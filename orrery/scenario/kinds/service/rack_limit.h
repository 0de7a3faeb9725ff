// The power limit of a rack (`cluster.power_limit`) as limits of its boards.
//
// The limit is divided equally and once: every board is capped at the power at which all boards
// together, with what energy.scope counts, draw the limit. All engines that there can be count,
// those that an autoscaler may start included, and a board whose data sheet states less keeps that.
// A capped board follows energy/power/clock_power.h. Since no board waits for what another leaves,
// the fleet draws less than the limit as soon as some board is below its cap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

class RackLimit {
 public:
  // `further`: the pools of a ServiceQuestion beside the scenario's own. InputError: the limit
  // leaves a board no more than it draws awake, or less than it can be limited to. NoData: nobody
  // states the power of a board.
  RackLimit(Facts& facts, const Scenario& scenario, const std::vector<PoolChoice>& further);

  // The limit of a board; absent: none is asked for.
  const std::optional<Watts>& board() const { return board_; }
  // The scenario with the limit of a board of `gpu`, if that is below its own.
  Scenario of(const Scenario& scenario, const Gpu& gpu) const;
  // A sentence that says how the limit is shared; empty: none is asked for.
  const std::string& note() const { return note_; }

 private:
  std::optional<Watts> board_;
  std::string note_;
};

}  // namespace orrery
