#include "orrery/planner/verify/race.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"
#include "orrery/scenario/answer/prospect.h"

namespace orrery {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr double kRateStep = 1.01;   // ratio of the rates that are tried
constexpr double kLeastRate = 0.01;  // of the likely one, below which an option is given up
constexpr std::int64_t kGiveUp = 8;  // times the likely number of engines
// Engines over the fewest that keep the limits, beyond which none take less energy for their
// chance: that of the fewest is at least one half.
constexpr std::int64_t kMostSpacious = 2;
// The levels at which a lower rate is sought for the expected one.
constexpr int kSaferLevels[] = {8, 10};
constexpr const char* kBound = "cannot be better than the plans shown, by its bound";
constexpr const char* kTooMany = "needs more GPUs or money than there is";

// An option, or a pair of options, that takes part.
struct Entrant {
  const RatedOption* engine;
  const RatedOption* decode = nullptr;  // null: the engines do both
  double promise = 0;                   // likely score; less is better
};

std::int64_t at_least(double rate, double each) {
  constexpr double kRounding = 1e-9;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(rate / each - kRounding)));
}

class Race {
 public:
  Race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
       FleetJudge& trials)
      : plan_(planned(question).choice), load_(load), trials_(trials) {
    while (known_ < kLevels && (known_ + 0.5) / kLevels < plan_.confidence / 100) ++known_;
    for (const std::string& mode : plan_.modes) mode == "aggregated" ? alone(first) : pairs(first);
    std::stable_sort(entrants_.begin(), entrants_.end(),
                     [](const Entrant& a, const Entrant& b) { return a.promise < b.promise; });
    result_.fleets = static_cast<std::int64_t>(entrants_.size());
  }

  std::size_t size() const { return entrants_.size(); }

  // All of them in their order, or as many as there is time for.
  RaceResult run(SearchContext& context) {
    for (std::size_t i = 0; i < entrants_.size(); ++i) {
      try {
        context.hint(threshold());
        context.reach(i);
        if (const char* left = look_at(entrants_[i]); left != nullptr) ++result_.left[left];
      } catch (const Stopped&) {
        break;
      }
      ++result_.looked_at;
      context.tell(static_cast<std::int64_t>(entrants_.size() - i - 1 + result_.best.size()),
                   result_.best.empty() ? "" : result_.best.front().fleet.name());
    }
    return std::move(result_);
  }

  // Tries one of them against a score that it must beat, and enters nothing.
  void ahead(std::size_t i, double score) {
    given_ = score;
    look_at(entrants_.at(i));
  }

 private:
  // Why it is left out; null: it is not.
  const char* look_at(const Entrant& e) {
    return throughput() ? highest_rate(e) : e.decode ? least_pools(e) : least(e);
  }

  bool throughput() const { return plan_.objective == PlanObjective::kThroughput; }
  bool energy() const { return plan_.objective == PlanObjective::kEnergy; }
  bool pruned() const { return !plan_.exhaustive && !energy(); }
  bool full() const {
    return given_ ? *given_ < kNone : static_cast<std::int64_t>(result_.best.size()) >= plan_.top;
  }
  // The score that a fleet must be better than.
  double threshold() const {
    if (given_) return *given_;
    return full() ? result_.best.back().ranked : kNone;
  }

  double spare_value(const RatedOption& o, std::int64_t engines) const {
    return o.value(plan_.objective,
                   static_cast<double>(engines + spares(plan_, o.option, engines)));
  }
  std::int64_t with_spares(const Entrant& e, std::int64_t engines) const {
    return engines + spares(plan_, e.engine->option, engines);
  }
  FleetPlan fleet(const Entrant& e, std::int64_t engines, std::int64_t decoders) const {
    FleetPlan f;
    f.engine = e.engine->option, f.engines = engines;
    if (e.decode) f.decode = e.decode->option, f.decode_engines = decoders;
    return f;
  }

  void alone(const FirstStage& first) {
    for (const RatedOption& o : first.options) {
      const double n = std::ceil(load_.rate / o.bound.likely);
      const double promise = throughput() ? -o.bound.likely * static_cast<double>(most(o))
                                          : spare_value(o, static_cast<std::int64_t>(n));
      entrants_.push_back({&o, nullptr, promise});
    }
  }

  void pairs(const FirstStage& first) {
    for (const RatedOption& p : first.options) {
      for (const RatedOption& d : first.options) {
        const EngineOption &a = p.option, &b = d.option;
        if (!a.pairs_with(b)) continue;
        // GPUs or money for a request a second.
        const double each = p.value(plan_.objective, 1 / p.bound.prefill) +
                            d.value(plan_.objective, 1 / d.bound.decode);
        if (!std::isfinite(p.bound.prefill)) continue;  // caches decide: not bounded
        entrants_.push_back({&p, &d, throughput() ? -1 / each : each * load_.rate});
      }
    }
  }

  std::int64_t most(const RatedOption& o) const { return most_engines(plan_, o, 0, 0); }

  // Whether a fleet keeps the limits at the first `levels` levels.
  bool keeps(const FleetPlan& f, double rate, int levels) {
    return levels <= known_ ? trials_.meets(f, rate) : trials_.meets_at(f, rate, levels - 1);
  }

  // The levels at which a fleet keeps the limits, if they are at least `wanted`; 0: they are fewer.
  int levels_of(const FleetPlan& f, double rate, int wanted) {
    if (!keeps(f, rate, wanted)) return 0;
    int kept = wanted, missed = kLevels + 1;
    for (int at = kLevels; missed - kept > 1; at = kept + (missed - kept) / 2)
      (keeps(f, rate, at) ? kept : missed) = at;
    return kept;
  }

  // The fewest levels at which a fleet of this value must keep the limits to be ranked before
  // `than`; more than kLevels: it cannot be.
  int wanted(double value, double than) const {
    int levels = known_;
    while (levels <= kLevels && per_chance(value, static_cast<double>(levels) / kLevels) >= than)
      ++levels;
    return levels;
  }

  // Enters a fleet that keeps the limits. Returns why it is left out; null: it is not.
  const char* enter(RacedFleet raced) {
    if (given_) return nullptr;
    FleetPlan& fleet = raced.fleet;
    fleet.spare = spares(plan_, fleet.engine, fleet.engines);
    fleet.engines += fleet.spare;
    if (fleet.decode) {
      fleet.decode_spare = spares(plan_, *fleet.decode, fleet.decode_engines);
      fleet.decode_engines += fleet.decode_spare;
    }
    raced.slowest = raced.levels <= known_ ? Trials::kAtConfidence : raced.levels - 1;
    if (full() && raced.ranked >= threshold()) return kWorse;
    const auto at = std::upper_bound(
        result_.best.begin(), result_.best.end(), raced,
        [](const RacedFleet& a, const RacedFleet& b) { return a.ranked < b.ranked; });
    result_.best.insert(at, raced);
    if (static_cast<std::int64_t>(result_.best.size()) <= plan_.top) return nullptr;
    result_.best.pop_back();
    ++result_.left[kWorse];
    return nullptr;
  }

  double value_of(const Entrant& e, const FleetPlan& f) {
    if (energy()) return trials_.energy_per_request(f, load_.rate);
    return spare_value(*e.engine, f.engines) +
           (e.decode ? spare_value(*e.decode, f.decode_engines) : 0);
  }

  // The best fleet of an option so far, at the rate of the load.
  struct Best {
    double than;  // what another must be ranked below
    std::optional<RacedFleet> fleet;

    // Takes a fleet that keeps the limits at these levels; 0: at too few.
    void take(const FleetPlan& f, double value, int levels) {
      if (levels == 0) return;
      than = per_chance(value, static_cast<double>(levels) / kLevels);
      fleet = RacedFleet{.fleet = f, .value = value, .ranked = than, .levels = levels};
    }
  };
  const char* enter(Best& best) {
    best.fleet->rate = load_.rate;
    return enter(std::move(*best.fleet));
  }

  // The number of engines of an option that is ranked first of those that keep the limits at the
  // load's rate.
  const char* least(const Entrant& e) {
    const std::int64_t low = at_least(load_.rate, e.engine->bound.most());
    const std::int64_t there = most(*e.engine);
    if (low > there) return kTooMany;
    if (pruned() && spare_value(*e.engine, low) >= threshold()) return kBound;
    const auto meets = [&](std::int64_t n) { return trials_.meets(fleet(e, n, 0), load_.rate); };
    // More engines than `most_worth` cannot be better, so that fewer are sought among them alone.
    const double than = pruned() ? threshold() : kNone;
    std::int64_t most_worth = there;
    if (than < kNone)
      for (most_worth = low; most_worth < there && spare_value(*e.engine, most_worth + 1) < than;)
        ++most_worth;
    const std::int64_t likely = at_least(load_.rate, e.engine->bound.likely);
    std::int64_t high = std::clamp(likely, low, most_worth), misses = low - 1;
    for (std::int64_t step = 1; !meets(high); step *= 2) {
      misses = high;
      if (high == most_worth) return high < there ? kWorse : kMisses;
      if (high >= kGiveUp * likely) return kMisses;
      high = std::min(most_worth, high + step);
    }
    while (high - misses > 1) {
      const std::int64_t middle = misses + (high - misses) / 2;
      (meets(middle) ? high : misses) = middle;
    }
    // More of them keep the limits at more levels, and are dearer.
    const std::int64_t last = energy() ? std::min(there, kMostSpacious * high) : there;
    Best best{than, {}};
    for (std::int64_t n = high; n <= last; ++n) {
      const FleetPlan f = fleet(e, n, 0);
      const double value = value_of(e, f);
      const int least = wanted(value, best.than);
      if (least > kLevels) break;
      best.take(f, value, levels_of(f, load_.rate, least));
    }
    return best.fleet ? enter(best) : kWorse;
  }

  // The pools that are ranked first of those that keep the limits at the load's rate.
  const char* least_pools(const Entrant& e) {
    struct Pools {
      std::int64_t x, y;
      double value;
    };
    constexpr double kMost = 3;  // times the least value, while no plan is known
    const std::int64_t x0 = at_least(load_.rate, e.engine->bound.prefill);
    const std::int64_t y0 = at_least(load_.rate, e.decode->bound.decode);
    const auto value = [&](std::int64_t x, std::int64_t y) {
      return spare_value(*e.engine, x) + spare_value(*e.decode, y);
    };
    if (pruned() && value(x0, y0) >= threshold()) return kBound;
    const double below = std::min(kMost * value(x0, y0), pruned() ? threshold() : kNone);
    std::vector<Pools> tried;
    for (std::int64_t x = x0; value(x, y0) < below && x <= most(*e.engine); ++x) {
      const std::int64_t taken = with_spares(e, x) * e.engine->option.gpus();
      const double hour = static_cast<double>(with_spares(e, x)) * e.engine->bound.hour;
      const std::int64_t there = most_engines(plan_, *e.decode, taken, hour);
      for (std::int64_t y = y0; value(x, y) < below && y <= there; ++y)
        tried.push_back({x, y, value(x, y)});
    }
    std::sort(tried.begin(), tried.end(), [](const Pools& a, const Pools& b) {
      return std::pair(a.value, a.x) < std::pair(b.value, b.x);
    });
    struct Missed {
      Pools pools;
      int levels;  // it keeps the limits at fewer
    };
    std::vector<Missed> missed;
    Best best{pruned() ? threshold() : kNone, {}};
    for (const Pools& p : tried) {
      const FleetPlan f = fleet(e, p.x, p.y);
      // The energy is known where the pools keep the limits.
      const int least = energy() ? known_ : wanted(p.value, best.than);
      if (least > kLevels) break;
      const bool hopeless = std::any_of(missed.begin(), missed.end(), [&](const Missed& m) {
        return p.x <= m.pools.x && p.y <= m.pools.y && m.levels <= least;
      });
      if (hopeless) continue;
      const int levels = levels_of(f, load_.rate, least);
      if (levels == 0) {
        missed.push_back({p, least});
      } else if (!energy()) {
        best.take(f, p.value, levels);
      } else if (const double value = value_of(e, f);
                 wanted(value, best.fleet ? best.than : kNone) <= levels) {
        best.take(f, value, levels);
        if (levels == kLevels) break;
      }
    }
    if (best.fleet) return enter(best);
    return tried.empty() ? kTooMany : kMisses;
  }

  // The highest rate of the rates likely kRateStep^k that the fleet serves at the first `levels`
  // levels, above `better`.
  std::optional<double> rate_of(const FleetPlan& f, double likely, double bound, double better,
                                int levels) {
    const double log_step = std::log(kRateStep);
    const auto rate = [&](std::int64_t k) { return likely * std::pow(kRateStep, k); };
    const auto steps = [&](double r) {
      return static_cast<std::int64_t>(std::floor(std::log(r / likely) / log_step));
    };
    const std::int64_t floor = steps(kLeastRate * likely), top = steps(bound);
    std::int64_t meets = floor - 1, misses = top + 1;
    std::int64_t k =
        better > 0 ? std::max(floor, steps(better) + 1) : std::min<std::int64_t>(0, top);
    if (k > top) return std::nullopt;
    const bool least = better > 0;  // a miss there is enough
    for (std::int64_t step = 8;; step *= 2) {
      if (keeps(f, rate(k), levels)) {
        meets = k;
        if (misses <= top || k == top) break;
        k = std::min(top, k + step);
      } else {
        if (least && meets < floor) return std::nullopt;
        misses = k;
        if (meets >= floor || k == floor) break;
        k = std::max(floor, k - step);
      }
    }
    while (meets >= floor && misses - meets > 1) {
      const std::int64_t middle = meets + (misses - meets) / 2;
      (keeps(f, rate(middle), levels) ? meets : misses) = middle;
    }
    if (meets < floor) return std::nullopt;
    return rate(meets);
  }

  const char* highest_rate(const Entrant& e) {
    if (plan_.gpus == 0 && plan_.budget <= 0 && e.engine->option.gpu.gpus == 0)
      throw InputError("plan.objective throughput: needs plan.gpus, plan.budget or a stock");
    if (!e.decode) {
      const std::int64_t n = most(*e.engine);
      if (n < 1) return kTooMany;
      const auto all = static_cast<double>(n);
      const EngineBound& b = e.engine->bound;
      return highest_of({{fleet(e, n, 0), all * b.likely, all * b.most()}});
    }
    std::vector<Candidate> splits;
    std::int64_t last = 0;  // engines for decode of the last split
    for (std::int64_t x = 1; x <= most(*e.engine); ++x) {
      const std::int64_t taken = with_spares(e, x) * e.engine->option.gpus();
      const double hour = static_cast<double>(with_spares(e, x)) * e.engine->bound.hour;
      const std::int64_t y = most_engines(plan_, *e.decode, taken, hour);
      if (y < 1) break;
      const double bound = std::min(static_cast<double>(x) * e.engine->bound.prefill,
                                    static_cast<double>(y) * e.decode->bound.decode);
      // Fewer engines for prefill beside as many for decode do no more.
      if (y == last) splits.pop_back();
      splits.push_back({fleet(e, x, y), bound / kSlack, bound});
      last = y;
    }
    std::stable_sort(splits.begin(), splits.end(),
                     [](const Candidate& a, const Candidate& b) { return a.bound > b.bound; });
    return highest_of(splits);
  }

  struct Candidate {
    FleetPlan fleet;
    double likely, bound;  // rates
  };

  // The expected rate of a fleet that serves `rate` at PlanChoice::confidence; where it cannot be
  // above `better`, a rate that is not either.
  double expected_rate(const FleetPlan& f, double rate, double better) {
    std::vector<Prospect> settings = {{rate, known_}};
    for (const int levels : kSaferLevels) {
      if (levels <= known_) continue;
      // At most what is served at fewer levels, at all further ones.
      settings.push_back({settings.back().score, kLevels});
      if (const double most = expected_score(settings); most <= better) return most;
      settings.pop_back();
      const double last = settings.back().score;
      const auto lower = rate_of(f, last, last, 0, levels);
      if (!lower) break;
      settings.push_back({*lower, levels});
    }
    return expected_score(settings);
  }

  // Enters the fleet with the highest expected rate.
  const char* highest_of(const std::vector<Candidate>& fleets) {
    const double shown = full() && pruned() ? -threshold() : 0;  // at most this is no better
    const char* left = fleets.empty() ? kTooMany : kBound;
    std::optional<RacedFleet> best;
    double highest = shown;
    for (const Candidate& c : fleets) {
      if (pruned() && c.bound <= highest) continue;
      const double than = pruned() ? highest : 0;
      const auto rate = rate_of(c.fleet, std::min(c.likely, c.bound), c.bound, than, known_);
      left = shown > 0 ? kWorse : kMisses;
      if (!rate) continue;
      const double expected = expected_rate(c.fleet, *rate, than);
      if (expected <= highest) continue;
      best = RacedFleet{
          .fleet = c.fleet, .value = *rate, .rate = *rate, .ranked = -expected, .levels = known_};
      highest = expected;
    }
    return best ? enter(std::move(*best)) : left;
  }

  const PlanChoice& plan_;
  const PlannedLoad& load_;
  FleetJudge& trials_;
  std::vector<Entrant> entrants_;
  RaceResult result_;
  std::optional<double> given_;  // of ahead()
  int known_ = 0;                // levels at which the limits hold if they do at plan.confidence
};

}  // namespace

RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                Trials& trials) {
  Race race(question, load, first, trials);
  Trials apart = trials.apart();
  Race other(question, load, first, apart);
  RaceResult out;
  SearchContext& context = trials.context();
  context.together(
      "fleets", race.size(), [&](std::size_t i, double score) { other.ahead(i, score); },
      [&] { out = race.run(context); });
  return out;
}

RaceResult race(const Scenario& question, const PlannedLoad& load, const FirstStage& first,
                FleetJudge& judge) {
  Race race(question, load, first, judge);
  RaceResult out;
  SearchContext context;
  context.together(
      "fleets", race.size(), [](std::size_t, double) {}, [&] { out = race.run(context); });
  return out;
}

}  // namespace orrery
