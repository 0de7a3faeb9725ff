#include "orrery/planner/verify/share_table.h"

#include <algorithm>
#include <cmath>

#include "orrery/planner/search/spares.h"

namespace orrery {
namespace {

constexpr double kStep = 1.01;          // ratio of the shares that are tried
constexpr double kLeastShare = 1e-3;    // below which a number of engines is given up
constexpr std::int64_t kMostTimes = 8;  // the likely number of engines
constexpr double kRounding = 1e-9;

std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n - 1); }

}  // namespace

ShareTable::ShareTable(const PlanChoice& plan, const PlannedLoad& load, const FirstStage& first,
                       FleetJudge& judge)
    : plan_(plan), load_(load), judge_(judge) {
  for (const RatedOption& o : first.options) {
    const double likely = std::ceil(load.rate / o.bound.likely - kRounding);
    const auto most = std::min(most_engines(plan, o, 0, 0),
                               kMostTimes * std::max<std::int64_t>(1, std::llround(likely)));
    Row row{&o, {}, {}};
    for (std::int64_t n = 1; n <= most; ++n) {
      const double share = std::min(1.0, static_cast<double>(n) * o.bound.most() / load.rate);
      row.share.push_back(share);
      row.settled.push_back(false);
    }
    rows_.push_back(std::move(row));
  }
}

StockOption ShareTable::option(std::size_t k) const {
  const Row& row = rows_[k];
  StockOption out;
  out.serves = row.share;
  for (std::size_t i = 0; i < row.share.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    const std::int64_t all = n + spares(plan_, row.rated->option, n);
    out.gpus.push_back(all * row.rated->option.gpus());
    out.value.push_back(row.rated->value(plan_.objective, static_cast<double>(all)));
    out.money.push_back(static_cast<double>(all) * row.rated->bound.hour);
  }
  return out;
}

bool ShareTable::settled(std::size_t k, std::int64_t n) const { return rows_[k].settled[at(n)]; }

double ShareTable::share(std::size_t k, std::int64_t n) const { return rows_[k].share[at(n)]; }

bool ShareTable::meets(const Row& row, std::int64_t n, double share) const {
  FleetPlan fleet;
  fleet.engine = row.rated->option, fleet.engines = n;
  return judge_.meets(fleet, load_.rate * share);
}

double ShareTable::found(const Row& row, std::int64_t n, double most) const {
  const auto share = [](std::int64_t e) { return std::pow(kStep, e); };
  const auto exponent = [](double s) {
    return static_cast<std::int64_t>(std::floor(std::log(s) / std::log(kStep) + kRounding));
  };
  const std::int64_t top = exponent(most), least = std::min(top, exponent(kLeastShare));
  const double likely = static_cast<double>(n) * row.rated->bound.likely / load_.rate;
  std::int64_t e = std::clamp(exponent(likely), least, top);
  std::int64_t meets_at = least - 1, misses_at = top + 1;
  for (std::int64_t step = 8; misses_at - meets_at > 1; step *= 2) {
    if (meets(row, n, share(e))) {
      meets_at = e;
      if (misses_at <= top || e == top) break;
      e = std::min(top, e + step);
    } else {
      misses_at = e;
      if (meets_at >= least || e == least) break;
      e = std::max(least, e - step);
    }
  }
  if (meets_at < least && misses_at == least) return 0;
  while (misses_at - meets_at > 1) {
    const std::int64_t middle = meets_at + (misses_at - meets_at) / 2;
    (meets(row, n, share(middle)) ? meets_at : misses_at) = middle;
  }
  return meets_at < least ? 0 : share(meets_at);
}

void ShareTable::bound_fewer(Row& row, std::int64_t n, double share) const {
  // The share is known to a step below the highest that the engines serve.
  const double each = share * kStep / static_cast<double>(n);
  for (std::int64_t i = 1; i < n; ++i)
    if (!row.settled[at(i)])
      row.share[at(i)] = std::min(row.share[at(i)], each * static_cast<double>(i));
}

// Finds the share of about as many engines as all of the load needs, which bounds that of fewer.
void ShareTable::probe(Row& row) {
  row.probed = true;
  const auto likely =
      static_cast<std::int64_t>(std::ceil(load_.rate / row.rated->bound.likely - kRounding));
  const auto n = std::clamp<std::int64_t>(likely, 1, static_cast<std::int64_t>(row.share.size()));
  const double most = static_cast<double>(n) * row.rated->bound.most() / load_.rate;
  const double share = found(row, n, most);
  row.share[at(n)] = std::min(1.0, share), row.settled[at(n)] = true;
  bound_fewer(row, n, share);
}

void ShareTable::find_fewest(Row& row) {
  const auto there = static_cast<std::int64_t>(row.share.size());
  std::int64_t misses = 0;
  while (misses < there && row.share[at(misses + 1)] < 1 - kRounding) ++misses;
  const auto likely =
      static_cast<std::int64_t>(std::ceil(load_.rate / row.rated->bound.likely - kRounding));
  std::int64_t high = std::clamp(likely, std::min(there, misses + 1), there);
  for (std::int64_t step = 1; misses < there && !meets(row, high, 1); step *= 2) {
    misses = high;
    high = std::min(there, high + step);
  }
  while (misses < there && high - misses > 1) {
    const std::int64_t middle = misses + (high - misses) / 2;
    (meets(row, middle, 1) ? high : misses) = middle;
  }
  for (std::int64_t n = 1; n <= there; ++n)
    row.share[at(n)] = n > misses ? 1 : 0, row.settled[at(n)] = true;
}

void ShareTable::settle(std::size_t k, std::int64_t n) {
  Row& row = rows_[k];
  if (!plan_.mixed && !plan_.exhaustive) return find_fewest(row);
  if (!plan_.mixed) {
    row.share[at(n)] = meets(row, n, 1) ? 1 : 0, row.settled[at(n)] = true;
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

void ShareTable::lower(std::size_t k, std::int64_t n, double share) {
  Row& row = rows_[k];
  row.share[at(n)] = std::min(row.share[at(n)], share), row.settled[at(n)] = true;
}

}  // namespace orrery
