// The share of a model's load that each size of each kind of fleet serves. A plan that divides GPUs
// chooses from these (search/stock_program.h, search/fleet_sizes.h).
//
// A share is stated by its bound until it is asked for, and then found by the judge, to 1 %: the
// share of arrivals at which a fleet of that size keeps the limits by itself; of two pools, the
// fleet of the size that serves most. Requests of a Poisson
// load that are dealt out at random are Poisson loads, so that fleets which keep the limits with
// their shares keep them together. Where a model has engines of one kind, a size
// serves all of the load or nothing.
//
// It is taken that more engines serve no less, and, where a model has engines of several kinds,
// that an engine serves no less beside more engines of its kind: engines share their queues. The
// share of many engines then bounds that of fewer. Two pools are bounded by fleets of whole
// multiples of their size, since numbers of engines between them may be in a worse proportion. With
// PlanChoice::exhaustive nothing is bounded.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/fleet_sizes.h"
#include "orrery/planner/search/stock_program.h"
#include "orrery/planner/verify/fleet_judge.h"

namespace orrery {

class ShareTable {
 public:
  // Borrows everything. REQUIRES a load with a rate.
  ShareTable(const PlanChoice& plan, const PlannedLoad& load, const FirstStage& first,
             FleetJudge& judge);

  std::size_t options() const { return rows_.size(); }
  // Kind k as the program takes it, with what is known of its shares.
  StockOption option(std::size_t k) const;
  const FleetSizes& sizes(std::size_t k) const { return rows_[k].sizes; }
  // Whether the share of size n of kind k was found by the judge.
  bool settled(std::size_t k, std::int64_t n) const;
  // Finds it.
  void settle(std::size_t k, std::int64_t n);
  // The fleet of a settled size that serves its share, without spare engines.
  FleetPlan fleet(std::size_t k, std::int64_t n);
  // Bounds the share of fleet(k, n), whatever the judge said.
  void lower(std::size_t k, std::int64_t n, double share);
  double share(std::size_t k, std::int64_t n) const;

 private:
  // A fleet of two pools and a share.
  struct PoolShare {
    PoolCounts fleet;
    double share;
  };
  struct Row {
    FleetSizes sizes;
    std::vector<double> share;  // by n - 1, at most 1
    std::vector<bool> settled;
    bool probed = false;
    std::vector<PoolShare> missed;   // by fleets, at these shares
    std::vector<PoolShare> lowered;  // serve at most these shares
  };
  // The highest share, of those that are tried, at which size n keeps the limits, in (0, most];
  // 0: none.
  double found(Row& row, std::int64_t n, double most);
  // The same of one fleet, if it is above `than`; else `than`.
  double found_of(Row& row, const PoolCounts& fleet, double most, double than);
  bool meets(Row& row, const PoolCounts& fleet, double share);
  // Whether a fleet of size n does.
  bool any_meets(Row& row, std::int64_t n, double share);
  void probe(Row& row);
  void find_fewest(Row& row);
  // The likely size for all of the load.
  std::int64_t likely(const Row& row) const;
  // The share that size n serves at most by its bound; may be above 1.
  double bound(const Row& row, std::int64_t n) const;
  // Bounds the shares of smaller sizes by that of size n.
  void bound_fewer(Row& row, std::int64_t n, double share) const;

  const PlanChoice& plan_;
  const PlannedLoad& load_;
  FleetJudge& judge_;
  std::vector<Row> rows_;
};

}  // namespace orrery
