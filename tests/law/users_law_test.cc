// More users never lower the throughput of a service that has memory for all of them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace {

struct Service {
  const char *model, *gpu, *engine;
  int tp, ep;
};

double tokens_per_second(const Service& s, int users) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = options.breakdown = false;
  const ScenarioSweep question = read_scenario(
      parse_yaml(fmt::format("model: {}\nhardware: {{gpu: {}}}\nengine: {{profile: {}}}\n"
                             "parallel: {{tp: {}, ep: {}}}\n"
                             "workload: {{isl: 1024, osl: 1024, batch: {}}}\n",
                             s.model, s.gpu, s.engine, s.tp, s.ep, users),
                 "s.yaml"));
  return runner.run(question, options).points.at(0).find("output_throughput")->value;
}

// At 32 users, gpt-oss-120b has as many tokens for experts as experts. They do not hit each expert
// once: loads are skewed, and many experts wait for a token. The numbers of users are sizes of
// which engines capture graphs: between two of them a step is padded to the larger one, so that one
// more user can cost more than it brings.
TEST(UsersLaw, ThroughputNeverFallsWithMoreUsers) {
  for (const Service& s : {Service{"gpt-oss-120b", "h200-sxm", "vllm", 1, 1},
                           Service{"gpt-oss-20b", "h100-sxm", "vllm", 1, 1},
                           Service{"qwen3-30b-a3b", "h200-sxm", "sglang", 1, 1},
                           Service{"deepseek-v3", "b200-sxm", "trtllm", 8, 8},
                           Service{"llama-3.1-8b", "h100-sxm", "vllm", 1, 1}}) {
    double before = 0;
    for (const int users : {1, 2, 4, 8, 16, 32, 64, 128}) {
      const double now = tokens_per_second(s, users);
      EXPECT_GE(now, before) << s.model << " on " << s.gpu << " with " << users << " users";
      before = now;
    }
  }
}

// One request at a time to 32 users: TPOT 17.6 ms where 26.4 were predicted with one token for each
// expert (published by a user of the first version).
TEST(UsersLaw, ExpertsOfManyUsersAreNotAllHit) {
  const double tpot = 32e3 / tokens_per_second({"gpt-oss-120b", "h200-sxm", "vllm", 1, 1}, 32);
  EXPECT_NEAR(tpot, 17.6, 0.15 * 17.6);
}

}  // namespace
}  // namespace orrery
