// The shares that plans which divide GPUs choose from: is what the judge says of few fleets enough,
// and are pools for prefill and decode divided as looking at all of them divides them?
#include "orrery/planner/verify/share_table.h"
#include "orrery/planner/question/plan_question.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace orrery {
namespace share_table_test {

using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() % 1'000'003) / 1'000'003;
}
std::int64_t whole(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// n engines serve n times what one does, times a factor that grows with n. Two pools serve what the
// one serves that serves less.
class Arithmetic : public FleetJudge {
 public:
  double crowding = 0;
  std::map<std::string, double> each, prefill, decode;
  int asked = 0;

  double of(double one, std::int64_t n) const {
    const auto engines = static_cast<double>(n);
    return engines * one * (1 - crowding / (engines + 1));
  }
  double capacity(const std::string& option, std::int64_t n) const {
    return of(each.at(option), n);
  }
  double capacity(const FleetPlan& f) const {
    const std::string engine = f.engine.name();
    if (!f.decode) return capacity(engine, f.engines);
    return std::min(of(prefill.at(engine), f.engines),
                    of(decode.at(f.decode->name()), f.decode_engines));
  }
  bool meets(const FleetPlan& f, double rate) override {
    ++asked;
    return capacity(f) >= rate * (1 - 1e-12);
  }
  bool meets_at(const FleetPlan& f, double rate, int) override { return meets(f, rate); }
  double energy_per_request(const FleetPlan&, double) override { return 0; }
};

// The value of the best division if shares are settled as the program takes them.
double lazily(ShareTable& table, bool mixed, std::int64_t stock) {
  for (;;) {
    StockProgram p;
    p.mixed = mixed, p.stocks = {stock};
    std::vector<StockOption>& options = p.models.emplace_back();
    for (std::size_t k = 0; k < table.options(); ++k) {
      options.push_back(table.option(k));
      if (k == 0) options.back().stock = 0;
    }
    const auto s = solve(p);
    if (!s) return HUGE_VAL;
    bool known = true;
    for (const StockPart& part : s->parts) {
      if (table.settled(part.option, part.engines)) continue;
      known = false;
      table.settle(part.option, part.engines);
    }
    if (known) return s->value;
  }
}

TEST(ShareTable, SettledAsNeededGivesWhatSettlingEverythingGives) {
  Random random(22);
  int found = 0, few = 0, all = 0;
  for (int i = 0; i < 1000; ++i) {
    PlanChoice plan;
    plan.mixed = random() % 2 == 0;
    plan.spare = static_cast<std::int64_t>(random() % 2);
    plan.gpus = whole(random, 4, 14);
    PlannedLoad load;
    load.rate = between(random, 0.5, 9);
    Arithmetic judge;
    judge.crowding = between(random, 0, 0.4);
    FirstStage first;
    for (const int tp : {1, 2, 4}) {
      EngineOption option{{tp == 1 ? "a" : "b", 0}, "x", "", {.tp = tp}};
      const double each = between(random, 0.4, 1.5) * std::sqrt(tp);
      judge.each[option.name()] = each;
      RatedOption o{option, {}};
      o.bound.prefill = o.bound.decode = each * between(random, 1, 1.6);
      o.bound.likely = each * between(random, 0.7, 1.2);
      o.bound.hour = tp * between(random, 1, 2);
      first.options.push_back(o);
    }
    const std::int64_t stock = whole(random, 1, 6);
    ShareTable lazy(plan, load, first, judge);
    const double value = lazily(lazy, plan.mixed, stock);
    few += judge.asked, judge.asked = 0;
    plan.exhaustive = true;
    ShareTable every(plan, load, first, judge);
    for (std::size_t k = 0; k < every.options(); ++k)
      for (std::size_t n = 1; n <= every.option(k).serves.size(); ++n)
        every.settle(k, static_cast<std::int64_t>(n));
    all += judge.asked, judge.asked = 0;
    const double of_all = lazily(every, plan.mixed, stock);
    EXPECT_TRUE(value == of_all || std::abs(value - of_all) < 1e-9) << i << value << of_all;
    // Every settled share is what the judge serves, to 1 %.
    for (std::size_t k = 0; plan.mixed && k < every.options(); ++k) {
      for (std::size_t n = 1; n <= every.option(k).serves.size(); ++n) {
        const double truth =
            judge.capacity(first.options[k].option.name(), static_cast<std::int64_t>(n)) /
            load.rate;
        const double share = every.share(k, static_cast<std::int64_t>(n));
        EXPECT_LE(share, truth * (1 + 1e-9));
        EXPECT_GE(share * 1.0101, std::min(1.0, truth));
      }
    }
    if (HasFailure()) return;
    found += value < HUGE_VAL ? 1 : 0;
  }
  EXPECT_GT(found, 500);
  EXPECT_LT(few, all / 2);  // and asks much less
}

// Options "a" of 1 GPU and "b" of 2 GPUs, all of one type, which serve alone and in pools.
FirstStage options_of_pools(Random& random, Arithmetic& judge) {
  FirstStage first;
  for (const int tp : {1, 2}) {
    EngineOption option{{"a", 0}, "x", "", {.tp = tp}};
    const std::string name = option.name();
    judge.prefill[name] = tp * between(random, 0.4, 2);
    judge.decode[name] = tp * between(random, 0.4, 2);
    judge.each[name] = between(random, 0.5, 1) / (1 / judge.prefill[name] + 1 / judge.decode[name]);
    RatedOption o{option, {}};
    o.bound.prefill = judge.prefill[name] * between(random, 1, 1.3);
    o.bound.decode = judge.decode[name] * between(random, 1, 1.3);
    o.bound.likely = judge.each[name] * between(random, 0.7, 1.2);
    o.bound.hour = tp;
    first.options.push_back(o);
  }
  return first;
}

// The least GPUs of one fleet for all of the load, by a look at all numbers of engines; at most
// `gpus`.
double least_by_hand(const FirstStage& first, const Arithmetic& judge, double rate,
                     std::int64_t spare, std::int64_t gpus) {
  double least = HUGE_VAL;
  const auto consider = [&](FleetPlan f) {
    if (judge.capacity(f) < rate * (1 - 1e-12)) return;
    f.engines += spare;
    if (f.decode) f.decode_engines += spare;
    if (f.gpus() <= gpus) least = std::min(least, static_cast<double>(f.gpus()));
  };
  for (const RatedOption& p : first.options) {
    for (std::int64_t x = 1; x <= gpus; ++x) {
      FleetPlan f;
      f.engine = p.option, f.engines = x;
      consider(f);
      for (const RatedOption& d : first.options) {
        for (std::int64_t y = 1; y <= gpus; ++y) {
          f.decode = d.option, f.decode_engines = y;
          consider(f);
        }
      }
    }
  }
  return least;
}

TEST(ShareTable, HasThePoolsThatTakeTheFewestGpus) {
  Random random(23);
  int found = 0, apart = 0;
  for (int i = 0; i < 400; ++i) {
    PlanChoice plan;
    plan.mixed = false, plan.objective = PlanObjective::kGpus;
    plan.modes = {"aggregated", "disaggregated"};
    plan.spare = static_cast<std::int64_t>(random() % 2);
    plan.gpus = whole(random, 4, 16);
    PlannedLoad load;
    load.rate = between(random, 0.5, 9);
    Arithmetic judge;
    judge.crowding = between(random, 0, 0.3);
    const FirstStage first = options_of_pools(random, judge);
    ShareTable table(plan, load, first, judge);
    const double value = lazily(table, false, plan.gpus);
    EXPECT_EQ(value, least_by_hand(first, judge, load.rate, plan.spare, plan.gpus)) << i;
    if (value == HUGE_VAL) continue;
    ++found;
    plan.modes = {"aggregated"};
    ShareTable aggregated(plan, load, first, judge);
    apart += lazily(aggregated, false, plan.gpus) > value ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(found, 200);
  EXPECT_GT(apart, 50);  // pools are the better choice in some
}

// A size of two pools serves what its best split does, to 1 %, whatever was settled before it.
TEST(ShareTable, SettlesPoolsByTheirBestSplit) {
  Random random(24);
  int few = 0, all = 0;
  for (int i = 0; i < 200; ++i) {
    PlanChoice plan;
    plan.mixed = true, plan.objective = PlanObjective::kGpus;
    plan.modes = {"aggregated", "disaggregated"};
    plan.gpus = whole(random, 4, 14);
    PlannedLoad load;
    load.rate = between(random, 0.5, 9);
    Arithmetic judge;
    judge.crowding = between(random, 0, 0.3);
    const FirstStage first = options_of_pools(random, judge);
    ShareTable lazy(plan, load, first, judge);
    const double value = lazily(lazy, true, plan.gpus);
    few += judge.asked, judge.asked = 0;
    plan.exhaustive = true;
    ShareTable every(plan, load, first, judge);
    for (std::size_t k = 0; k < every.options(); ++k)
      for (std::int64_t n = 1; n <= every.sizes(k).sizes(); ++n) every.settle(k, n);
    all += judge.asked, judge.asked = 0;
    EXPECT_EQ(value, lazily(every, true, plan.gpus)) << i;
    for (std::size_t k = 0; k < every.options(); ++k) {
      for (std::int64_t n = 1; n <= every.sizes(k).sizes(); ++n) {
        double truth = 0;
        for (const PoolCounts& f : every.sizes(k).fleets(n))
          truth = std::max(truth, judge.capacity(every.sizes(k).plan(f)) / load.rate);
        EXPECT_LE(every.share(k, n), truth * (1 + 1e-9));
        EXPECT_GE(every.share(k, n) * 1.0101, std::min(1.0, truth));
        if (every.share(k, n) <= 0) continue;
        EXPECT_GE(judge.capacity(every.fleet(k, n)) / load.rate, every.share(k, n) * (1 - 1e-9));
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_LT(few, all / 2);
}

}  // namespace share_table_test
}  // namespace orrery
