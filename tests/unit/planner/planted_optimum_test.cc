// Spaces whose best engine is known by construction: what makes it the best is planted in the
// catalog.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/answer/planner.h"
#include "orrery/planner/bound/engine_bound.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {
namespace planted_optimum_test {

// The bundle with a text replaced in all files of a folder; it must be there.
Bundle planted(const std::string& folder, const std::string& from, const std::string& to) {
  std::map<std::string, std::string> files;
  bool found = false;
  for (const BundledFile& f : bundled_files()) {
    if (!f.path.starts_with(folder + "/")) continue;
    std::string text(f.content);
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to), found = true;
    files[std::string(f.path)] = std::move(text);
  }
  EXPECT_TRUE(found) << from;
  return Bundle().replacing(folder, std::move(files));
}

Scenario asked(const std::string& slo, const std::string& plan) {
  return read_scenario(
             all_kinds(),
             parse_yaml(
                 fmt::format("model: llama-3.1-70b\nload: {{rate: 2, requests: 60, isl: 256, "
                             "osl: 32}}\nslo: {{{}}}\nplan: {{gpu: [h100-sxm], pp: [1], top: "
                             "1{}}}",
                             slo, plan),
                 "plan"))
      .points.front();
}

// Where memory has no end, one GPU holds the model, and nothing is lost between GPUs: it does the
// most requests a second per GPU.
TEST(PlantedOptimum, WithoutEndOfMemoryIsOneGpu) {
  const Scenario question = asked("tpot: 100 s", "");
  const PlannedLoad load{2, 256, 32, 60, 288, true, false};
  const auto bound = [&](Runner& by, int tp) {
    return engine_bound(by, question, {{"h100-sxm", 0}, "vllm", "", {.tp = tp}}, load);
  };
  Runner plain{Bundle()};
  EXPECT_NE(bound(plain, 1).misfit, "");  // it does not fit
  Runner runner{planted("gpus", "capacity: 80 GiB\n  usable: 79.18 GiB", "capacity: 8000 GiB")};
  double least = HUGE_VAL;
  for (const int tp : {1, 2, 4, 8}) {
    const double of_gpu = bound(runner, tp).likely / tp;
    EXPECT_LT(of_gpu, least) << tp;
    least = of_gpu;
  }
}

// Where links take no time, each further GPU makes the step shorter, and the largest engine is the
// one that keeps the shortest limit.
TEST(PlantedOptimum, WithoutTimeOnLinksIsTheLargestEngineForLatency) {
  Runner plain{Bundle()};
  Runner runner{planted("fabrics", "link_bandwidth: 25 GB/s", "link_bandwidth: 100000 GB/s")};
  const Scenario question = asked("tpot: 1 s", "");
  const PlannedLoad load{2, 256, 32, 60, 288, true, false};
  const auto step = [&](Runner& by, int tp) {
    const EngineOption o{{"h100-sxm", 0}, "vllm", "", {.tp = tp}};
    return engine_bound(by, question, o, load).tpot;
  };
  for (const int tp : {4, 8}) {
    EXPECT_LT(step(runner, tp), step(runner, tp / 2)) << tp;
    EXPECT_LE(step(runner, tp), step(plain, tp)) << tp;
  }
  const double limit = (step(runner, 8) + step(runner, 4)) / 2;
  const Plans plans =
      find_plans(runner, asked(fmt::format("tpot: {:.3f} ms, percentile: 50", limit), ""));
  EXPECT_EQ(plans.fleets.at(0).engine.layout.tp, 8);
}

}  // namespace planted_optimum_test
}  // namespace orrery
