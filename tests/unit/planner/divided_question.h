// Questions about plans that divide GPUs, for the tests of plans and of their changes.
#pragma once

#include <fmt/format.h>

#include <string>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {

// A service of Llama 3 8B at `rate` requests/s; `plan`: further keys of the plan, each after a
// comma. tp is 1 or 2 unless they say otherwise.
inline Scenario divided_question(const std::string& gpu, const std::string& plan,
                                 const std::string& rate = "30") {
  return read_scenario(
             all_kinds(),
             parse_yaml(fmt::format("model: llama-3-8b\ncost: {{price: 2}}\nload: {{rate: {}, "
                                    "requests: 150, isl: 512, osl: 64}}\nslo: {{tpot: 30 ms, ttft: "
                                    "1 s}}\nplan: {{gpu: [{}], pp: [1]{}{}}}",
                                    rate, gpu,
                                    plan.find("tp: [") == plan.npos ? ", tp: [1, 2]" : "", plan),
                        "plan"))
      .points.front();
}

inline Plans plans_of(const Scenario& question) {
  Runner runner{Bundle()};
  return find_plans(runner, question);
}

// Keys of a plan that add a service of Llama 2 7B.
inline const char* const kSmallBeside =
    ", others: {small: {model: llama-2-7b, load: {rate: 9, requests: 150, isl: 300, osl: 50}, slo: "
    "{tpot: 40 ms}}}";

}  // namespace orrery
