// Does a simulated service draw what its busy and its idle time cost?
#include <gtest/gtest.h>

#include <map>

#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace {

std::map<std::string, double> answer_of(const std::string& load) {
  Runner runner{Bundle()};
  const Answer answer = runner.run(
      read_scenario(parse_yaml("{model: llama-3.1-8b, hardware: {gpu: h100-sxm}, load: {" + load +
                                   ", isl: 512, osl: 128, arrivals: even}}",
                               "test")));
  std::map<std::string, double> metrics;
  for (const Metric& m : answer.points.front().metrics) metrics[m.name] = m.value;
  return metrics;
}

TEST(ServicePower, AServiceThatWaitsDrawsNearlyTheAwakeBoard) {
  const auto rare = answer_of("requests: 20, rate: 0.01");
  const StepPowerConstants constants = read_step_power(Bundle());
  const double awake = 700 * constants.board("h100-sxm").awake;
  EXPECT_GT(rare.at("power"), awake);
  EXPECT_LT(rare.at("power"), 1.05 * awake);
}

TEST(ServicePower, ATokenCostsLessInABusyService) {
  const auto rare = answer_of("requests: 100, rate: 0.2"),
             often = answer_of("requests: 400, rate: 20");
  EXPECT_GT(often.at("power"), rare.at("power"));
  EXPECT_LT(often.at("energy_per_token"), 0.2 * rare.at("energy_per_token"));
  EXPECT_LT(often.at("power"), 700);
}

TEST(ServicePower, TheEnergyIsThatOfItsRequests) {
  const auto m = answer_of("requests: 100, rate: 2");
  EXPECT_NEAR(m.at("energy") * 1e3, m.at("energy_per_request") * 100, 1e-6 * m.at("energy") * 1e3);
  EXPECT_NEAR(m.at("energy_per_request"), m.at("energy_per_token") * 128,
              1e-6 * m.at("energy_per_request"));
}

}  // namespace
}  // namespace orrery
