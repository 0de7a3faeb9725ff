// Are the changes of plans those that a search without bounds finds? Are spare engines, days and
// robust plans those of their definitions?
#include "orrery/planner/answer/changes.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/day.h"
#include "orrery/planner/answer/more_memory.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/answer/robust.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/spares.h"
#include "orrery/planner/space/space.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace changes_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Scenario asked(const std::string& plan, double rate = 20,
               const std::string& slo = "{tpot: 30 ms, ttft: 1 s}") {
  return read_scenario(
             all_kinds(),
             parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: "
                                    "{}, requests: 150, isl: 512, osl: 64}}\nslo: {}\n"
                                    "plan: {{tp: [1, 2], pp: [1], {}}}",
                                    rate, slo, plan),
                        "plan"))
      .points.front();
}

// A question with its race.
struct Searched {
  explicit Searched(Scenario q, const Bundle& bundle = Bundle())
      : runner(bundle), question(std::move(q)) {
    load = planned_load(question.as<PlanQuestion>().service, notes);
    first = first_stage(runner, question, load, context);
    trials = std::make_unique<Trials>(runner, question, load, context);
    result = race(question, load, first, *trials);
  }
  std::vector<Change> changes() {
    return find_changes(question, load, first, result.best.at(0), *trials, runner);
  }
  std::string fleet() const { return result.best.at(0).fleet.name(); }
  // The figure by which the best plan is ranked.
  double value() const { return result.best.at(0).ranked; }

  Runner runner;
  Scenario question;
  std::vector<std::string> notes;
  PlannedLoad load;
  FirstStage first;
  SearchContext context;
  std::unique_ptr<Trials> trials;
  RaceResult result;
};

Scenario with_tpot(Scenario q, double ms) {
  auto& plan = q.ask<PlanQuestion>();
  plan.service.slo.tpot = milliseconds(ms);
  plan.choice.exhaustive = true, plan.choice.top = 1;
  return q;
}

const Change* named(const std::vector<Change>& all, const std::string& beginning) {
  for (const Change& c : all)
    if (c.what.starts_with(beginning)) return &c;
  return nullptr;
}

double number_of(const Change& c) {
  return std::stod(c.what.substr(c.what.rfind(' ', c.what.size() - 4)));
}

// A search without bounds and without what was simulated before finds the same plans on both sides
// of a flip.
TEST(Changes, FlipWhereASearchWithoutBoundsDoes) {
  Searched r(asked("gpu: [h100-sxm, l40s]"));
  const std::vector<Change> all = r.changes();
  const Change* below = named(all, "tpot below ");
  ASSERT_NE(below, nullptr);
  ASSERT_TRUE(below->best);
  const double own = number_of(*below);
  const double tighter = own * (1 - 1e-3), looser = own * (1 + 1e-3);
  EXPECT_EQ(Searched(with_tpot(r.question, looser)).fleet(), r.fleet());
  EXPECT_NE(Searched(with_tpot(r.question, tighter)).fleet(), r.fleet());
  EXPECT_GT(Searched(with_tpot(r.question, tighter)).value(), r.value());
  EXPECT_DOUBLE_EQ(Searched(with_tpot(r.question, tighter)).value(), below->best->ranked);

  const Change* from = named(all, "tpot from ");
  if (from == nullptr) {
    ASSERT_NE(named(all, "tpot up to 60"), nullptr);
    EXPECT_DOUBLE_EQ(Searched(with_tpot(r.question, 60)).value(), r.value());
    return;
  }
  const double at = number_of(*from);
  EXPECT_GE(at, 30);
  EXPECT_DOUBLE_EQ(Searched(with_tpot(r.question, at * (1 - 1e-3))).value(), r.value());
  EXPECT_DOUBLE_EQ(Searched(with_tpot(r.question, at * (1 + 1e-3))).value(), from->best->ranked);
}

TEST(Changes, SayAtWhichPriceAnotherGpuIsAsGood) {
  Searched r(asked("gpu: [h100-sxm], what_if_gpu: [l40s]"));
  const std::vector<Change> all = r.changes();
  const Change* other = named(all, "l40s alone");
  ASSERT_NE(other, nullptr);
  ASSERT_TRUE(other->best);
  const double price = r.value() / other->best->ranked;
  EXPECT_EQ(other->price, fmt::format("better below {:.3g} USD for a GPU-hour", price));
  // The fewest GPUs of the other type, found by asking for them.
  Searched alone(asked("gpu: [l40s], objective: gpus"));
  EXPECT_EQ(other->best->fleet.name(), alone.result.best.at(0).fleet.name());
}

TEST(Changes, OfMoreGpusServeMore) {
  Searched r(asked("gpu: [h100-sxm], objective: throughput, gpus: 2"));
  const std::vector<Change> all = r.changes();
  const Change* more = named(all, "1 more GPU");
  ASSERT_NE(more, nullptr);
  EXPECT_GT(more->gain.value(), 0.2);  // three engines in the place of two
  EXPECT_LT(more->gain.value(), 0.8);
  ASSERT_NE(named(all, "tpot 27 ms"), nullptr);
  EXPECT_LE(named(all, "tpot 27 ms")->gain.value(), 0);
}

// Long answers on a small GPU fill its KV cache: with a tenth more memory fewer GPUs are enough, as
// a plan by that catalog says.
TEST(Changes, SayWhatAGbIsWorth) {
  const Scenario q =
      read_scenario(all_kinds(),
                    parse_yaml("model: llama-3-8b\nload: {rate: 2, requests: 120, isl: 256, osl: "
                               "1000}\nslo: {tpot: 150 ms}\nplan: {gpu: [l4], pp: [1], tp: [1], "
                               "objective: gpus}",
                               "plan"))
          .points.front();
  Searched r(q);
  const std::vector<Change> all = r.changes();
  const Change* more = named(all, "3 GB more memory on each l4");
  ASSERT_NE(more, nullptr);
  EXPECT_GT(more->gain.value(), 0);
  Searched larger(q, with_more_memory(Bundle(), "l4", Bytes(3e9)));
  EXPECT_EQ(more->best->fleet.name(), larger.fleet());
  EXPECT_EQ(more->price,
            fmt::format("{:.3g} GPUs for each GB",
                        (r.result.best.at(0).value - larger.result.best.at(0).value) / 3));
}

TEST(Changes, AreNotesOfAPlan) {
  Runner runner{Bundle()};
  const Plans plans = find_plans(runner, asked("gpu: [h100-sxm, l40s], explain: true"));
  EXPECT_FALSE(plans.changes.empty());
  EXPECT_THAT(plans.answer.points.at(0).notes, testing::Contains(StartsWith("with tpot below ")));
}

// Spare engines by all outcomes of each engine.
TEST(Spares, AreTheFewestThatAreEnough) {
  const auto by_outcomes = [](int n, int k, double u) {
    double share = 0;
    for (int mask = 0; mask < 1 << (n + k); ++mask) {
      const int down = __builtin_popcount(static_cast<unsigned>(mask));
      if (down <= k) share += std::pow(u, down) * std::pow(1 - u, n + k - down);
    }
    return share;
  };
  for (const double u : {0.5, 0.1, 0.003})
    for (int n = 1; n < 6; ++n)
      for (int k = 0; k < 4; ++k)
        EXPECT_NEAR(share_of_time(n, k, u), by_outcomes(n, k, u), 1e-12) << n << k << u;
  EXPECT_EQ(share_of_time(3, 0, 0), 1);
  EngineOption engine;
  engine.layout.tp = 8;
  // 8 GPUs fail 8 x 4.7359e-4 times a day; half a day each: 1.8944e-3 / 1.0018944.
  EXPECT_NEAR(down_share(8, Seconds(43200)), 1.8908e-3, 1e-7);
  PlanChoice plan;
  plan.repair = Seconds(43200);
  EXPECT_EQ(spares(plan, engine, 10), 0);
  plan.availability = 98;  // 10 of 10 engines: 98.1 % of the time
  EXPECT_EQ(spares(plan, engine, 10), 0);
  plan.availability = 99;
  EXPECT_EQ(spares(plan, engine, 10), 1);
  plan.availability = 99.99;  // 10 of 11: 99.98 %
  EXPECT_EQ(spares(plan, engine, 10), 2);
}

TEST(Spares, ArePartOfAPlan) {
  Runner runner{Bundle()};
  const Plans bare = find_plans(runner, asked("gpu: [h100-sxm]"));
  const Plans safe =
      find_plans(runner, asked("gpu: [h100-sxm], availability: 99.999, repair: 4 h"));
  EXPECT_EQ(safe.fleets.at(0).engines, bare.fleets.at(0).engines + safe.fleets.at(0).spare);
  EXPECT_GE(safe.fleets.at(0).spare, 1);
}

// The fewest engine hours of all ways to run engines over a day of `parts`, by trying them all.
double best_of_all(const std::vector<std::int64_t>& needed, double part, double start) {
  const int n = static_cast<int>(needed.size());
  double sum = 0;
  for (std::int64_t number = 1; number <= 4; ++number) {
    double best = 1e9;
    for (int on = 0; on < 1 << n; ++on) {
      bool enough = true;
      double hours = 0;
      for (int i = 0; i < n; ++i) {
        const bool runs = (on >> i & 1) != 0, ran = (on >> ((i + n - 1) % n) & 1) != 0;
        enough = enough && (runs || needed[static_cast<std::size_t>(i)] < number);
        if (runs) hours += part + (ran ? 0 : start);
      }
      if (enough) best = std::min(best, hours);
    }
    sum += best;
  }
  return sum;
}

TEST(Days, HaveTheFewestGpuHours) {
  for (const std::vector<std::int64_t>& needed : {std::vector<std::int64_t>{1, 1, 2, 4, 4, 3, 4, 1},
                                                  {3, 1, 3, 1, 3, 0, 0, 2},
                                                  {2, 2, 2, 2},
                                                  {0, 0, 4, 0, 0, 0, 1, 0}}) {
    for (const double start : {0.0, 0.5, 4.0, 7.0}) {
      const DaySchedule day = day_schedule(needed, 2, Seconds(start * 3600));
      const double part = 24 / static_cast<double>(needed.size());
      EXPECT_NEAR(day.gpu_hours, 2 * best_of_all(needed, part, start), 1e-9) << start;
      EXPECT_LE(day.perfect, day.gpu_hours);
      EXPECT_LE(day.gpu_hours, day.peak + 1e-9);
    }
  }
}

TEST(Days, OfAPlanHaveFewerEnginesAtNight) {
  Runner runner{Bundle()};
  const Scenario q = asked("gpu: [l40s], day: [2, 20, 2, 0]");
  const Plans plans = find_plans(runner, q);
  EXPECT_DOUBLE_EQ(plans.rates.at(0), 20);
  EXPECT_THAT(plans.answer.points.at(0).notes, testing::Contains(StartsWith("a day: engines ")));
  EXPECT_THROW(find_plans(runner, asked("gpu: [l40s], day: [0, 0]")), InputError);
}

TEST(RobustPlans, HaveTheRegretOfTheirDefinition) {
  Searched r(asked("gpu: [h100-sxm, l40s], robust: [\"load:50%\"], top: 2"));
  const std::vector<RobustPlan> plans =
      robust_plans(r.runner, r.question, r.result.best, r.context);
  ASSERT_FALSE(plans.empty());
  for (const RobustPlan& p : plans) EXPECT_GE(p.regret, plans.front().regret);
  // By asking each case: the best of all options, and the best of the option alone.
  double worst = 0;
  for (const double rate : {10.0, 20.0, 30.0}) {
    const Searched all(asked("gpu: [h100-sxm, l40s], exhaustive: true, top: 20", rate));
    double own = 0;
    for (const RacedFleet& raced : all.result.best)
      if (raced.fleet.engine.name() == plans.front().fleet.engine.name()) own = raced.ranked;
    ASSERT_GT(own, 0);
    worst = std::max(worst, own / all.value() - 1);
  }
  EXPECT_NEAR(plans.front().regret, worst, 1e-9);
}

TEST(Plans, RefuseKeysWithoutEffect) {
  for (const char* idle : {"repair: 4 h", "startup: 1 h", "what_if_gpu: [l40s]"}) {
    Runner runner{Bundle()};
    EXPECT_THROW(find_plans(runner, asked(fmt::format("gpu: [h100-sxm], {}", idle))), InputError)
        << idle;
  }
}

TEST(RobustPlans, RefuseWhatTheyCannotRead) {
  for (const char* bad : {"load", "load:20", "load:120%", "weather:3%"}) {
    Searched r(asked(fmt::format("gpu: [h100-sxm], robust: [\"{}\"]", bad)));
    EXPECT_THROW(robust_plans(r.runner, r.question, r.result.best, r.context), InputError) << bad;
  }
}

TEST(EngineOptions, HavePowerLimitsThatABoardCanHave) {
  Runner runner{Bundle()};
  const Scenario q = asked("gpu: [h100-sxm, l40s], power_limits: [500 W, 300 W]");
  std::vector<std::string> names;
  for (const EngineOption& o :
       engine_options(q, runner.catalog(), runner.architecture("llama-3-8b")))
    if (o.layout.tp == 1) names.push_back(o.name());
  EXPECT_THAT(names, testing::ElementsAre("1 h100-sxm, vllm, checkpoint, tp 1",
                                          "1 h100-sxm, vllm, checkpoint, tp 1, 500 W",
                                          "1 h100-sxm, vllm, checkpoint, tp 1, 300 W",
                                          "1 l40s, vllm, checkpoint, tp 1",
                                          "1 l40s, vllm, checkpoint, tp 1, 300 W"));
  EXPECT_THROW(engine_options(asked("gpu: [h100-sxm], power_limits: [\"500\"]"), runner.catalog(),
                              runner.architecture("llama-3-8b")),
               InputError);
}

TEST(EngineOptions, HaveClocksThatABoardCanBeLockedTo) {
  Runner runner{Bundle()};
  // A clock above an H100's boost clock (1980 MHz) is none of it, and is one of an RTX 4090. No GPU
  // of the plan takes 3 GHz, or 200 MHz, which is below 0.15 of the H100's boost clock.
  const Scenario q =
      asked("gpu: [h100-sxm, rtx-4090], power_limits: [500 W], clocks: [1410 MHz, 2500 MHz]");
  std::vector<std::string> names;
  for (const EngineOption& o :
       engine_options(q, runner.catalog(), runner.architecture("llama-3-8b"))) {
    if (o.layout.tp > 1 || o.gpu.gpu != "h100-sxm") continue;
    names.push_back(o.name());
    EXPECT_EQ(o.asked(q).hardware.clock, o.boards.clock);
  }
  EXPECT_THAT(names, testing::ElementsAre("1 h100-sxm, vllm, checkpoint, tp 1",
                                          "1 h100-sxm, vllm, checkpoint, tp 1, 1410 MHz",
                                          "1 h100-sxm, vllm, checkpoint, tp 1, 500 W",
                                          "1 h100-sxm, vllm, checkpoint, tp 1, 500 W, 1410 MHz"));
  for (const char* clock : {"fast", "3 GHz", "200 MHz"}) {
    const std::string list = std::string("gpu: [h100-sxm], clocks: [") + clock + "]";
    EXPECT_THROW(engine_options(asked(list), runner.catalog(), runner.architecture("llama-3-8b")),
                 InputError)
        << clock;
  }
}

// The plan of the least energy takes a lower clock where that saves energy within the limits, and
// its engines are started with that clock.
TEST(Plans, TakeAClockForEnergy) {
  Runner runner{Bundle()};
  const Plans plain = find_plans(runner, asked("gpu: [h100-sxm], objective: energy"));
  const Plans clocked =
      find_plans(runner, asked("gpu: [h100-sxm], objective: energy, clocks: [1410 MHz]"));
  const Point& best = clocked.answer.points.at(0);
  EXPECT_LT(best.find("energy_per_request")->value,
            plain.answer.points.at(0).find("energy_per_request")->value);
  EXPECT_EQ(best.at.value("clock", 0.0), 1410);
  EXPECT_EQ(best.meets_slo, std::optional(true));
}

// A lower power limit never serves more, and is chosen where energy is what counts.
TEST(Plans, TakeAPowerLimitForEnergy) {
  Runner runner{Bundle()};
  const Plans plain = find_plans(runner, asked("gpu: [h100-sxm], objective: energy"));
  const Plans limited =
      find_plans(runner, asked("gpu: [h100-sxm], objective: energy, power_limits: [400 W]"));
  const auto energy = [](const Plans& p) {
    return p.answer.points.at(0).find("energy_per_request")->value;
  };
  EXPECT_LE(energy(limited), energy(plain) * (1 + 1e-9));
}

TEST(EngineOptions, OfExpertsSpanNodesWhereAsked) {
  Runner runner{Bundle()};
  const Scenario q =
      read_scenario(all_kinds(),
                    parse_yaml("model: deepseek-v3\nload: {rate: 1}\nslo: {tpot: 1 s}\nparallel: "
                               "{ep_num_redundant_experts: 32}\nplan: {gpu: [h100-sxm], tp: [8], "
                               "pp: [2], engine_gpus: 72, dp: [16, 72, 144]}",
                               "plan"))
          .points.front();
  std::vector<std::string> names;
  for (const EngineOption& o :
       engine_options(q, runner.catalog(), runner.architecture("deepseek-v3")))
    names.push_back(o.name());
  EXPECT_THAT(names, testing::ElementsAre("16 h100-sxm, vllm, checkpoint, tp 8 pp 2",
                                          "16 h100-sxm, vllm, checkpoint, tp 8 pp 2 ep 8",
                                          "16 h100-sxm, vllm, checkpoint, tp 1 dp 16 ep 16",
                                          "72 h100-sxm, vllm, checkpoint, tp 1 dp 72 ep 72"));
  EXPECT_EQ(engine_options(q, runner.catalog(), runner.architecture("deepseek-v3"))
                .back()
                .asked(q)
                .parallel.experts.redundant,
            32);
  EXPECT_THROW(
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\nload: {rate: 1}\nslo: {tpot: 1 "
                                            "s}\nparallel: {tp: 2}\nplan: {gpu: [h100-sxm]}",
                                            "plan")),
      InputError);
}

TEST(Plans, RefuseALoadThatNoContextHolds) {
  Runner runner{Bundle()};
  const Scenario q =
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\nload: {rate: 1, isl: 9000}\nslo: "
                                            "{tpot: 1 s}\nplan: {gpu: [h100-sxm]}",
                                            "plan"))
          .points.front();
  try {
    find_plans(runner, q);
    FAIL();
  } catch (const Infeasible& e) {
    EXPECT_THAT(e.what(), HasSubstr("a request of 9128 tokens, and llama-3-8b takes 8192"));
  }
}

}  // namespace changes_test
}  // namespace orrery
