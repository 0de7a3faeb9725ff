#include "orrery/planner/search/fleet_sizes.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"

namespace orrery {
namespace {

std::int64_t engines_for(double rate, double each) {
  constexpr double kRounding = 1e-9;
  return std::max<std::int64_t>(1, std::llround(std::ceil(rate / each - kRounding)));
}

}  // namespace

FleetSizes::FleetSizes(const PlanChoice& plan, const PlannedLoad& load, const RatedOption& engine,
                       const RatedOption* decode)
    : plan_(plan), engine_(engine), decode_(decode) {
  decode ? size_pools(load.rate) : size_engines(load.rate);
}

void FleetSizes::size_engines(double rate) {
  const auto most = std::min(most_engines(plan_, engine_, 0, 0),
                             kMostTimes * engines_for(rate, engine_.bound.likely));
  for (std::int64_t n = 1; n <= most; ++n)
    gpus_.push_back((n + spares(plan_, engine_.option, n)) * engine_.option.gpus());
}

void FleetSizes::size_pools(double rate) {
  const auto gpus_of = [this](const RatedOption& o, std::int64_t n) {
    return (n + spares(plan_, o.option, n)) * o.option.gpus();
  };
  const std::int64_t x = engines_for(rate, engine_.bound.prefill);
  const std::int64_t y = engines_for(rate, decode_->bound.decode);
  std::int64_t most = kMostTimesApart * (gpus_of(engine_, x) + gpus_of(*decode_, y));
  for (const std::int64_t limit : {plan_.gpus, gpu().gpus})
    if (limit > 0) most = std::min(most, limit);
  if (plan_.budget > 0 && hour_of_gpu() > 0)
    most = std::min<std::int64_t>(
        most, std::llround(std::floor(plan_.budget / kHoursOfMonth / hour_of_gpu())));
  for (auto [option, pool] :
       {std::pair{&engine_, &engine_gpus_}, std::pair{decode_, &decode_gpus_}})
    for (std::int64_t n = 1; gpus_of(*option, n) <= most; ++n) pool->push_back(gpus_of(*option, n));
  std::vector<bool> taken(static_cast<std::size_t>(most) + 1, false);
  for (const std::int64_t a : engine_gpus_)
    for (const std::int64_t b : decode_gpus_)
      if (a + b <= most) taken[index(a + b)] = true;
  for (std::int64_t n = 1; n <= most; ++n)
    if (taken[index(n)]) gpus_.push_back(n);
}

double FleetSizes::hour_of_gpu() const {
  const auto each = [](const RatedOption& o) {
    return o.bound.hour / static_cast<double>(o.option.gpus());
  };
  return decode_ ? std::max(each(engine_), each(*decode_)) : each(engine_);
}

double FleetSizes::money(std::int64_t n) const {
  return static_cast<double>(gpus(n)) * hour_of_gpu();
}

double FleetSizes::value(std::int64_t n) const {
  return plan_.objective == PlanObjective::kCost ? money(n) : static_cast<double>(gpus(n));
}

std::vector<PoolCounts> FleetSizes::splits(std::int64_t gpus) const {
  std::vector<PoolCounts> out;
  for (std::size_t x = 0; x < engine_gpus_.size(); ++x) {
    const auto end =
        std::upper_bound(decode_gpus_.begin(), decode_gpus_.end(), gpus - engine_gpus_[x]);
    const auto y = static_cast<std::int64_t>(end - decode_gpus_.begin());
    if (y == 0) break;
    const PoolCounts split{static_cast<std::int64_t>(x) + 1, y};
    // The same pool for decode beside a smaller one for prefill serves no more.
    if (!out.empty() && out.back().decoders == y) out.pop_back();
    out.push_back(split);
  }
  return out;
}

std::vector<PoolCounts> FleetSizes::fleets(std::int64_t n) const {
  if (decode_ == nullptr) return {{n, 0}};
  std::vector<PoolCounts> out = splits(gpus(n));
  std::stable_sort(out.begin(), out.end(),
                   [this](const PoolCounts& a, const PoolCounts& b) { return most(a) > most(b); });
  return out;
}

double FleetSizes::most(const PoolCounts& f) const {
  const auto n = static_cast<double>(f.engines);
  if (decode_ == nullptr) return n * engine_.bound.most();
  return std::min(n * engine_.bound.prefill,
                  static_cast<double>(f.decoders) * decode_->bound.decode);
}

double FleetSizes::likely(const PoolCounts& f) const {
  if (decode_ == nullptr) return static_cast<double>(f.engines) * engine_.bound.likely;
  return most(f) / kSlack;
}

FleetPlan FleetSizes::plan(const PoolCounts& f) const {
  FleetPlan out;
  out.engine = engine_.option, out.engines = f.engines;
  if (decode_ != nullptr) out.decode = decode_->option, out.decode_engines = f.decoders;
  return out;
}

std::vector<FleetSizes> fleet_kinds(const PlanChoice& plan, const PlannedLoad& load,
                                    const FirstStage& first) {
  std::vector<FleetSizes> out;
  const auto pair_up = [&](const RatedOption& p, const RatedOption& d) {
    const EngineOption &a = p.option, &b = d.option;
    if (a.pairs_with(b) && std::isfinite(p.bound.prefill)) out.emplace_back(plan, load, p, &d);
  };
  for (const std::string& mode : plan.modes) {
    for (const RatedOption& o : first.options) {
      if (mode == "aggregated") {
        out.emplace_back(plan, load, o, nullptr);
      } else {
        for (const RatedOption& d : first.options) pair_up(o, d);
      }
    }
  }
  return out;
}

}  // namespace orrery
