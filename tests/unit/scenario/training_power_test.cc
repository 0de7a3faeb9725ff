// Does training draw what its iteration works, and does a longer wait cost less power?
#include "orrery/scenario/kinds/training/training_power.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_power_test {

TEST(TrainingPower, CountsEveryPartOnce) {
  IterationTime t;
  t.work[at(TrainingCost::kProducts)] = seconds(4);
  t.work[at(TrainingCost::kElementwise)] = seconds(1);
  t.work[at(TrainingCost::kTensor)] = seconds(0.5);
  t.optimizer = seconds(0.25), t.reduce = seconds(0.75), t.bubble = seconds(1.5);
  t.total = seconds(8);
  const StepWork w = work_of(t, Flops(1000), FlopsPerSecond(500));
  EXPECT_EQ(w.time, seconds(8));
  EXPECT_EQ(w.kernels, seconds(5.25));
  EXPECT_EQ(w.links, seconds(1.25));
  EXPECT_EQ(w.memory, seconds(1.25));
  EXPECT_EQ(w.compute, seconds(2));
}

std::map<std::string, double> answer_of(const std::string& more, const std::string& beside = "") {
  Runner runner{Bundle()};
  const Answer answer = runner.run(read_scenario(
      all_kinds(),
      parse_yaml("{question: training, model: llama-3-8b, hardware: {gpu: h100-sxm}, training: "
                 "{gpus: 8, zero: 3, seq: 8192, global_batch: 64" +
                     more + "}" + beside + "}",
                 "test")));
  std::map<std::string, double> metrics;
  for (const Metric& m : answer.points.front().metrics) metrics[m.name] = m.value;
  return metrics;
}

TEST(TrainingPower, TheEnergyOfARunIsItsPowerInItsGpuHours) {
  const auto m = answer_of(", tokens: 10B");
  EXPECT_NEAR(m.at("energy") * 1e6, m.at("power") * m.at("gpu_hours"), 1e-6 * m.at("energy") * 1e6);
  EXPECT_NEAR(m.at("energy_per_token") * m.at("throughput"), 8 * m.at("power"), 1e-3);
}

TEST(TrainingPower, ARunEmitsItsHoursElectricity) {
  const auto m = answer_of(", tokens: 10B", ", energy: {carbon: '400', pue: 1.25}");
  EXPECT_NEAR(m.at("carbon_per_hour"), 0.4 * m.at("plant_power"), 1e-6 * m.at("plant_power"));
  EXPECT_NEAR(1000 * m.at("carbon"), m.at("carbon_per_hour") * m.at("time_to_train"),
              1e-6 * 1000 * m.at("carbon"));
  EXPECT_GT(m.at("plant_power"), 1.25 * 8 * m.at("power"));  // hosts and supplies are beyond boards
  // Boards alone at the same electricity emit less.
  const auto boards = answer_of(", tokens: 10B", ", energy: {carbon: '400', scope: gpu}");
  EXPECT_NEAR(boards.at("carbon_per_hour"), 0.4 * 8 * m.at("power"), 1e-3);
  EXPECT_EQ(boards.count("plant_power"), 0u);
}

// All metrics of energy are those of the scope: the plant's power is the boards' times a factor,
// and so is every energy.
TEST(TrainingPower, EveryEnergyIsOfTheScope) {
  const auto boards = answer_of(", tokens: 10B");
  for (const char* scope : {"gpu", "node", "facility"}) {
    const auto m = answer_of(", tokens: 10B", ", energy: {scope: " + std::string(scope) + "}");
    const double factor =
        m.count("plant_power") > 0 ? m.at("plant_power") / (8 * m.at("power")) : 1.0;
    EXPECT_EQ(factor > 1, std::string(scope) != "gpu") << scope;
    EXPECT_EQ(m.at("power"), boards.at("power")) << scope;
    for (const char* energy : {"energy", "energy_per_token"})
      EXPECT_NEAR(m.at(energy), factor * boards.at(energy), 1e-9 * m.at(energy)) << scope;
  }
}

// A lower clock makes the events longer, by the clock of the closed form, which a note tells.
TEST(TrainingPower, EventsRunAtTheClockOfTheClosedForm) {
  const auto point = [](const std::string& knob, const std::string& events) {
    Runner runner{Bundle()};
    return runner
        .run(read_scenario(
            all_kinds(),
            parse_yaml("{question: training, model: llama-3-8b, hardware: {gpu: h100-sxm" + knob +
                           "}, training: {gpus: 16, pp: 2, seq: 4096, global_batch: 64, events: " +
                           events + "}}",
                       "test")))
        .points.front();
  };
  const Point full = point("", "true"), slow = point(", clock: 1200 MHz", "true");
  const Point closed = point(", clock: 1200 MHz", "false");
  EXPECT_GT(slow.find("iteration_time")->value, full.find("iteration_time")->value);
  EXPECT_EQ(slow.find("clock")->value, closed.find("clock")->value);
  const auto told = [](const Point& p) {
    return std::count_if(p.notes.begin(), p.notes.end(), [](const std::string& note) {
      return note.find("the events run at it") != std::string::npos;
    });
  };
  EXPECT_EQ(told(slow), 1);
  EXPECT_EQ(told(closed), 0);
  EXPECT_EQ(told(full), 0);
}

}  // namespace training_power_test
}  // namespace orrery
