// Plans that divide GPUs: is the integer program solved exactly, and are the plans of real
// questions right?
#include "orrery/planner/answer/divided_planner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/emit/plan_files.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/search/stock_program.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "tests/unit/planner/divided_question.h"

namespace orrery {
namespace divided_planner_test {

using ::testing::HasSubstr;
using Random = std::mt19937_64;

double between(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() % 1'000'003) / 1'000'003;
}
std::int64_t whole(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

// ---- the program ----

StockProgram random_program(Random& random) {
  StockProgram p;
  p.mixed = random() % 3 != 0;
  const std::size_t types = 1 + random() % 2;
  std::vector<double> price;
  for (std::size_t t = 0; t < types; ++t) {
    p.stocks.push_back(whole(random, 2, 9));
    price.push_back(between(random, 1, 4));
  }
  if (random() % 4 == 0) p.gpus = whole(random, 3, 12);
  if (random() % 4 == 0) p.most_money = between(random, 4, 25);
  const std::size_t models = 1 + random() % 3;
  for (std::size_t m = 0; m < models; ++m) {
    std::vector<StockOption>& options = p.models.emplace_back();
    const std::size_t kinds = 1 + random() % 3;
    for (std::size_t k = 0; k < kinds; ++k) {
      StockOption o;
      const std::size_t type = random() % (types + 1);  // the last: without a stock
      if (type < types) o.stock = type;
      const std::int64_t size = whole(random, 1, 3), spare = whole(random, 0, 4) / 4;
      const double each = between(random, 0.2, 0.8), crowding = between(random, 0, 0.4);
      const double hour = type < types ? price[type] : between(random, 1, 5);
      for (std::int64_t n = 1; n <= 4; ++n) {
        const auto engines = static_cast<double>(n);
        o.serves.push_back(std::min(1.0, engines * each * (1 - crowding / (engines + 1))));
        o.gpus.push_back((n + spare) * size);
        o.money.push_back(hour * static_cast<double>(o.gpus.back()));
        o.value.push_back(p.most_money > 0 ? static_cast<double>(o.gpus.back()) : o.money.back());
      }
      options.push_back(o);
    }
  }
  return p;
}

// Looks at all numbers of engines of all options.
class BruteForce {
 public:
  explicit BruteForce(const StockProgram& p) : p_(p), used_(p.stocks.size(), 0) {}
  double least() {
    look(0, 0, 0, 0);
    return best_;
  }

 private:
  void look(std::size_t m, std::size_t k, double served, int kinds) {
    for (std::size_t s = 0; s < used_.size(); ++s)
      if (used_[s] > p_.stocks[s]) return;
    if ((p_.gpus > 0 && gpus_ > p_.gpus) || (p_.most_money > 0 && money_ > p_.most_money)) return;
    if (m == p_.models.size()) {
      best_ = std::min(best_, value_);
      return;
    }
    if (k == p_.models[m].size()) {
      if (served >= 1 - 1e-9) look(m + 1, 0, 0, 0);
      return;
    }
    look(m, k + 1, served, kinds);
    if (!p_.mixed && kinds > 0) return;
    const StockOption& o = p_.models[m][k];
    for (std::size_t n = 0; n < o.serves.size(); ++n) {
      if (o.stock) used_[*o.stock] += o.gpus[n];
      gpus_ += o.gpus[n], money_ += o.money[n], value_ += o.value[n];
      look(m, k + 1, served + o.serves[n], kinds + 1);
      if (o.stock) used_[*o.stock] -= o.gpus[n];
      gpus_ -= o.gpus[n], money_ -= o.money[n], value_ -= o.value[n];
    }
  }

  const StockProgram& p_;
  std::vector<std::int64_t> used_;
  std::int64_t gpus_ = 0;
  double money_ = 0, value_ = 0, best_ = HUGE_VAL;
};

// The solution keeps every constraint, and has the value that is stated.
void expect_sound(const StockProgram& p, const StockSolution& s, int i) {
  std::vector<std::int64_t> used(p.stocks.size(), 0);
  std::vector<double> served(p.models.size(), 0);
  std::vector<int> kinds(p.models.size(), 0);
  std::int64_t gpus = 0;
  double value = 0, money = 0;
  for (const StockPart& part : s.parts) {
    const StockOption& o = p.models[part.model][part.option];
    const auto n = static_cast<std::size_t>(part.engines - 1);
    if (o.stock) used[*o.stock] += o.gpus[n];
    gpus += o.gpus[n], value += o.value[n], money += o.money[n];
    served[part.model] += o.serves[n], ++kinds[part.model];
  }
  for (std::size_t t = 0; t < used.size(); ++t) EXPECT_LE(used[t], p.stocks[t]) << i;
  for (std::size_t m = 0; m < served.size(); ++m) {
    EXPECT_GE(served[m], 1 - 1e-9) << i;
    EXPECT_LE(kinds[m], p.mixed ? 99 : 1) << i;
  }
  EXPECT_TRUE(p.gpus == 0 || gpus <= p.gpus) << i;
  EXPECT_TRUE(p.most_money <= 0 || money <= p.most_money + 1e-9) << i;
  EXPECT_NEAR(value, s.value, 1e-9) << i;
}

TEST(StockProgram, IsSolvedAsLookingAtEverythingSolvesIt) {
  Random random(21);
  int solved = 0;
  for (int i = 0; i < 5000; ++i) {
    const StockProgram p = random_program(random);
    const double least = BruteForce(p).least();
    const auto solution = solve(p);
    ASSERT_EQ(solution.has_value(), least < HUGE_VAL) << i;
    if (!solution) continue;
    ++solved;
    EXPECT_NEAR(solution->value, least, 1e-9) << i;
    expect_sound(p, *solution, i);
    if (HasFailure()) return;
  }
  EXPECT_GT(solved, 2000);
}

// 10 units of load; engines of 3 units for 2 USD, of which there are two, and of 1 unit for 1 USD.
TEST(StockProgram, TakesBothKindsWhereTheStockOfTheCheapOneEnds) {
  StockProgram p;
  p.stocks = {2};
  StockOption cheap, dear;
  cheap.stock = 0;
  for (int n = 1; n <= 9; ++n) {
    cheap.serves.push_back(std::min(1.0, 0.3 * n));
    dear.serves.push_back(std::min(1.0, 0.1 * n));
    cheap.gpus.push_back(n), dear.gpus.push_back(n);
    cheap.value.push_back(2.0 * n), dear.value.push_back(1.0 * n);
  }
  cheap.money = cheap.value, dear.money = dear.value;
  p.models = {{cheap, dear}};
  const auto both = solve(p);
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->value, 2 * 2 + 4 * 1, 1e-12);
  EXPECT_EQ(both->parts, (std::vector<StockPart>{{0, 0, 2}, {0, 1, 4}}));
  p.mixed = false;
  EXPECT_FALSE(solve(p));  // neither serves all of it alone
  p.stocks = {4};
  EXPECT_NEAR(solve(p)->value, 8, 1e-12);
}

// ---- real questions ----

// Long prompts and a tight limit between tokens: prefill disturbs the decodes beside it.
TEST(DividedPlan, HasPoolsForPrefillAndDecode) {
  const Scenario question =
      read_scenario(all_kinds(),
                    parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: "
                                           "8, requests: 120, isl: 6000, osl: 40}}\nslo: {{tpot: "
                                           "11 ms, ttft: 1 s}}\nplan: {{gpu: [\"h100-sxm:24\"], "
                                           "pp: [1], tp: [1], modes: [disaggregated]{}}}",
                                           kSmallBeside),
                               "plan"))
          .points.front();
  const Plans plans = plans_of(question);
  ASSERT_EQ(plans.fleets.size(), 2U);
  std::int64_t used = 0;
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const FleetPlan& f = plans.fleets[i];
    ASSERT_TRUE(f.decode.has_value()) << f.name();
    EXPECT_GE(std::min(f.engines, f.decode_engines), 1);
    EXPECT_TRUE(plans.answer.points[i].meets_slo.value_or(false));
    used += f.gpus();
  }
  EXPECT_LE(used, 24);
  EXPECT_THAT(plans.answer.points[0].notes,
              testing::Contains(HasSubstr(fmt::format("all fleets: {} of 24 h100-sxm", used))));
  // The first model has the pools that it has alone.
  Scenario alone = question;
  alone.ask<PlanQuestion>().choice.others.clear();
  alone.ask<PlanQuestion>().choice.top = 1;
  EXPECT_EQ(plans_of(alone).fleets.at(0).gpus(), plans.fleets[0].gpus());
  // Its files name both pools.
  bool both = false;
  for (const auto& [path, text] : plan_files(Bundle(), plans))
    both |= path.find("scenario") != path.npos && text.find("disaggregation") != text.npos;
  EXPECT_TRUE(both);
}

TEST(DividedPlan, OfOneModelAndOneKindIsTheBestPlan) {
  const Plans whole = plans_of(divided_question("h100-sxm, l40s", ""));
  // A second model elsewhere leaves the first as it was.
  const Plans both = plans_of(divided_question("h100-sxm, l40s", kSmallBeside));
  ASSERT_EQ(both.fleets.size(), 2U);
  EXPECT_EQ(both.fleets[0].name(), whole.fleets[0].name());
  EXPECT_EQ(both.answer.points[1].at.at("model"), "llama-2-7b");
}

TEST(DividedPlan, KeepsTheLimitsTheStockAndTheLoad) {
  // So few H100 that the first model needs other GPUs, too.
  const Plans whole = plans_of(divided_question("h100-sxm", ", objective: gpus, tp: [1]", "90"));
  const std::int64_t need = whole.fleets.at(0).gpus();
  ASSERT_GT(need, 1);
  const std::string gpus = fmt::format("\"h100-sxm:{}\", \"l40s:40\"", need - 1);
  const Plans plans =
      plans_of(divided_question(gpus, std::string(", mixed: true") + kSmallBeside, "90"));
  std::int64_t h100 = 0;
  double rate = 0;
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const FleetPlan& f = plans.fleets[i];
    if (f.engine.gpu.gpu == "h100-sxm") h100 += f.gpus();
    if (plans.questions[i].model == "llama-3-8b") rate += plans.rates[i];
    const Point& p = plans.answer.points[i];
    EXPECT_TRUE(p.meets_slo.value_or(false));
    EXPECT_GE(p.find("headroom")->value, 0);
  }
  EXPECT_LE(h100, need - 1);
  EXPECT_NEAR(rate, 90, 1e-9);
  EXPECT_THAT(plans.answer.points[0].notes, testing::Contains(HasSubstr("all fleets: ")));
}

// Simulating every number of engines first changes nothing.
TEST(DividedPlan, IsWhatSimulatingEverythingGives) {
  const auto names = [](const std::string& plan) {
    const Plans plans = plans_of(divided_question("\"h100-sxm:1\", \"l40s:5\"", plan, "40"));
    std::vector<std::string> out;
    for (std::size_t i = 0; i < plans.fleets.size(); ++i)
      out.push_back(fmt::format("{} at {:.6f}", plans.fleets[i].name(), plans.rates[i]));
    return out;
  };
  EXPECT_EQ(names(", tp: [1], mixed: true"), names(", tp: [1], mixed: true, exhaustive: true"));
}

TEST(DividedPlan, WritesTheQuestionOfEachFleet) {
  const Scenario question = divided_question("h100-sxm", kSmallBeside);
  const Plans plans = plans_of(question);
  int seen = 0;
  for (const auto& [path, text] : plan_files(Bundle(), plans)) {
    if (!path.ends_with("scenario.json")) continue;
    const Scenario back = read_scenario(all_kinds(), parse_yaml(text, path)).points.front();
    EXPECT_EQ(back.model, seen == 0 ? "llama-3-8b" : "llama-2-7b");
    ++seen;
  }
  EXPECT_EQ(seen, 2);
  // And its own question reads back.
  const auto json = to_json(question);
  EXPECT_EQ(to_json(read_scenario(all_kinds(), parse_yaml(json.dump(), "back")).points.front()),
            json);
}

std::string refusal(const Scenario& question) {
  try {
    plans_of(question);
  } catch (const Infeasible& e) {
    return e.what();
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(DividedPlan, RefusesWhatCannotBe) {
  EXPECT_THAT(refusal(divided_question("\"h100-sxm:1\"", kSmallBeside)),
              HasSubstr("all of them need more GPUs"));
  EXPECT_THAT(refusal(divided_question("\"h100-sxm:1\"", kSmallBeside, "900")),
              HasSubstr("no fleets keep the limits of llama-3-8b"));
  EXPECT_THAT(refusal(divided_question("h100-sxm", ", mixed: true, objective: energy")),
              HasSubstr("plan.objective other than cost and gpus"));
  EXPECT_THAT(refusal(divided_question("h100-sxm", ", mixed: true, day: [1, 2]")),
              HasSubstr("plan.day"));
  EXPECT_THROW(
      divided_question("h100-sxm", ", others: {small: {model: llama-2-7b, load: {rate: 9}}}"),
      InputError);  // no limits
  EXPECT_THROW(
      divided_question(
          "h100-sxm",
          ", others: {a: {model: llama-2-7b, load: {rate: 9}, slo: {tpot: 1 s}, gpu: l40s}}"),
      InputError);
}

// An engine that does not run on a GPU of the list is left out, with its reason.
TEST(Plans, LeaveOutEnginesThatDoNotRunOnAGpu) {
  const Scenario question = divided_question("mi300x, h100-sxm", ", engines: [trtllm, vllm]", "6");
  const Plans plans = plans_of(question);
  EXPECT_THAT(plans.answer.points[0].notes,
              testing::Contains(HasSubstr("2: the engine does not run on GPUs of this vendor")));
  EXPECT_THAT(refusal(divided_question("mi300x", ", engines: [trtllm]")),
              HasSubstr("engines that do:"));
}

// ---- classes of requests with limits of their own ----

TEST(Plans, KeepTheLimitsOfEveryClass) {
  const auto with = [](const std::string& slo) {
    return read_scenario(
               all_kinds(),
               parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: 12, "
                                      "requests: 300, isl: \"uniform(64, 4000)\", osl: 64}}\nslo: "
                                      "{}\nplan: {{gpu: [l40s], tp: [1], pp: [1], objective: gpus, "
                                      "top: 1}}",
                                      slo),
                          "plan"))
        .points.front();
  };
  const auto classes = [](double ms) {
    return fmt::format(
        "{{classes: {{short: {{isl: 1000, ttft: {} ms, percentile: 90}}, long: "
        "{{ttft: 6 s}}}}}}",
        ms);
  };
  const Plans loose = plans_of(with(classes(6000)));
  const Point& before = loose.answer.points[0];
  EXPECT_TRUE(before.meets_slo.value_or(false));
  EXPECT_LE(before.find("ttft_class_long_p99")->value, 6000);
  EXPECT_EQ(before.find("tpot_class_short"), nullptr);
  // A limit that short prompts miss there needs more GPUs, and is kept by them.
  const double limit = 0.8 * before.find("ttft_class_short_p90")->value;
  const Plans tight = plans_of(with(classes(limit)));
  EXPECT_GT(tight.fleets[0].gpus(), loose.fleets[0].gpus());
  EXPECT_LE(tight.answer.points[0].find("ttft_class_short_p90")->value, limit);
  EXPECT_THAT(tight.answer.points[0].notes,
              testing::Contains(HasSubstr("closest limit: ttft_class_short_p90")));
  EXPECT_THROW(with("{classes: {short: {isl: 1000}}}"), InputError);  // no limit
}

}  // namespace divided_planner_test
}  // namespace orrery
