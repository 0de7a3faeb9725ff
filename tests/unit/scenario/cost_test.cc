// Money: twice the price is twice the cost of everything and changes no ranking, costs follow from
// the hours and the tokens, a fleet pays for idle engines, and a call for its GPUs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace cost_test {

constexpr const char* kCosts[] = {"cost_per_hour", "cost_per_million_input_tokens",
                                  "cost_per_million_output_tokens", "cost_per_million_tokens",
                                  "cost_per_request"};

Answer answer_of(const std::string& yaml) {
  static Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "law.yaml")));
}

double value(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

std::string estimate_at(double price) {
  return "{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {tp: '1,2,4'}, workload: "
         "{batch: '1-64*4'}, cost: {price: " +
         std::to_string(price) + "}}";
}

std::string service(const std::string& more) {
  return "{model: llama-3-8b, hardware: {gpu: h100-sxm}, load: {rate: 4, requests: 200, isl: 256, "
         "osl: 64}, " +
         more + "}";
}

void expect_consistent(const Point& p, double input, double output) {
  const double hour = value(p, "cost_per_hour");
  EXPECT_NEAR(value(p, "cost_per_million_output_tokens"),
              1e6 * hour / 3600 / value(p, "output_throughput"), 1e-9 * hour * 1e6);
  EXPECT_NEAR(value(p, "cost_per_request"), hour / 3600 / value(p, "request_throughput"),
              1e-9 * hour);
  EXPECT_NEAR(value(p, "cost_per_million_input_tokens") * input,
              value(p, "cost_per_million_output_tokens") * output, 1e-6 * input);
  EXPECT_NEAR(value(p, "cost_per_million_tokens") * (input + output),
              value(p, "cost_per_million_output_tokens") * output, 1e-6 * input);
}

TEST(CostLaw, TwiceThePriceIsTwiceTheCostAndChangesNoRanking) {
  const Answer once = answer_of(estimate_at(1.5)), twice = answer_of(estimate_at(3));
  ASSERT_EQ(once.points.size(), 12u);
  const auto ranking = [](const Answer& a) {
    std::vector<std::size_t> order(a.points.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&a](std::size_t x, std::size_t y) {
      return value(a.points[x], "cost_per_million_output_tokens") <
             value(a.points[y], "cost_per_million_output_tokens");
    });
    return order;
  };
  EXPECT_EQ(ranking(once), ranking(twice));
  for (std::size_t i = 0; i < once.points.size(); ++i) {
    const Point &a = once.points[i], &b = twice.points[i];
    for (const char* name : kCosts) {
      EXPECT_NEAR(value(b, name), 2 * value(a, name), 1e-12 * value(b, name)) << name;
      EXPECT_NEAR(b.find(name)->high90, 2 * a.find(name)->high90, 1e-9 * b.find(name)->high90);
    }
    EXPECT_EQ(value(a, "ttft"), value(b, "ttft"));
    EXPECT_NEAR(value(a, "cost_per_hour"), 1.5 * a.at.at("gpus").get<double>(), 1e-12);
    expect_consistent(a, 1024, 128);
  }
}

// All engines run all the time, however little they have to do.
TEST(CostLaw, AFleetPaysForIdleEngines) {
  const Point one = answer_of(service("cost: {price: 2}")).points.at(0);
  const Point four = answer_of(service("cluster: {replicas: 4}, cost: {price: 2}")).points.at(0);
  expect_consistent(one, 256, 64);
  expect_consistent(four, 256, 64);
  EXPECT_NEAR(value(one, "cost_per_hour"), 2, 1e-9);
  EXPECT_NEAR(value(four, "cost_per_hour"), 8, 1e-9);
  EXPECT_GT(value(four, "cost_per_request"), 3 * value(one, "cost_per_request"));
}

// An autoscaled fleet pays for the engines that there are: between the least and the most.
TEST(CostLaw, AnAutoscaledFleetPaysForTheEnginesThatThereAre) {
  const Point p = answer_of(service("autoscale: {policy: outstanding, target: 2, most: 3, "
                                    "interval: 1s, start_up: 1s}, cost: {price: 2}"))
                      .points.at(0);
  EXPECT_NEAR(value(p, "cost"), 2 * value(p, "gpu_hours"), 1e-9);
  EXPECT_NEAR(value(p, "cost_per_hour"), 2 * value(p, "engines"), 1e-9);
  EXPECT_GE(value(p, "engines"), 1);
}

// Prefill on H100 and decode on A100: each pool has its own price, which the book has.
TEST(CostLaw, PoolsOfDifferentGpusHaveTheirOwnPrices) {
  const auto hour = [](const std::string& yaml) {
    return value(answer_of(yaml).points.at(0), "cost_per_hour");
  };
  const std::string tier = "cost: {tier: on_demand}";
  const double h100 = hour(service(tier));
  const double a100 = hour(
      "{model: llama-3-8b, hardware: {gpu: a100-80g-sxm}, load: {rate: 4, "
      "requests: 200, isl: 256, osl: 64}, " +
      tier + "}");
  ASSERT_GT(h100, 1.2 * a100);
  const double apart = hour(service("disaggregation: {decode: '2*a100-80g-sxm'}, " + tier));
  EXPECT_NEAR(apart, h100 + 2 * a100, 1e-9);
}

// The scopes hold each other, at the same power of the boards; energy follows the power, emissions
// the energy.
TEST(PlantLaw, WiderScopesDrawMoreAndEmissionsFollowTheEnergy) {
  const auto ask = [](const std::string& more) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {tp: 2}, workload: "
               "{batch: 32, isl: 512, osl: 64}, " +
               more + "}")
        .points.at(0);
  };
  const Point gpu = ask("energy: {scope: gpu, carbon: 400}");
  const Point node = ask("energy: {scope: node, carbon: 400}");
  const Point facility = ask("energy: {carbon: 400, pue: 1.25}");
  const Point twice = ask("energy: {carbon: 800, pue: 1.25}");
  for (const Point* p : {&node, &facility}) EXPECT_EQ(value(*p, "power"), value(gpu, "power"));
  EXPECT_GT(value(node, "plant_power"), 2 * value(gpu, "power"));
  EXPECT_NEAR(value(facility, "plant_power"), 1.25 * value(node, "plant_power"), 1e-6);
  for (const char* name : {"energy_per_token", "energy_per_request"}) {
    EXPECT_NEAR(value(node, name) / value(gpu, name),
                value(node, "plant_power") / (2 * value(gpu, "power")), 1e-9);
    EXPECT_NEAR(value(facility, name), 1.25 * value(node, name), 1e-9);
  }
  EXPECT_NEAR(value(facility, "carbon_per_hour"), 0.4 * value(facility, "plant_power"), 1e-6);
  for (const char* name :
       {"carbon_per_hour", "carbon_per_million_output_tokens", "carbon_per_request"}) {
    EXPECT_NEAR(value(twice, name), 2 * value(facility, name), 1e-9 * value(twice, name));
    EXPECT_LT(value(gpu, name), value(node, name));
  }
}

TEST(CostLaw, OwnedGpusPayForTheirElectricity) {
  const auto hour = [](const std::string& more) {
    return value(
        answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, cost: {tier: owned}" + more + "}")
            .points.at(0),
        "cost_per_hour");
  };
  // catalog/prices/owned.yaml: 0.0806 USD for a kWh.
  const Point at_wall = answer_of(
                            "{model: llama-3-8b, hardware: {gpu: h100-sxm}, energy: {scope: "
                            "node}}")
                            .points.at(0);
  EXPECT_NEAR(hour(", energy: {pue: 2}") - hour(", energy: {pue: 1}"),
              0.0806 * value(at_wall, "plant_power") / 1000, 1e-9);
}

const std::string kAllReduce =
    "collective: {kind: all-reduce, bytes: 268435456, gpus: 16}, hardware: {gpu: h100-sxm}";
const std::string kGemm =
    "kernel: {op: gemm, m: 4096, n: 8192, k: 8192}, hardware: {gpu: h100-sxm}";

Point call_of(const std::string& asked, const std::string& more) {
  return answer_of("{" + asked + ", " + more + "}").points.at(0);
}

// A call pays for its GPUs as long as it lasts, and its plant draws and emits in that time.
TEST(CallLaw, ACollectiveAndAKernelPayForTheirGpusAndTheirPlant) {
  for (const auto& [asked, gpus] : {std::pair{kAllReduce, 16.0}, std::pair{kGemm, 1.0}}) {
    const Point once = call_of(asked, "cost: {price: 2}");
    const Point twice = call_of(asked, "cost: {price: 4}");
    const double us = value(once, "time");
    EXPECT_NEAR(value(once, "cost_per_hour"), 2 * gpus, 1e-9);
    EXPECT_NEAR(value(once, "cost_per_million_calls"), 2 * gpus * us / 3600, 1e-9 * us);
    EXPECT_NEAR(value(twice, "cost_per_million_calls"), 2 * value(once, "cost_per_million_calls"),
                1e-9 * us);
    EXPECT_EQ(value(twice, "time"), us);
    const Point gpu = call_of(asked, "energy: {scope: gpu, carbon: 400}");
    const Point node = call_of(asked, "energy: {scope: node}");
    const Point facility = call_of(asked, "energy: {carbon: 400, pue: 1.25, embodied: true}");
    EXPECT_NEAR(value(gpu, "energy"), gpus * value(gpu, "power") * us * 1e-3, 1e-6 * us);
    EXPECT_NEAR(value(node, "energy"), value(node, "plant_power") * us * 1e-3, 1e-6 * us);
    EXPECT_GT(value(node, "energy"), value(gpu, "energy"));
    EXPECT_NEAR(value(facility, "energy"), 1.25 * value(node, "energy"), 1e-6 * us);
    const double hour = value(facility, "carbon_per_hour");
    EXPECT_NEAR(hour,
                0.4 * value(facility, "plant_power") + value(facility, "embodied_carbon_per_hour"),
                1e-9 * hour);
    EXPECT_NEAR(value(facility, "carbon_per_million_calls"), hour * us / 3600, 1e-9 * hour * us);
    EXPECT_GT(hour, value(gpu, "carbon_per_hour"));
  }
}

// Each kind of GPU has its own price; one stated price is that of all.
TEST(CallLaw, UnlikeNodesPayEachItsOwnPrice) {
  const std::string mixed =
      "collective: {kind: all-reduce, bytes: 268435456, nodes: [2 hgx-h100, 1 hgx-a100]}";
  const auto hour = [](const std::string& asked, const std::string& cost) {
    return value(call_of(asked, cost), "cost_per_hour");
  };
  EXPECT_NEAR(hour(mixed, "cost: {price: 2}"), 48, 1e-9);
  const std::string tier = "cost: {tier: on_demand}";
  const std::string of_a100 =
      "kernel: {op: gemm, m: 64, n: 8192, k: 8192}, hardware: {gpu: a100-80g-sxm}";
  EXPECT_NEAR(hour(mixed, tier), 16 * hour(kGemm, tier) + 8 * hour(of_a100, tier), 1e-9);
  for (const char* more : {"energy: {scope: node}", "cost: {tier: owned}"}) {
    EXPECT_THROW(call_of(mixed, more), InputError) << more;
  }
}

TEST(CallLaw, OwnedGpusPayForTheElectricityOfTheirCalls) {
  const auto hour = [](const std::string& pue) {
    return value(call_of(kAllReduce, "cost: {tier: owned}, energy: {pue: " + pue + "}"),
                 "cost_per_hour");
  };
  const double watts = value(call_of(kAllReduce, "energy: {scope: node}"), "plant_power");
  EXPECT_NEAR(hour("2") - hour("1"), 0.0806 * watts / 1000, 1e-9);
}

TEST(CallLaw, WhatACallDoesNotHaveIsRefused) {
  EXPECT_THROW(call_of(kAllReduce, "cost: {price: 2, preemptions_per_day: 1}"), InputError);
  EXPECT_THROW(call_of(kGemm, "cost: {price: 2, preemptions_per_day: 1}"), InputError);
  EXPECT_THROW(call_of("collective: {kind: all-reduce, bytes: 1048576, gpus: 8, fidelity: flow}, "
                       "hardware: {gpu: h100-sxm}",
                       "cost: {price: 2}"),
               InputError);
}

TEST(CostLaw, NoPriceIsNoCost) {
  for (const std::string& yaml : {std::string("{model: llama-3-8b, hardware: {gpu: h100-sxm}}"),
                                  service("slo: {ttft: 1s}")}) {
    const Answer a = answer_of(yaml);
    for (const Metric& m : a.points.at(0).metrics) EXPECT_FALSE(m.name.starts_with("cost"));
    EXPECT_FALSE(a.resolved.contains("cost"));
  }
  EXPECT_TRUE(answer_of(estimate_at(1)).resolved.contains("cost"));
}

}  // namespace cost_test
}  // namespace orrery
