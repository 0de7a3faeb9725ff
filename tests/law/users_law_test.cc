// Laws of services with more users and with more GPUs. More users never lower the throughput of a
// service that has memory for all of them. On more GPUs, experts that lie on all of them take
// longer only by the load of the busiest rank, and a step only by that and by communication.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/workload/ops/op.h"

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

// Wide expert parallelism: DeepSeek-V3 on H100, as many sequences on every GPU.

constexpr int kSequences = 128;  // of a GPU

struct Parts {
  double tpot = 0, experts = 0, moves = 0, memory = 0, throughput = 0;  // ms, GB, tokens/s a GPU
  double rest() const { return tpot - experts - moves; }
};

Parts parts(int gpus, const std::string& more, double skew = 1.01) {
  static Runner runner{Bundle()};
  const std::string text = fmt::format(
      "model: deepseek-v3\nhardware: {{gpu: h100-sxm}}\nengine: {{profile: sglang}}\n"
      "parallel: {{dp: {}, ep: {}{}}}\n"
      "workload: {{isl: 1000, osl: 100, batch: {}, expert_skew: {}}}\n",
      gpus, gpus, more, gpus * kSequences, skew);
  RunOptions options;
  options.intervals = false;
  const Answer answer = runner.run(read_scenario(parse_yaml(text, "s.yaml")), options);
  const Point& point = answer.points.at(0);
  EXPECT_TRUE(point.feasibility.fits) << gpus << " " << point.feasibility.reason;
  Parts p;
  p.tpot = point.find("tpot")->value;
  p.memory = point.find("memory")->value;
  p.throughput = gpus * kSequences / p.tpot * 1000 / gpus;
  for (const KernelRow& row : point.kernels) {
    if (row.phase != "decode") continue;
    const double ms = row.time.value.value() * 1e3;
    if (row.name.starts_with("moe_experts")) p.experts += ms;
    if (row.name.starts_with("moe_dispatch") || row.name.starts_with("moe_combine")) p.moves += ms;
  }
  return p;
}

// Every GPU computes as many pairs of token and expert as before, on fewer experts.
TEST(WideExpertLaw, BalancedExpertsTakeNoLongerOnMoreGpus) {
  double before = 1e9;
  for (const int gpus : {16, 32, 64, 128, 256}) {
    const double now = parts(gpus, "", 0).experts;
    EXPECT_LE(now, before * 1.02) << gpus;
    before = now;
  }
}

// The step without the experts and without the moves of tokens does not depend on the number of
// GPUs: what TPOT gains or loses is communication and the load of the busiest rank.
TEST(WideExpertLaw, OnlyMovesAndImbalanceExplainAGrowingTpot) {
  for (const double skew : {0.0, 1.01}) {
    Parts before = parts(16, "", skew);
    for (const int gpus : {32, 64, 128}) {
      const Parts now = parts(gpus, "", skew);
      EXPECT_NEAR(now.rest(), before.rest(), 0.01 * before.rest()) << gpus;
      const double explained = std::max(0.0, now.moves - before.moves) +
                               std::max(0.0, now.experts - before.experts) * (skew > 0 ? 1 : 0);
      EXPECT_LE(now.tpot - before.tpot, explained + 0.02 * now.tpot) << gpus;
      before = now;
    }
  }
}

// Skewed experts: the busiest rank takes at most as many times longer as it has more tokens.
TEST(WideExpertLaw, SkewExplainsTheTimeOfExperts) {
  for (const int gpus : {16, 32, 64, 128}) {
    const double busiest = expert_imbalance(gpus * kSequences, 256, 8, gpus, 1.01);
    const double even = parts(gpus, "", 0).experts, skewed = parts(gpus, "").experts;
    EXPECT_LE(skewed, even * busiest * 1.1) << gpus;
  }
}

TEST(WideExpertLaw, MemoryOfARankDoesNotGrowWithGpus) {
  double before = 1e9;
  for (const int gpus : {16, 32, 64, 128, 256}) {
    const double now = parts(gpus, "").memory;
    EXPECT_LE(now, before + 1e-9) << gpus;
    before = now;
  }
}

// A copy never lengthens the moves of tokens, and experts take at most as much longer as a rank
// reads more weights.
TEST(WideExpertLaw, CopiesCostNoMoreThanTheirWeights) {
  for (const double skew : {0.0, 1.01}) {
    for (const int gpus : {64, 128}) {  // on 32, the weights of copies leave memory for fewer users
      const Parts none = parts(gpus, ", enable_eplb: true", skew);
      for (const int copies : {128, 256}) {
        const Parts now = parts(gpus, fmt::format(", ep_num_redundant_experts: {}", copies), skew);
        EXPECT_LE(now.moves, none.moves * 1.001) << gpus;
        EXPECT_LE(now.experts, none.experts * (256 + copies) / 256 * 1.02) << gpus;
        EXPECT_NEAR(now.rest(), none.rest(), 0.01 * none.rest()) << gpus;
      }
    }
  }
}

TEST(WideExpertLaw, BalancersRaiseTheThroughputOfSkewedExperts) {
  for (const int gpus : {16, 32, 64, 128}) {
    const double skewed = parts(gpus, "").throughput;
    const double placed = parts(gpus, ", enable_eplb: true").throughput;
    EXPECT_GE(placed, skewed) << gpus;
    // Without skew there is the draw of tokens alone, which a balancer counts for the experts too.
    EXPECT_NEAR(parts(gpus, ", enable_eplb: true", 0).throughput / parts(gpus, "", 0).throughput, 1,
                0.01)
        << gpus;
    // Copies, where the busiest expert has more than the mean load of a rank.
    if (gpus >= 64) {
      EXPECT_GE(parts(gpus, ", ep_num_redundant_experts: 128").throughput, 1.2 * placed) << gpus;
    }
  }
}

}  // namespace
}  // namespace orrery
