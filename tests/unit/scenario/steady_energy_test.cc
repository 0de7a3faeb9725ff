// The energy of a steady load, and front ends in their engine's process.
#include <gtest/gtest.h>

#include <string>

#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace steady_energy_test {

double value_of(const std::string& question, const std::string& name) {
  static Runner runner{Bundle()};
  const Answer answer = runner.run(read_scenario(all_kinds(), parse_yaml(question, "energy.yaml")));
  const Metric* m = answer.points.at(0).find(name);
  EXPECT_NE(m, nullptr) << name << " of " << question;
  return m == nullptr ? 0 : m->value;
}

// Energy is the power of all boards over the time in which the tokens are made, whatever the load.
TEST(SteadyEnergy, OfATokenTimesTheThroughputIsThePowerOfAllBoards) {
  for (const char* load : {"batch: 32, isl: 512, osl: 64", "batch: 1, isl: 20000, osl: 8",
                           "batch: 256, isl: 512, osl: 64, closed_loop: true",
                           "batch: 256, isl: 512, osl: 64, closed_loop: true, equal_lengths: false",
                           "batch: 4096, isl: 2000, osl: 64, closed_loop: true"}) {
    for (const char* split : {"tp: 2", "pp: 2"}) {
      const std::string question =
          std::string("{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {") + split +
          "}, workload: {" + load + "}}";
      const double power = value_of(question, "power");
      EXPECT_NEAR(value_of(question, "energy_per_token") * value_of(question, "output_throughput"),
                  2 * power, 1e-6 * power)
          << question;
    }
  }
}

// A request takes the energy of its tokens, at a lower clock, too.
TEST(SteadyEnergy, OfARequestIsThatOfItsTokens) {
  for (const char* clock : {"", ", clock: 1200 MHz"}) {
    for (const char* osl : {"1", "64"}) {
      const std::string question = std::string("{model: llama-3-8b, hardware: {gpu: h100-sxm") +
                                   clock + "}, workload: {batch: 32, isl: 512, osl: " + osl + "}}";
      const double request = value_of(question, "energy_per_request");
      EXPECT_NEAR(request, std::stod(osl) * value_of(question, "energy_per_token"), 1e-9 * request)
          << question;
    }
  }
}

// The rows of a request's energy add up to it, in every scope.
TEST(SteadyEnergy, OfARequestIsItemised) {
  static Runner runner{Bundle()};
  for (const char* scope : {"gpu", "node", "facility"}) {
    const Answer answer = runner.run(
        read_scenario(all_kinds(), parse_yaml("{model: llama-3-8b, hardware: {gpu: h100-sxm}, "
                                              "parallel: {tp: 2}, workload: {batch: 32, "
                                              "isl: 512, osl: 64}, energy: {scope: " +
                                                  std::string(scope) + "}}",
                                              "energy.yaml")));
    const Point& p = answer.points.at(0);
    EXPECT_EQ(p.energy_of, "request");
    double sum = 0;
    bool rest = false, links = false;
    for (const EnergyRow& row : p.energy) {
      EXPECT_GT(row.energy.value(), 0) << row.name;
      sum += row.energy.value();
      rest |= row.name == "node_rest", links |= row.name == "collectives";
    }
    const double request = p.find("energy_per_request")->value;
    EXPECT_NEAR(sum, request, 1e-9 * request) << scope;
    EXPECT_EQ(rest, std::string(scope) != "gpu");
    EXPECT_TRUE(links);
  }
}

// Prompts cost energy in a closed loop too: with answers of one length, long prompts draw more.
TEST(SteadyEnergy, CountsThePromptsOfAClosedLoop) {
  const auto joules = [](int isl) {
    return value_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, workload: {batch: 64, isl: " +
                        std::to_string(isl) +
                        ", osl: 64, closed_loop: true, equal_lengths: false}}",
                    "energy_per_request");
  };
  // 8e9 parameters, 2 FLOPs each, 1900 tokens more: 30 TFLOP, of which a board of 700 W computes
  // 989 a second at most. Half of that power is more than is certain.
  EXPECT_GT(joules(2000) - joules(100), 0.5 * 700 * 30.4 / 989);
}

TEST(FrontEndInProcess, AddsItsTimeToEveryStep) {
  const auto step = [](const std::string& tp, const std::string& more) {
    return value_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {tp: " + tp +
                        "}, engine: {profile: vllm-2024, overrides: {execution: {" + more +
                        "}}}, workload: {batch: 64, isl: 128, osl: 128}}",
                    "tpot");
  };
  const std::string in_process =
      "frontend_in_process: true, in_process_per_rank: 5 ms, in_process_per_sequence: 100 us";
  for (const char* tp : {"1", "4"})
    EXPECT_NEAR(step(tp, in_process) - step(tp, "frontend_in_process: false"),
                5 * std::stod(tp) + 0.1 * 64, 1e-6);
}

}  // namespace steady_energy_test
}  // namespace orrery
