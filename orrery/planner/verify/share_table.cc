#include "orrery/planner/verify/share_table.h"

#include "orrery/planner/question/plan_question.h"

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

constexpr double kStep = 1.01;        // ratio of the shares that are tried
constexpr double kLeastShare = 1e-3;  // below which a size is given up
constexpr double kRounding = 1e-9;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n - 1); }

double share_at(std::int64_t exponent) { return std::pow(kStep, exponent); }
std::int64_t exponent_of(double share) {
  return static_cast<std::int64_t>(std::floor(std::log(share) / std::log(kStep) + kRounding));
}

}  // namespace

ShareTable::ShareTable(const PlanChoice& plan, const PlannedLoad& load, const FirstStage& first,
                       FleetJudge& judge)
    : plan_(plan), load_(load), judge_(judge) {
  for (FleetSizes& sizes : fleet_kinds(plan, load, first)) {
    Row& row = rows_.emplace_back(
        Row{.sizes = std::move(sizes), .share = {}, .settled = {}, .missed = {}, .lowered = {}});
    for (std::int64_t n = 1; n <= row.sizes.sizes(); ++n) {
      row.share.push_back(std::min(1.0, bound(row, n)));
      row.settled.push_back(false);
    }
  }
}

StockOption ShareTable::option(std::size_t k) const {
  const Row& row = rows_[k];
  StockOption out;
  out.serves = row.share;
  for (std::int64_t n = 1; n <= row.sizes.sizes(); ++n) {
    out.gpus.push_back(row.sizes.gpus(n));
    out.value.push_back(row.sizes.value(n));
    out.money.push_back(row.sizes.money(n));
  }
  return out;
}

bool ShareTable::settled(std::size_t k, std::int64_t n) const { return rows_[k].settled[at(n)]; }

double ShareTable::share(std::size_t k, std::int64_t n) const { return rows_[k].share[at(n)]; }

double ShareTable::bound(const Row& row, std::int64_t n) const {
  return row.sizes.most(row.sizes.fleets(n).front()) / load_.rate;
}

std::int64_t ShareTable::likely(const Row& row) const {
  for (std::int64_t n = 1; n < row.sizes.sizes(); ++n)
    if (row.sizes.likely(row.sizes.fleets(n).front()) >= load_.rate * (1 - kRounding)) return n;
  return row.sizes.sizes();
}

bool ShareTable::meets(Row& row, const PoolCounts& fleet, double share) {
  const auto with_more = [&](const PoolShare& p) {
    return p.fleet.engines >= fleet.engines && p.fleet.decoders >= fleet.decoders &&
           p.share <= share;
  };
  for (const PoolShare& p : row.lowered)
    if (p.fleet.engines == fleet.engines && p.fleet.decoders == fleet.decoders && p.share < share)
      return false;
  const bool skips = row.sizes.apart() && !plan_.exhaustive;
  if (skips && std::any_of(row.missed.begin(), row.missed.end(), with_more)) return false;
  if (judge_.meets(row.sizes.plan(fleet), load_.rate * share)) return true;
  if (skips) row.missed.push_back({fleet, share});
  return false;
}

bool ShareTable::any_meets(Row& row, std::int64_t n, double share) {
  for (const PoolCounts& fleet : row.sizes.fleets(n)) {
    const bool may = row.sizes.most(fleet) >= load_.rate * share * (1 - kRounding);
    if ((may || plan_.exhaustive) && meets(row, fleet, share)) return true;
  }
  return false;
}

double ShareTable::found_of(Row& row, const PoolCounts& fleet, double most, double than) {
  const std::int64_t top = exponent_of(most);
  const std::int64_t least =
      than > 0 ? exponent_of(than) + 1 : std::min(top, exponent_of(kLeastShare));
  if (least > top) return than;
  const double likely = row.sizes.likely(fleet) / load_.rate;
  std::int64_t e = than > 0 ? least : std::clamp(exponent_of(likely), least, top);
  std::int64_t meets_at = least - 1, misses_at = top + 1;
  for (std::int64_t step = 8; misses_at - meets_at > 1; step *= 2) {
    if (meets(row, fleet, share_at(e))) {
      meets_at = e;
      if (misses_at <= top || e == top) break;
      e = std::min(top, e + step);
    } else {
      misses_at = e;
      if (meets_at >= least || e == least) break;
      e = std::max(least, e - step);
    }
  }
  if (meets_at < least && misses_at == least) return than;
  while (misses_at - meets_at > 1) {
    const std::int64_t middle = meets_at + (misses_at - meets_at) / 2;
    (meets(row, fleet, share_at(middle)) ? meets_at : misses_at) = middle;
  }
  return meets_at < least ? than : share_at(meets_at);
}

double ShareTable::found(Row& row, std::int64_t n, double most) {
  double out = 0;
  for (const PoolCounts& fleet : row.sizes.fleets(n)) {
    const double own = row.sizes.apart() ? row.sizes.most(fleet) / load_.rate : most;
    const double highest = plan_.exhaustive ? most : std::min(most, own);
    if (highest > 0) out = found_of(row, fleet, highest, out);
  }
  return out;
}

void ShareTable::bound_fewer(Row& row, std::int64_t n, double share) const {
  // The share is known to a step below the highest that the fleet serves.
  const double most = share * kStep;
  for (std::int64_t i = 1; i < n; ++i) {
    const double times = row.sizes.apart()
                             ? static_cast<double>(row.sizes.gpus(n) / row.sizes.gpus(i))
                             : static_cast<double>(n) / static_cast<double>(i);
    if (!row.settled[at(i)]) row.share[at(i)] = std::min(row.share[at(i)], most / times);
  }
}

// Finds the share of about as many engines as all of the load needs, which bounds that of fewer.
void ShareTable::probe(Row& row) {
  row.probed = true;
  const std::int64_t n = likely(row);
  const double share = found(row, n, bound(row, n));
  row.share[at(n)] = std::min(1.0, share), row.settled[at(n)] = true;
  bound_fewer(row, n, share);
}

void ShareTable::find_fewest(Row& row) {
  const std::int64_t there = row.sizes.sizes();
  std::int64_t misses = 0;
  while (misses < there && row.share[at(misses + 1)] < 1 - kRounding) ++misses;
  std::int64_t high = std::clamp(likely(row), std::min(there, misses + 1), there);
  for (std::int64_t step = 1; misses < there && !any_meets(row, high, 1); step *= 2) {
    misses = high;
    high = std::min(there, high + step);
  }
  while (misses < there && high - misses > 1) {
    const std::int64_t middle = misses + (high - misses) / 2;
    (any_meets(row, middle, 1) ? high : misses) = middle;
  }
  for (std::int64_t n = 1; n <= there; ++n)
    row.share[at(n)] = n > misses ? 1 : 0, row.settled[at(n)] = true;
}

void ShareTable::settle(std::size_t k, std::int64_t n) {
  Row& row = rows_[k];
  if (!plan_.mixed && !plan_.exhaustive) return find_fewest(row);
  if (!plan_.mixed) {
    row.share[at(n)] = any_meets(row, n, 1) ? 1 : 0, row.settled[at(n)] = true;
    return;
  }
  if (!row.probed && !plan_.exhaustive) probe(row);
  if (row.settled[at(n)]) return;
  const double most = plan_.exhaustive ? 1 : row.share[at(n)];
  if (most < kLeastShare) {
    row.share[at(n)] = 0, row.settled[at(n)] = true;
    return;
  }
  const double share = found(row, n, most);
  row.share[at(n)] = share, row.settled[at(n)] = true;
  if (share < 1 / kStep && !plan_.exhaustive) bound_fewer(row, n, share);
}

FleetPlan ShareTable::fleet(std::size_t k, std::int64_t n) {
  Row& row = rows_[k];
  const std::vector<PoolCounts> fleets = row.sizes.fleets(n);
  // The judge remembers the fleets that it has simulated.
  for (std::size_t i = 0; i + 1 < fleets.size(); ++i)
    if (meets(row, fleets[i], row.share[at(n)])) return row.sizes.plan(fleets[i]);
  return row.sizes.plan(fleets.back());
}

void ShareTable::lower(std::size_t k, std::int64_t n, double share) {
  Row& row = rows_[k];
  if (row.sizes.apart()) {
    // Another split of the size may serve what it does not.
    const FleetPlan plan = fleet(k, n);
    row.lowered.push_back({{plan.engines, plan.decode_engines}, share});
    row.settled[at(n)] = false;
    return;
  }
  row.share[at(n)] = std::min(row.share[at(n)], share), row.settled[at(n)] = true;
}

}  // namespace orrery
