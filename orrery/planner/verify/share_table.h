// The share of a model's load that each number of engines of each option serves. A plan that
// divides GPUs chooses from these (search/stock_program.h).
//
// A share is stated by its bound until it is asked for, and then found by the judge, to 1 %: the
// share of arrivals at which that many engines keep the limits by themselves. Requests of a Poisson
// load that are dealt out at random are Poisson loads, so that fleets which keep the limits with
// their shares keep them together. Where a model has engines of one kind, a number of engines
// serves all of the load or nothing.
//
// It is taken that more engines serve no less, and, where a model has engines of several kinds,
// that an engine serves no less beside more engines of its kind: engines share their queues. The
// share of many engines then bounds that of fewer. With PlanChoice::exhaustive nothing is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/search/stock_program.h"
#include "orrery/planner/verify/fleet_judge.h"

namespace orrery {

class ShareTable {
 public:
  // Borrows everything. REQUIRES a load with a rate.
  ShareTable(const PlanChoice& plan, const PlannedLoad& load, const FirstStage& first,
             FleetJudge& judge);

  std::size_t options() const { return rows_.size(); }
  // Option k as the program takes it, with what is known of its shares.
  StockOption option(std::size_t k) const;
  // Whether the share of n engines of option k was found by the judge.
  bool settled(std::size_t k, std::int64_t n) const;
  // Finds it.
  void settle(std::size_t k, std::int64_t n);
  // n engines serve at most this share, whatever the judge said.
  void lower(std::size_t k, std::int64_t n, double share);
  double share(std::size_t k, std::int64_t n) const;

 private:
  struct Row {
    const RatedOption* rated;
    std::vector<double> share;  // by n - 1, at most 1
    std::vector<bool> settled;
    bool probed = false;
  };
  // The highest share, of those that are tried, at which n engines keep the limits, in (0, most];
  // 0: none.
  double found(const Row& row, std::int64_t n, double most) const;
  bool meets(const Row& row, std::int64_t n, double share) const;
  void probe(Row& row);
  void find_fewest(Row& row);
  // Bounds the shares of fewer engines by that of n.
  void bound_fewer(Row& row, std::int64_t n, double share) const;

  const PlanChoice& plan_;
  const PlannedLoad& load_;
  FleetJudge& judge_;
  std::vector<Row> rows_;
};

}  // namespace orrery
