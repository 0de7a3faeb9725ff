// Laws of plans of services: what is left out by bounds changes nothing, and plans follow prices,
// loads and stock as they must.
//
// Two kinds of small random spaces. In the one, fleets are judged by arithmetic, which the test
// also does by itself over all numbers of engines. In the other, engines, bounds and simulations
// are the real ones. ORRERY_PLAN_SPACES=10000 asks that many of the latter (some minutes).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <random>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/first_stage.h"
#include "orrery/planner/verify/race.h"
#include "orrery/planner/verify/trials.h"
#include "orrery/scenario/answer/prospect.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace race_law_test {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return random() % n; }
double between(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() % 1'000'003) / 1'000'003;
}
template <class T>
T pick(Random& random, const std::vector<T>& of) {
  return of[below(random, of.size())];
}

// ---- spaces that are judged by arithmetic ----

struct Capacity {
  double prefill = 1, decode = 1, both = 1;  // requests/s of one engine
  double joules = 1;                         // of a request
};

// Fleets of n engines do n times what one does, times a factor that grows with n, since queues that
// are shared are shorter.
class Arithmetic : public FleetJudge {
 public:
  double crowding = 0;  // 0: the factor is 1
  double error = 0;     // deviation of the logarithm of all capacities
  std::map<std::string, Capacity> of;

  double capacity(const FleetPlan& f) const {
    const Capacity& first = of.at(f.engine.name());
    if (!f.decode) return together(f.engines, first.both);
    return std::min(together(f.engines, first.prefill),
                    together(f.decode_engines, of.at(f.decode->name()).decode));
  }
  bool meets(const FleetPlan& f, double rate) override { return capacity(f) >= rate; }
  bool meets_at(const FleetPlan& f, double rate, int level) override {
    return capacity(f) * at(level) >= rate;
  }
  // The capacity at a level over the median one.
  double at(int level) const { return std::exp(-error * deviations_at(level)); }
  double energy_per_request(const FleetPlan& f, double) override {
    return of.at(f.engine.name()).joules + (f.decode ? of.at(f.decode->name()).joules : 0);
  }

  double together(std::int64_t n, double each) const {
    const auto engines = static_cast<double>(n);
    return engines * each * (1 - crowding / (engines + 1));
  }
};

struct Space {
  PlanChoice choice;
  PlannedLoad load;
  FirstStage first;
  std::vector<Capacity> capacities;  // of the options
  Arithmetic judge;

  RaceResult raced(bool exhaustive) {
    Scenario question;
    PlanQuestion plan;
    plan.choice = choice;
    plan.choice.exhaustive = exhaustive;
    question.asked = plan;
    return race(question, load, first, judge);
  }
  // Money or GPUs of engines and the spare ones.
  double value(const RatedOption& o, std::int64_t engines) const {
    return o.value(choice.objective, static_cast<double>(engines + choice.spare));
  }
  void add(const EngineOption& option, const Capacity& capacity, double hour) {
    RatedOption o{option, {}};
    o.bound.prefill = capacity.prefill, o.bound.decode = capacity.decode;
    o.bound.likely = capacity.both, o.bound.hour = hour;
    first.options.push_back(o);
    capacities.push_back(capacity);
    judge.of[option.name()] = capacity;
  }
};

Space random_space(Random& random) {
  Space s;
  s.choice.objective =
      pick(random, std::vector{PlanObjective::kCost, PlanObjective::kGpus,
                               PlanObjective::kThroughput, PlanObjective::kEnergy});
  const bool throughput = s.choice.objective == PlanObjective::kThroughput;
  s.choice.top = pick<std::int64_t>(random, {1, 2, 3, 9});
  s.choice.spare = pick<std::int64_t>(random, {0, 0, 1, 2});
  s.choice.modes = pick<std::vector<std::string>>(
      random, {{"aggregated"}, {"disaggregated"}, {"aggregated", "disaggregated"}});
  if (throughput || below(random, 4) == 0)
    s.choice.gpus = pick<std::int64_t>(random, {3, 8, 15, 24});
  if (below(random, 4) == 0) s.choice.budget = 730 * between(random, 5, 60);
  s.load.rate = between(random, 0.5, 12);
  s.judge.crowding = pick(random, std::vector{0.0, 0.2, 0.4});
  s.judge.error = pick(random, std::vector{0.0, 0.05, 0.2, 0.5});
  for (const char* gpu : {"a", "b"}) {
    const std::int64_t stock = pick<std::int64_t>(random, {0, 0, 6, 12});
    const double price = pick(random, std::vector{1.0, 2.0, 2.5});
    for (const char* engine : {"x", "y"}) {
      for (const int tp : {1, 2, 4}) {
        if (below(random, 2) == 0) continue;
        EngineOption option{{gpu, stock}, engine, "", {.tp = tp}};
        Capacity c;
        c.prefill = between(random, 0.4, 3) * std::sqrt(tp);
        c.decode = between(random, 0.4, 3) * std::sqrt(tp);
        c.both = between(random, 0.4, 0.9) * std::min(c.prefill, c.decode);
        c.joules = between(random, 1, 9);
        s.add(option, c, price * tp);
        EngineBound& b = s.first.options.back().bound;  // never below what is true
        b.prefill *= between(random, 1, 1.3), b.decode *= between(random, 1, 1.3);
        b.likely *= between(random, 0.6, 1.1);
      }
    }
  }
  return s;
}

std::vector<std::string> told(const RaceResult& result) {
  std::vector<std::string> out;
  for (const RacedFleet& r : result.best)
    out.push_back(fmt::format("{}: {} at {}, {}", r.fleet.name(), r.value, r.rate, r.ranked));
  return out;
}

// The highest expected score of a fleet whose median capacity is `rate`, as the reciprocal of what
// an hour within the limits takes, or as a rate; 0: it misses the limits.
double best_score(const Space& s, double rate, double value) {
  const bool throughput = s.choice.objective == PlanObjective::kThroughput;
  if (!throughput && rate < s.load.rate) return 0;
  // The rate at the median, and lower ones at the quantiles of 75 and 95 %.
  if (throughput) return rate * (0.5 + 0.3 * s.judge.at(7) + 0.2 * s.judge.at(9));
  double best = 0.5 / value;
  for (int levels = 6; levels <= 10; ++levels)
    if (rate * s.judge.at(levels - 1) >= s.load.rate) best = levels / 10.0 / value;
  return best;
}

// The best score of an option, or of a pair of options, by looking at all numbers of engines. 0: no
// fleet keeps the limits.
double best_value(const Space& s, std::size_t a, const std::size_t* b) {
  const RatedOption& first = s.first.options[a];
  double best = 0;
  for (std::int64_t x = 1; x <= std::min<std::int64_t>(60, most_engines(s.choice, first, 0, 0));
       ++x) {
    const double prefill = s.judge.together(x, s.capacities[a].prefill);
    const std::int64_t taken = (x + s.choice.spare) * first.option.gpus();
    const double hour = static_cast<double>(x + s.choice.spare) * first.bound.hour;
    const std::int64_t there =
        b ? most_engines(s.choice, s.first.options[*b], taken, hour) : std::int64_t{1};
    for (std::int64_t y = 1; y <= std::min<std::int64_t>(60, there); ++y) {
      const double rate = b ? std::min(prefill, s.judge.together(y, s.capacities[*b].decode))
                            : s.judge.together(x, s.capacities[a].both);
      const double value = s.value(first, x) + (b ? s.value(s.first.options[*b], y) : 0);
      best = std::max(best, best_score(s, rate, value));
    }
  }
  return best;
}

// The values of all options and pairs, best first, as many as are shown.
std::vector<double> best_values(const Space& s) {
  std::vector<double> out;
  for (const std::string& mode : s.choice.modes) {
    for (std::size_t a = 0; a < s.first.options.size(); ++a) {
      if (mode == "aggregated") out.push_back(best_value(s, a, nullptr));
      const EngineOption& one = s.first.options[a].option;
      for (std::size_t b = 0; mode != "aggregated" && b < s.first.options.size(); ++b) {
        const EngineOption& two = s.first.options[b].option;
        if (one.gpu.gpu == two.gpu.gpu && one.engine == two.engine)
          out.push_back(best_value(s, a, &b));
      }
    }
  }
  std::erase(out, 0.0);
  std::sort(out.rbegin(), out.rend());
  if (out.size() > static_cast<std::size_t>(s.choice.top))
    out.resize(static_cast<std::size_t>(s.choice.top));
  return out;
}

void expect_best(const Space& s, const RaceResult& result, std::size_t i) {
  if (s.choice.objective == PlanObjective::kEnergy) return;  // not of the least fleet alone
  const std::vector<double> best = best_values(s);
  ASSERT_EQ(result.best.size(), best.size()) << "space " << i;
  for (std::size_t k = 0; k < best.size(); ++k) {
    const double ranked = result.best[k].ranked;
    if (s.choice.objective == PlanObjective::kThroughput) {
      EXPECT_LE(-ranked, best[k] * (1 + 1e-9)) << "space " << i;
      EXPECT_GE(-ranked * 1.0101, best[k]) << "space " << i;  // the rates that are tried
    } else {
      EXPECT_NEAR(ranked, 1 / best[k], 1e-9) << "space " << i;
    }
  }
}

TEST(Race, FindsWhatLookingAtAllFleetsFinds) {
  Random random(11);
  std::size_t found = 0;
  for (std::size_t i = 0; i < 10'000; ++i) {
    Space s = random_space(random);
    const RaceResult pruned = s.raced(false);
    ASSERT_EQ(told(pruned), told(s.raced(true))) << "space " << i;
    expect_best(s, pruned, i);
    if (HasFailure()) return;
    found += pruned.best.empty() ? 0 : 1;
  }
  EXPECT_GT(found, 6'000U);
}

TEST(Race, OfOneOptionIsArithmetic) {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    Space s;
    const double each = between(random, 0.5, 3), hour = between(random, 1, 9);
    s.add({{"a", 0}, "x", "", 2, 1, 1, 1}, {9, 9, each, 1}, hour);
    s.load.rate = between(random, 0.1, 40);
    const RaceResult r = s.raced(false);
    ASSERT_EQ(r.best.size(), 1U);
    EXPECT_EQ(r.best[0].fleet.engines, std::ceil(s.load.rate / each));
    EXPECT_NEAR(r.best[0].value, hour * std::ceil(s.load.rate / each), 1e-9);
  }
}

// Order of the options, doubled prices, a free option, twice the load, more stock.
TEST(Race, FollowsWhatIsPlanted) {
  Random random(13);
  for (int i = 0; i < 500; ++i) {
    Space s = random_space(random);
    s.choice.objective = PlanObjective::kCost;
    s.choice.budget = 0, s.choice.top = 1;
    const auto cost = [](const RaceResult& r) {
      return r.best.empty() ? HUGE_VAL : r.best[0].ranked;
    };
    const RaceResult once = s.raced(false);
    Space mixed = s;
    std::shuffle(mixed.first.options.begin(), mixed.first.options.end(), random);
    EXPECT_EQ(cost(mixed.raced(false)), cost(once)) << i;
    Space dear = s;
    for (RatedOption& o : dear.first.options) o.bound.hour *= 2;
    const RaceResult twice = dear.raced(false);
    if (!once.best.empty()) {
      EXPECT_NEAR(cost(twice), 2 * cost(once), 1e-9) << i;
      EXPECT_EQ(twice.best[0].fleet.name(), once.best[0].fleet.name()) << i;
    }
    Space stock = s;
    stock.choice.gpus = 0;
    for (RatedOption& o : stock.first.options) o.option.gpu.gpus = 0;
    const double free = cost(stock.raced(false));
    EXPECT_LE(free, cost(once)) << i;
    // Engines of one kind share queues, so that twice the load costs at most twice as much.
    Space more = stock;
    more.choice.spare = 0;
    const double half = cost(more.raced(false));
    more.load.rate *= 2;
    EXPECT_LE(cost(more.raced(false)), 2 * half + 1e-9) << i;
    if (s.first.options.empty() || s.choice.modes.size() != 1 || s.choice.modes[0] != "aggregated")
      continue;
    RatedOption& gift = stock.first.options[below(random, stock.first.options.size())];
    gift.bound.hour = 0;
    EXPECT_EQ(stock.raced(false).best.at(0).fleet.engine.name(), gift.option.name()) << i;
  }
}

// Two pools whose KV caches move at no cost do what the scarcer one allows.
TEST(Race, OfPoolsIsTheScarcerOne) {
  Space s;
  s.choice.objective = PlanObjective::kThroughput;
  s.choice.modes = {"disaggregated"};
  s.choice.gpus = 12;
  s.add({{"a", 0}, "x", "", 1, 1, 1, 1}, {4, 0.5, 0.4, 1}, 1);
  s.add({{"a", 0}, "x", "", 2, 1, 1, 1}, {4, 2, 1.5, 1}, 2);
  const RaceResult r = s.raced(false);
  // x GPUs with 4x requests/s of prefill, and (12 - x) / 2 engines with 2 of decode: 2 and 5.
  EXPECT_EQ(r.best.at(0).fleet.engines, 2);
  EXPECT_EQ(r.best.at(0).fleet.decode_engines, 5);
  EXPECT_NEAR(r.best.at(0).value, 8, 0.08);
}

// ---- spaces with real engines, bounds and simulations ----

Scenario random_question(Random& random) {
  const auto word = [&random](const std::vector<const char*>& of) { return pick(random, of); };
  const std::string text = fmt::format(
      "model: {}\ncost: {{price: 2}}\nload: {{rate: {}, requests: 24, isl: {}, osl: {}}}\nslo: "
      "{}\nplan: {{gpu: [{}], tp: [{}], pp: [1], engines: [{}], modes: [{}], objective: {}, top: "
      "{}, spare: {}}}",
      word({"llama-3-8b", "llama-2-7b"}), word({"0.3", "0.6", "1.1", "2.3"}),
      word({"200", "900", "\"uniform(100, 900)\""}), word({"20", "60", "\"uniform(8, 60)\""}),
      word({"{tpot: 14 ms}", "{tpot: 30 ms, ttft: 300 ms}", "{e2e: 1.2 s, percentile: 90}",
            "{ttft: 90 ms, percentile: 50}"}),
      word({"l40s", "l4, l40s", "a100-80g-sxm, \"h100-sxm:2\"", "\"l40s:4\"", "l4"}),
      word({"1", "1, 2", "2, 4"}), word({"vllm", "vllm, sglang", "trtllm"}),
      word({"aggregated", "aggregated", "disaggregated"}),
      word({"cost", "gpus", "throughput, gpus: 2", "throughput, gpus: 3", "energy"}),
      word({"1", "2"}), word({"0", "0", "1"}));
  return read_scenario(all_kinds(), parse_yaml(text, "plan")).points.front();
}

TEST(Race, OfSimulationsIsPrunedExactly) {
  const char* asked = std::getenv("ORRERY_PLAN_SPACES");
  const int spaces = asked != nullptr ? std::atoi(asked) : 100;
  Random random(14);
  Runner runner{Bundle()};
  int found = 0;
  for (int i = 0; i < spaces; ++i) {
    Scenario question = random_question(random);
    std::vector<std::string> notes;
    const PlannedLoad load = planned_load(question.as<PlanQuestion>().service, notes);
    SearchContext context;
    const FirstStage first = first_stage(runner, question, load, context);
    Trials trials(runner, question, load, context);  // fleets that were tried before are known
    const std::vector<std::string> few = told(race(question, load, first, trials));
    question.ask<PlanQuestion>().choice.exhaustive = true;
    ASSERT_EQ(few, told(race(question, load, first, trials))) << "space " << i;
    found += few.empty() ? 0 : 1;
  }
  EXPECT_GT(2 * found, spaces);
}

}  // namespace race_law_test
}  // namespace orrery
