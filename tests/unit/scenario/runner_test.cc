#include "orrery/scenario/runner/runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "orrery/base/estimate.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/answer/advice.h"

namespace orrery {
namespace runner_test {

ScenarioSweep question(const std::string& rest) {
  return read_scenario(
      all_kinds(), parse_yaml("model: llama-3-8b\nhardware: {gpu: h100-sxm}\n" + rest, "s.yaml"));
}

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m ? m->value : 0;
}

TEST(Runner, MetricsAgreeWithEachOther) {
  Runner runner{Bundle()};
  const Point p = runner.run(question("workload: {isl: 256, osl: 65, batch: 4}\n")).points.at(0);
  // e2e = ttft + (osl - 1) * tpot, by the definition of TPOT.
  EXPECT_NEAR(value(p, "e2e"), value(p, "ttft") + 64 * value(p, "tpot"), 1e-6 * value(p, "e2e"));
  EXPECT_NEAR(value(p, "total_throughput") / value(p, "output_throughput"), (256 + 65) / 65.0,
              1e-9);
  EXPECT_NEAR(value(p, "output_throughput") / value(p, "request_throughput"), 65, 1e-9);
  // 8.03e9 parameters in bf16.
  EXPECT_NEAR(value(p, "weights"), 16.06, 0.01);
  // 2 (K, V) * 8 heads * 128 * 2 B * 32 layers = 131072 B a token.
  EXPECT_NEAR(value(p, "kv_cache_per_request"), 131072.0 * (256 + 65) / 1e9, 1e-9);
}

// 100 sequences are no size that a plain TensorRT-LLM captures: its steps are eager and take longer
// than a tuned one's. Where the question does not say how the engine is started, the answer is the
// plain one's, and its interval holds the tuned one's.
TEST(Runner, IntervalsCoverBothWaysToStartAnEngine) {
  Runner runner{Bundle()};
  const auto tpot = [&](const std::string& setup) {
    const Point p = runner
                        .run(question("engine: {profile: trtllm" + setup +
                                      "}\nworkload: {isl: 256, osl: 64, batch: 100}\n"))
                        .points.at(0);
    return *p.find("tpot");
  };
  const Metric open = tpot(""), plain = tpot(", setup: default"), tuned = tpot(", setup: tuned");
  EXPECT_EQ(open.value, plain.value);
  EXPECT_GT(plain.value, 1.02 * tuned.value);
  EXPECT_EQ(open.low90, std::min(plain.low90, tuned.low90));
  EXPECT_EQ(open.high90, std::max(plain.high90, tuned.high90));
  EXPECT_LT(tuned.low90, tuned.value);
}

// No kernel of an L4 was measured: an estimate and a simulation say where their times are from.
TEST(Runner, SimulationsSayThatKernelsWereNotSwept) {
  Runner runner{Bundle()};
  const auto says = [&](const std::string& gpu, const std::string& asked) {
    const Point p =
        runner
            .run(read_scenario(
                all_kinds(),
                parse_yaml("model: llama-3-8b\nhardware: {gpu: " + gpu + "}\n" + asked, "s.yaml")))
            .points.at(0);
    return std::count_if(p.notes.begin(), p.notes.end(), [](const std::string& note) {
      return note.starts_with("decode: ") && note.find("without a sweep") != note.npos;
    });
  };
  for (const char* asked : {"workload: {isl: 512, osl: 64, batch: 1}\n",
                            "load: {isl: 512, osl: 64, rate: 0.2, requests: 4}\n"}) {
    EXPECT_EQ(says("l4", asked), 1) << asked;
    EXPECT_EQ(says("h100-sxm", asked), 0) << asked;
  }
}

// P4d has four 100G cards for its eight GPUs, P5 has 32 (AWS's documentation).
TEST(Runner, ANamedNodeSaysHowManyPortsItHas) {
  Runner runner{Bundle()};
  const auto note = [&](const std::string& hardware, int gpus) {
    const Point p =
        runner
            .run(read_scenario(all_kinds(),
                               parse_yaml("hardware: {" + hardware +
                                              "}\ncollective: {gpus: " + std::to_string(gpus) + "}",
                                          "s.yaml")))
            .points.at(0);
    for (const std::string& n : p.notes)
      if (n.find("port") != n.npos) return n;
    return std::string();
  };
  EXPECT_EQ(note("gpu: a100-80g-sxm, node: aws-p4d", 16),
            "a node of 8 GPUs has 4 ports of efa-100: 2 GPUs share a port");
  EXPECT_EQ(note("gpu: h100-sxm, node: aws-p5", 16),
            "a node of 8 GPUs has 32 ports of efa-100: 4 for each GPU");
  // The network alone selects the machine that is sold with the GPU and it.
  EXPECT_EQ(note("gpu: a100-80g-sxm, node: efa-100", 16),
            "a node of 8 GPUs has 4 ports of efa-100: 2 GPUs share a port");
  EXPECT_EQ(note("gpu: h100-sxm, node: efa-100", 16),
            "a node of 8 GPUs has 32 ports of efa-100: 4 for each GPU");
  EXPECT_EQ(note("gpu: h200-sxm, node: efa-200", 16),
            "a node of 8 GPUs has 16 ports of efa-200: 2 for each GPU");
  EXPECT_EQ(note("gpu: h100-sxm, node: 8xefa-100", 16),
            "a node of 8 GPUs has 8 ports of efa-100: one for each GPU");
  EXPECT_EQ(note("gpu: h100-sxm, node: aws-p5", 8), "");
  EXPECT_EQ(note("gpu: h100-sxm", 16), "");
}

// The fit of the older vLLM saw no model with latent attention.
TEST(Runner, ModelsWithUnseenLayersHaveWiderIntervals) {
  Runner runner{Bundle()};
  const auto spread = [&](const std::string& engine) {
    const Point p =
        runner
            .run(read_scenario(all_kinds(),
                               parse_yaml("model: deepseek-v2-lite\nhardware: {gpu: h100-sxm}\n"
                                          "engine: " +
                                              engine + "\nworkload: {isl: 256, osl: 65}\n",
                                          "s.yaml")))
            .points.at(0);
    const Metric& m = *p.find("tpot");
    return std::log(m.high90 / m.value) / normal_quantile(0.95);
  };
  const double unseen = spread("{profile: vllm-2024}");
  const double none = spread("{profile: vllm-2024, overrides: {unseen_error: 0}}");
  EXPECT_NEAR(std::sqrt(unseen * unseen - none * none), 0.25, 0.01);
}

TEST(Runner, OneTokenHasNoTpot) {
  Runner runner{Bundle()};
  const Point p = runner.run(question("workload: {osl: 1}\n")).points.at(0);
  EXPECT_EQ(p.find("tpot"), nullptr);
  EXPECT_TRUE(p.limit.starts_with("prefill")) << p.limit;
}

TEST(Runner, KvHeadsMakeAVariant) {
  Runner runner{Bundle()};
  const double gqa = value(runner.run(question("")).points.at(0), "kv_cache_per_request");
  const Point mha = runner.run(question("model_overrides: {kv_heads: 32}\n")).points.at(0);
  EXPECT_NEAR(value(mha, "kv_cache_per_request") / gqa, 4, 1e-9);
  EXPECT_NEAR(value(runner.run(question("")).points.at(0), "kv_cache_per_request"), gqa,
              0);  // the model is not changed
  EXPECT_THROW(runner.run(question("model_overrides: {kv_heads: 5}\n")), InputError);
}

// Models with several kinds of layers run the same op in each of them.
TEST(Runner, RowsOfABreakdownHaveDistinctNames) {
  Runner runner{Bundle()};
  const auto names = [&](const std::string& asked) {
    std::set<std::pair<std::string, std::string>> seen;
    const Answer answer = runner.run(read_scenario(all_kinds(), parse_yaml(asked, "s.yaml")));
    for (const KernelRow& k : answer.points.at(0).kernels)
      EXPECT_TRUE(seen.insert({k.phase, k.shown()}).second) << asked << k.phase << k.shown();
    return seen;
  };
  const std::string serving = "hardware: {gpu: h200-sxm}\nparallel: {tp: 8}\nmodel: ";
  EXPECT_TRUE(names(serving + "deepseek-v3").contains({"decode", "o_proj (dense)"}));
  EXPECT_TRUE(names(serving + "gpt-oss-120b").contains({"decode", "attn_decode (window 128)"}));
  EXPECT_TRUE(names(serving + "qwen3-next-80b-a3b").contains({"decode", "router (delta)"}));
  for (const char* model : {"gemma-3-27b", "glm-4.5", "llama-4-scout"}) names(serving + model);
  EXPECT_TRUE(names("hardware: {gpu: h100-sxm}\nmodel: mixtral-8x7b\n"
                    "training: {gpus: 16, ep: 8, tp: 2}")
                  .contains({"iteration", "router grad (elementwise)"}));
}

TEST(Runner, SaysWhetherTheLimitsAreMet) {
  Runner runner{Bundle()};
  const auto met = [&](const std::string& slo) {
    return runner.run(question("load: {rate: 4, requests: 50, isl: 256, osl: 32}\n" + slo))
        .points.at(0)
        .meets_slo;
  };
  EXPECT_EQ(met(""), std::nullopt);
  EXPECT_EQ(met("slo: {ttft: 10 s}"), true);
  EXPECT_EQ(met("slo: {ttft: 10 s, tpot: 1 us}"), false);
}

TEST(Runner, ALayoutThatCannotBe) {
  Runner runner{Bundle()};
  EXPECT_THROW(runner.run(question("parallel: {tp: 3}\n")), Infeasible);
  const Answer sweep = runner.run(question("parallel: {tp: [3, 2]}\n"));
  ASSERT_EQ(sweep.points.size(), 2u);
  EXPECT_FALSE(sweep.points[0].feasibility.fits);
  EXPECT_TRUE(sweep.points[1].feasibility.fits);
}

TEST(Runner, ACachedPromptIsLessWork) {
  Runner runner{Bundle()};
  const Point cold = runner.run(question("workload: {isl: 5120, past: 0}\n")).points.at(0);
  const Point warm = runner.run(question("workload: {isl: 5120, past: 4096}\n")).points.at(0);
  EXPECT_LT(value(warm, "ttft"), 0.4 * value(cold, "ttft"));
  EXPECT_THROW(runner.run(question("workload: {isl: 512, past: 512}\n")), InputError);
}

TEST(Runner, OverridesReachTheEngine) {
  Runner runner{Bundle()};
  const Answer a = runner.run(question("engine: {overrides: {memory: {utilization: 0.5}}}\n"));
  EXPECT_EQ(a.resolved["engine"]["constants"]["memory"]["utilization"], 0.5);
  EXPECT_LT(value(a.points[0], "max_concurrency"),
            value(runner.run(question("")).points[0], "max_concurrency"));
  EXPECT_THROW(runner.run(question("engine: {overrides: {memory: {utilisation: 0.5}}}\n")),
               InputError);
}

// Llama-3-8B: 32 layers, hidden 4096, intermediate 14336, vocabulary 128256, in bf16.
TEST(Runner, RowsOfABreakdownHaveTheirWork) {
  Runner runner{Bundle()};
  const Answer a = runner.run(read_scenario(
      all_kinds(),
      parse_yaml("model: llama-3-8b\nhardware: {gpu: h100-sxm}\nworkload: {batch: 4}", "s.yaml")));
  const auto row = [&a](const std::string& name) {
    for (const KernelRow& k : a.points.at(0).kernels)
      if (k.phase == "decode" && k.name == name) return k;
    return KernelRow();
  };
  EXPECT_DOUBLE_EQ(row("down_proj").flops.value(), 2.0 * 4 * 14336 * 4096 * 32);
  EXPECT_DOUBLE_EQ(row("lm_head").flops.value(), 2.0 * 4 * 4096 * 128256);
  const double weights = 2.0 * 4096 * 128256;
  EXPECT_GE(row("lm_head").bytes.value(), weights);
  EXPECT_LT(row("lm_head").bytes.value(), weights * 1.01);
}

// The prediction itself, and one each with fast and with slow steps.
TEST(Runner, AMeterSeesPointsAndRequests) {
  Runner runner{Bundle()};
  WorkMeter meter;
  RunOptions options;
  options.meter = &meter;
  runner.run(
      read_scenario(all_kinds(), parse_yaml("model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
                                            "load: {rate: [4, 8], requests: 2048, isl: 64, osl: 2}",
                                            "s.yaml")),
      options);
  EXPECT_EQ(meter.points.all, 2);
  EXPECT_EQ(meter.points.done, 1);
  EXPECT_EQ(meter.requests.all % (2 * 3 * 2048), 0);
  EXPECT_EQ(meter.requests.done, meter.requests.all);
}

TEST(Advice, NamesTheLargestCause) {
  Point p;
  auto add = [&p](const char* name, const char* part, const char* bound, double ms) {
    KernelRow k;
    k.phase = "decode", k.name = name, k.part = part, k.bound = bound, k.sizes = "gemm";
    k.time.value = milliseconds(ms);
    k.attends = k.part == "attention";
    p.kernels.push_back(k);
  };
  add("down_proj", "mlp", "memory", 3);
  add("attn_decode", "attention", "memory", 4);
  add("tp_all_reduce", "communication", "network", 2);
  add("up_proj", "mlp", "memory", 2);
  EXPECT_TRUE(advice(p, "decode").starts_with("decode is limited by reading weights (45 %"))
      << advice(p, "decode");
  EXPECT_EQ(advice(p, "prefill"), "");
}

}  // namespace runner_test
}  // namespace orrery
