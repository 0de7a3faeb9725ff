// Laws of power. Of steps: a board never draws more than its limit, idle time costs idle power, and
// more work in the same time never costs less. Of whole answers under a limit or a clock: their
// breakdown adds up to their time and their energy, the optimum that is found costs no more than
// the full clock, and a lower cap never costs more energy than its power over the longer time.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace power_law_test {

const StepPowerConstants& constants() {
  static const StepPowerConstants c = read_step_power(Bundle());
  return c;
}

Gpu any_board() {
  static const Catalog catalog;
  static const std::vector<std::string> ids = catalog.gpu_ids();
  return *rc::gen::suchThat(
      rc::gen::map(rc::gen::elementOf(ids), [](const std::string& id) { return catalog.gpu(id); }),
      [](const Gpu& gpu) { return gpu.power.has_value(); });
}

std::string any_engine() {
  return *rc::gen::element<std::string>("vllm", "vllm-2025", "sglang", "transformers", "");
}

Seconds any_part() { return seconds(*rc::gen::inRange(0, 1001) / 1000.0); }

// A second of work, whose kernels and collectives do not run at the same time.
StepWork any_work() {
  const Seconds kernels = any_part();
  return {seconds(1), kernels, (seconds(1) - kernels) * 0.5, any_part(), any_part()};
}

double watts(const Gpu& gpu, const std::string& engine, const StepWork& work) {
  return step_power(constants(), gpu, engine, work).value.value();
}

RC_GTEST_PROP(PowerLaw, NeverExceedsTheLimitNorFallsBelowTheAwakeBoard, ()) {
  const Gpu gpu = any_board();
  const double power = watts(gpu, any_engine(), any_work());
  RC_ASSERT(power <= gpu.power->value());
  const double awake = constants().board(gpu.id).awake * gpu.power->value();
  // The softened minimum is below the awake power by less than a millionth.
  RC_ASSERT(power >= awake * (1 - 1e-4));
}

RC_GTEST_PROP(PowerLaw, MoreWorkInTheSameTimeNeverCostsLess, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  StepWork more = work;
  Seconds* const part = *rc::gen::element(&more.kernels, &more.links, &more.compute, &more.memory);
  *part = std::min(seconds(1), *part + any_part());
  RC_ASSERT(watts(gpu, engine, more) >= watts(gpu, engine, work));
}

RC_GTEST_PROP(PowerLaw, ThePartsOfAPowerAddUpToIt, ()) {
  const Gpu gpu = any_board();
  const StepWork work = any_work();
  const PowerParts parts =
      power_parts(constants(), constants().board(gpu.id), constants().engine("vllm"), work);
  const double all = watts(gpu, "vllm", work) / gpu.power->value();
  RC_ASSERT(std::abs(parts.sum() - all) <= 1e-12);
  for (const double part : {parts.awake, parts.kernels, parts.compute, parts.memory, parts.links})
    RC_ASSERT(part >= 0);
  RC_ASSERT((parts.links > 0) == (work.links > Seconds(0)));
}

RC_GTEST_PROP(PowerLaw, TheSameWorkInMoreTimeCostsLessPower, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  const Seconds longer = seconds(1 + *rc::gen::inRange(0, 1000) / 100.0);
  RC_ASSERT(watts(gpu, engine, work.stretched(longer, 0)) <= watts(gpu, engine, work));
}

RC_GTEST_PROP(PowerLaw, TheMeanOfRepeatedStepsIsTheSteps, ()) {
  const Gpu gpu = any_board();
  const std::string engine = any_engine();
  const StepWork work = any_work();
  const double one = watts(gpu, engine, work);
  RC_ASSERT(std::abs(watts(gpu, engine, work.scaled(1 + *rc::gen::inRange(0, 1000))) / one - 1) <
            1e-12);
}

Gpu clocked_board() {
  return *rc::gen::suchThat(rc::gen::exec(any_board),
                            [](const Gpu& gpu) { return gpu.boost_clock.has_value(); });
}

// Power and time of a work under knobs; nothing where the board cannot hold the limit.
struct Governed {
  double power = 0, time = 0;  // W, s
};
std::optional<Governed> governed(const Gpu& gpu, const PowerKnobs& knobs, const StepWork& work) {
  try {
    const BoardClock c = step_clock(constants(), gpu, "vllm", knobs, work);
    const ClockedSteps steps[] = {{work, slowed(work, c.slowdown).time, c.power}};
    const double power = clocked_step_power(constants(), gpu, "vllm", knobs, steps).value.value();
    return Governed{power, steps[0].time.value()};
  } catch (const Infeasible&) {
    return std::nullopt;
  }
}

Watts any_limit(const Gpu& gpu) { return *gpu.power * (*rc::gen::inRange(100, 1001) / 1000.0); }

RC_GTEST_PROP(PowerLaw, ALowerLimitNeitherSpeedsUpNorDrawsMoreAndIsKept, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const Watts high = any_limit(gpu), low = high * (*rc::gen::inRange(300, 1001) / 1000.0);
  const auto more = governed(gpu, {high, {}}, work), less = governed(gpu, {low, {}}, work);
  if (!less) return;
  RC_ASSERT(more.has_value());
  constexpr double kRounding = 1e-6;
  RC_ASSERT(less->power <= low.value());
  RC_ASSERT(less->power <= more->power * (1 + kRounding));
  RC_ASSERT(less->time >= more->time * (1 - kRounding));
  // Never less energy than the board awake for as long as the work takes.
  const double awake = constants().board(gpu.id).awake * gpu.power->value();
  RC_ASSERT(less->power >= awake * (1 - 1e-3));
}

RC_GTEST_PROP(PowerLaw, ALowerClockNeitherSpeedsUpNorDrawsMore, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const Hertz high = *gpu.boost_clock * (*rc::gen::inRange(300, 1001) / 1000.0);
  const Hertz low = high * (*rc::gen::inRange(500, 1001) / 1000.0);
  const auto more = governed(gpu, {{}, high}, work), less = governed(gpu, {{}, low}, work);
  RC_ASSERT(less->power <= more->power * (1 + 1e-9));
  RC_ASSERT(less->time >= more->time * (1 - 1e-9));
}

RC_GTEST_PROP(PowerLaw, TheDataSheetsLimitAndTheBoostClockChangeNothing, ()) {
  const Gpu gpu = clocked_board();
  const StepWork work = any_work();
  const auto same = governed(gpu, {gpu.power, gpu.boost_clock}, work);
  RC_ASSERT(same->time == work.time.value());
  RC_ASSERT(same->power == watts(gpu, "vllm", work));
}

Answer answer_of(const std::string& question) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.steps = true;
  return runner.run(read_scenario(all_kinds(), parse_yaml(question, "power.yaml")), options);
}

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

double seconds_of(const Point& p, std::string_view phase) {
  double sum = 0;
  for (const KernelRow& row : p.kernels)
    if (row.phase == phase) sum += row.time.value.value();
  return sum;
}

// The knobs of the laws below: none, a limit that binds, a lower clock, and both.
const std::vector<std::string> kKnobs = {"", ", power_limit: 400 W", ", clock: 1200 MHz",
                                         ", power_limit: 450 W, clock: 1500 MHz"};
constexpr double kExact = 1e-6;

// The kinds of kernels share out what the law ascribes to kernels, arithmetic and memory, and leave
// the other rows as they are: both breakdowns have the same sum.
void expect_same_sum_by_kernel(const Point& p, std::string_view largest, const std::string& where) {
  double by_unit = 0, by_kernel = 0;
  for (const EnergyRow& row : p.energy) by_unit += row.energy.value();
  const EnergyRow* most = nullptr;
  for (const EnergyRow& row : p.energy_by_kernel) {
    EXPECT_GT(row.energy.value(), 0) << row.name << where;
    by_kernel += row.energy.value();
    const bool other = std::any_of(p.energy.begin(), p.energy.end(),
                                   [&](const EnergyRow& r) { return r.name == row.name; });
    if (!other && (most == nullptr || row.energy > most->energy)) most = &row;
  }
  EXPECT_NEAR(by_kernel, by_unit, kExact * by_unit) << where;
  ASSERT_NE(most, nullptr) << where;
  EXPECT_EQ(most->name, largest) << where;
}

// The kernels of a decode step and of a prompt's steps are all of its time at the clock that the
// boards keep, and the energy of all tokens is the power of all boards over the time of the load.
TEST(PowerLaw, TheBreakdownOfASteadyLoadAddsUpUnderEveryKnob) {
  for (const std::string& knobs : kKnobs) {
    const Answer a = answer_of("{model: llama-3.1-8b, hardware: {gpu: h100-sxm" + knobs +
                               "}, parallel: {tp: 2}, workload: {isl: 1024, batch: 64, osl: 128}}");
    const Point& p = a.points.front();
    double shares[2] = {0, 0};
    for (const KernelRow& row : p.kernels) shares[row.phase == "decode"] += row.share;
    for (const double sum : shares) EXPECT_NEAR(sum, 1, kExact) << knobs;
    // The rows are of a step at the mean context, and TPOT is the mean over the contexts.
    const double tpot = value(p, "tpot") / 1e3;
    EXPECT_NEAR(seconds_of(p, "decode"), tpot, 1e-3 * tpot) << knobs;
    // The rows are of one of the steps in which the prompts are computed.
    const double steps = value(p, "prefill_time") / 1e3 / seconds_of(p, "prefill");
    EXPECT_NEAR(steps, std::round(steps), kExact * steps) << knobs;
    const double power = 2 * value(p, "power"), rate = value(p, "output_throughput");
    EXPECT_NEAR(value(p, "energy_per_token") * rate, power, kExact * power) << knobs;
    expect_same_sum_by_kernel(p, "gemm", knobs);
    const double request = value(p, "energy_per_request");
    EXPECT_NEAR(request, 128 * value(p, "energy_per_token"), kExact * request) << knobs;
  }
}

TEST(PowerLaw, TheBreakdownOfATrainingRunAddsUpUnderEveryKnob) {
  for (const std::string& knobs : kKnobs) {
    const Answer a = answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm" + knobs +
                               "}, training: {gpus: 64, zero: 3, tokens: 1e11}}");
    const Point& p = a.points.front();
    const double time = value(p, "iteration_time");
    EXPECT_NEAR(seconds_of(p, "iteration"), time, kExact * time) << knobs;
    const double joules = value(p, "energy") * 3.6e9, hours = value(p, "gpu_hours");
    EXPECT_NEAR(joules, value(p, "power") * hours * 3600, kExact * joules) << knobs;
    EXPECT_NEAR(joules, value(p, "energy_per_token") * 1e11, kExact * joules) << knobs;
  }
}

// The rows of an iteration's energy are that of its boards, and of their part of nodes and cooling
// in a wider scope. Links are not counted beside the boards and nodes that hold them.
TEST(PowerLaw, TheEnergyOfAnIterationAddsUpInEveryScope) {
  for (const std::string& knobs : kKnobs) {
    for (const std::string scope : {"gpu", "node", "facility"}) {
      const Answer a = answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm" + knobs +
                                 "}, energy: {scope: " + scope +
                                 "}, training: {gpus: 64, tp: 2, pp: 2, zero: 1}}");
      const Point& p = a.points.front();
      double sum = 0, boards = 0, least = 0;
      bool beyond = false;
      for (const EnergyRow& row : p.energy) {
        beyond |= row.name == "node_links";
        (beyond ? sum : boards) += row.energy.value();
        least = std::min(least, row.energy.value());
      }
      sum += boards;
      const double time = value(p, "iteration_time");
      const double of_boards = value(p, "power") * time;
      EXPECT_NEAR(boards, of_boards, kExact * boards) << knobs << scope;
      const double all = scope == "gpu" ? of_boards : value(p, "plant_power") / 64 * time;
      EXPECT_NEAR(sum, all, kExact * sum) << knobs << scope;
      EXPECT_EQ(beyond, scope != "gpu");
      expect_same_sum_by_kernel(p, "products", knobs + scope);
      EXPECT_EQ(least, 0);
      const double links = value(p, "link_energy");
      EXPECT_GT(links, 0);
      EXPECT_LT(links, 64 * sum);
    }
  }
}

// The power over time of a simulated service makes up the energy of its requests.
TEST(PowerLaw, ThePowerOverTimeOfAServiceAddsUpUnderEveryKnob) {
  for (const std::string& knobs : kKnobs) {
    const Answer a = answer_of("{model: llama-3.1-8b, hardware: {gpu: h100-sxm" + knobs +
                               "}, load: {requests: 200, rate: 20, isl: 512, osl: 64}}");
    const Point& p = a.points.front();
    double sum = 0;
    for (std::size_t i = 0; i < service_detail(p).power.power.size(); ++i)
      sum += service_detail(p).power.power[i].value() *
             std::min(service_detail(p).power.window,
                      service_detail(p).power.end -
                          service_detail(p).power.window * static_cast<double>(i))
                 .value();
    EXPECT_NEAR(sum, value(p, "energy") * 1e3, kExact * sum) << knobs;
    EXPECT_NEAR(sum, value(p, "energy_per_request") * 200, kExact * sum) << knobs;
  }
}

// The rows of a service's energy are that of its run, busy or idle, in every scope.
TEST(PowerLaw, TheEnergyOfAServiceAddsUpInEveryScope) {
  for (const std::string& knobs : kKnobs) {
    for (const std::string scope : {"gpu", "node", "facility"}) {
      for (const char* rate : {"1", "40"}) {
        const Answer a =
            answer_of("{model: llama-3.1-8b, hardware: {gpu: h100-sxm" + knobs +
                      "}, parallel: {tp: 2}, cluster: {replicas: 2}, energy: {scope: " + scope +
                      "}, load: {requests: 100, isl: 512, osl: 64, rate: " + rate + "}}");
        const Point& p = a.points.front();
        double sum = 0;
        for (const EnergyRow& row : p.energy) {
          EXPECT_GT(row.energy.value(), 0) << row.name;
          sum += row.energy.value();
        }
        EXPECT_NEAR(sum, value(p, "energy") * 1e3, kExact * sum) << knobs << scope << rate;
        expect_same_sum_by_kernel(p, "gemm", knobs + scope + rate);
      }
    }
  }
}

// The point found costs no more than any that meets the SLO, the full clock among them,
// and it meets the SLO itself.
TEST(PowerLaw, TheOptimumCostsNoMoreThanTheFullClockUnderTheSameSlo) {
  for (const char* slo : {"tpot: 9 ms", "tpot: 12 ms", "tpot: 50 ms"}) {
    const Answer a = answer_of(
        std::string("{model: llama-3.1-8b, hardware: {gpu: h100-sxm, clock: [600 MHz, 900 MHz, "
                    "1200 MHz, 1500 MHz, 1980 MHz]}, objective: energy, slo: {") +
        slo + "}, load: {requests: 300, rate: 12, isl: 512, osl: 64}}");
    ASSERT_EQ(a.points.size(), 5u);
    const Point& full = a.points.back();
    ASSERT_TRUE(full.meets_slo.value()) << slo;
    ASSERT_TRUE(a.optimum.has_value()) << slo;
    const Point& best = a.points[a.optimum->point];
    EXPECT_TRUE(best.meets_slo.value()) << slo;
    EXPECT_EQ(a.optimum->value, value(best, "energy_per_token"));
    for (const Point& p : a.points) {
      if (!p.meets_slo.value()) continue;
      EXPECT_LE(value(best, "energy_per_token"), value(p, "energy_per_token")) << slo;
    }
  }
}

// A board under a lower cap draws no more for longer: the energy of a token grows at most as its
// time, and is at most the cap over that time. It is no less than the board awake for the time.
TEST(PowerLaw, ALowerCapCostsNoMoreThanItsPowerOverTheLongerTime) {
  for (const char* load : {"batch: 1, isl: 2048, osl: 128", "batch: 64, isl: 1024, osl: 128",
                           "batch: 128, isl: 256, osl: 256", "batch: 8, isl: 8192, osl: 2"}) {
    for (const auto& [gpu, full] : {std::pair{"h100-sxm", 700}, {"a100-80g-sxm", 400}}) {
      const double awake = constants().board(gpu).awake * full;
      double before_energy = 0, before_rate = 0;
      for (const double share : {1.0, 0.85, 0.7, 0.6, 0.5}) {
        const double cap = share * full;
        const Answer a =
            answer_of(std::string("{model: llama-3.1-8b, hardware: {gpu: ") + gpu +
                      ", power_limit: " + std::to_string(cap) + " W}, workload: {" + load + "}}");
        const Point& p = a.points.front();
        const double energy = value(p, "energy_per_token"), rate = value(p, "output_throughput");
        EXPECT_LE(energy, cap / rate * (1 + kExact)) << gpu << " " << load << " at " << cap;
        EXPECT_GE(energy, awake / rate * (1 - 1e-3)) << gpu << " " << load << " at " << cap;
        if (before_rate > 0) {
          EXPECT_LE(rate, before_rate * (1 + kExact)) << gpu << " " << load << " at " << cap;
          EXPECT_LE(energy, before_energy * (before_rate / rate) * (1 + kExact))
              << gpu << " " << load << " at " << cap;
          // Nor more than the faster board, which waits awake for the rest of the time.
          EXPECT_LE(energy, (before_energy + awake * (1 / rate - 1 / before_rate)) * (1 + kExact))
              << gpu << " " << load << " at " << cap;
        }
        before_energy = energy, before_rate = rate;
      }
    }
  }
}

}  // namespace power_law_test
}  // namespace orrery
