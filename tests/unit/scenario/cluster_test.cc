// Clusters of simulated services: their keys and their answers.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace cluster_test {

ScenarioSweep question(const std::string& rest, const char* model = "llama-3-8b",
                       const char* gpu = "h100-sxm") {
  return read_scenario(
      all_kinds(),
      parse_yaml(fmt::format("model: {}\nhardware: {{gpu: {}}}\n{}", model, gpu, rest), "s.yaml"));
}

Point answer(const std::string& rest, const char* model = "llama-3-8b",
             const char* gpu = "h100-sxm", bool intervals = false) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = intervals;
  return runner.run(question(rest, model, gpu), options).points.at(0);
}

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m ? m->value : 0;
}

TEST(PoolChoice, ReadsItsParts) {
  PoolChoice p = PoolChoice::parse("2*a100-80g-sxm:tp4:pp2:dp3:ep6:seqs64:tokens4096");
  EXPECT_EQ(p.replicas(), 2);
  EXPECT_EQ(p.gpu, "a100-80g-sxm");
  EXPECT_EQ(p.tp, 4);
  EXPECT_EQ(p.pp, 2);
  EXPECT_EQ(p.dp, 3);
  EXPECT_EQ(p.ep, 6);
  EXPECT_EQ(p.seqs, 64);
  EXPECT_EQ(p.tokens, 4096);
  p = PoolChoice::parse("4:tp2");
  EXPECT_EQ(p.replicas(), 4);
  EXPECT_EQ(p.gpu, "");
  EXPECT_FALSE(p.pp);
  p = PoolChoice::parse("h100-sxm");
  EXPECT_EQ(p.replicas(), 1);
  EXPECT_EQ(p.gpu, "h100-sxm");
}

TEST(PoolChoice, IsWrittenAsItWasRead) {
  for (const char* text : {"2*a100-80g-sxm:tp4:pp2:dp3:ep6:seqs64:tokens4096", "4:tp2", "h100-sxm",
                           "1*h100-sxm", "1", "3:ep8:tokens512"})
    EXPECT_EQ(PoolChoice::parse(text).text(), text);
  EXPECT_EQ(PoolChoice::parse("2:pp4:tp2").text(), "2:tp2:pp4");
}

TEST(PoolChoice, MalformedTextIsRefused) {
  for (const char* text : {"", ":tp2", "0*h100-sxm", "-1*x", "2*x:tp", "2*x:tp0", "x:tpx", "x:zz2",
                           "x:", "99999999999999999999*x", "x::tp2"})
    EXPECT_THROW(PoolChoice::parse(text), InputError) << text;
}

TEST(Cluster, BadPoolsAreRefusedWhereTheyStand) {
  try {
    question("load: {rate: 1}\ndisaggregation: {decode: \"1:pt2\"}\n");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("disaggregation.decode"), std::string::npos) << e.what();
  }
  EXPECT_THROW(question("load: {rate: 1}\ncluster: {pools: [\"a:b:c\"]}\n"), InputError);
  EXPECT_THROW(answer("load: {requests: 1}\ncluster: {pools: [\"h1000-sxm\"]}\n"), InputError);
  EXPECT_THROW(answer("load: {requests: 1}\ncluster: {pools: [1]}\ndisaggregation: {decode: 1}\n"),
               InputError);
  EXPECT_THROW(answer("load: {requests: 1}\ncluster: {pools: [\"1:tp3\"]}\n"), Infeasible);
}

// One request at a time passes through all stages: the closed form.
TEST(Cluster, PipelineStagesAgreeWithTheClosedForm) {
  const Point simulated = answer(
      "parallel: {pp: 2}\nload: {requests: 5, isl: 512, osl: 64, max_concurrency: 1, arrivals: "
      "at-once}\n");
  const Point closed = answer("parallel: {pp: 2}\nworkload: {isl: 512, osl: 64, batch: 1}\n");
  EXPECT_NEAR(value(simulated, "tpot") / value(closed, "tpot"), 1, 0.005);
  // The closed form takes the slowest stage for all.
  EXPECT_LE(value(simulated, "ttft"), value(closed, "ttft") * (1 + 1e-6));
  EXPECT_GT(value(simulated, "ttft"), 0.95 * value(closed, "ttft"));
}

// Two stages with a batch each make more tokens than one stage alone, and less than twice as many.
TEST(Cluster, PipelineStagesAddThroughput) {
  const char* load = "load: {requests: 300, isl: 1024, osl: 64, rate: 1000}\n";
  const double one = value(answer(load), "output_throughput");
  const double two = value(answer(std::string("parallel: {pp: 2}\n") + load), "output_throughput");
  EXPECT_GT(two / one, 1.5);
  EXPECT_LT(two / one, 2.1);
}

TEST(Cluster, DataParallelRanksAgreeWithTheClosedForm) {
  // 64 sequences on 8 ranks.
  const Point simulated = answer(
      "parallel: {dp: 8, ep: 8}\nload: {requests: 64, isl: 16, osl: 200, arrivals: "
      "at-once}\n",
      "deepseek-v3", "h200-sxm");
  const Point closed =
      answer("parallel: {dp: 8, ep: 8}\nworkload: {isl: 16, osl: 200, batch: 64}\n", "deepseek-v3",
             "h200-sxm");
  EXPECT_NEAR(value(simulated, "tpot") / value(closed, "tpot"), 1, 0.02);
  // Each rank has its own KV memory.
  EXPECT_GT(value(simulated, "kv_tokens"), 8 * 30000);
}

TEST(Cluster, KvTransfersTakeTheirTime) {
  const char* load = "load: {requests: 50, isl: 1024, osl: 8, rate: 1}\n";
  // 80 layers * 2 * 8 heads * 128 * 2 B * 1024 tokens = 335.5 MB, on 4 GPUs in one node: NVLink 3
  // has 300 GB/s each way.
  const Point node = answer(std::string("parallel: {tp: 4}\ndisaggregation: {decode: 1}\n") + load,
                            "llama-2-70b", "a100-80g-sxm");
  const double least = 335.5e6 / 4 / 300e9 * 1e3;
  EXPECT_GT(value(node, "kv_transfer_alone"), least);
  EXPECT_LT(value(node, "kv_transfer_alone"), 4 * least);
  EXPECT_GE(value(node, "kv_transfer"), value(node, "kv_transfer_alone") * 0.999);
  // 8 and 8 GPUs are two nodes: 25 GB/s each.
  const Point nodes = answer(std::string("parallel: {tp: 8}\ndisaggregation: {decode: 1}\n") + load,
                             "llama-2-70b", "a100-80g-sxm");
  EXPECT_GT(value(nodes, "kv_transfer_alone"), 335.5e6 / 8 / 25e9 * 1e3);
  EXPECT_LT(value(nodes, "kv_transfer_alone"), 4 * 335.5e6 / 8 / 25e9 * 1e3);
  EXPECT_EQ(nodes.at["gpus"], 16);
}

// The drafter of DeepSeek-V3 is one layer beside 61.
TEST(Cluster, TheKvCacheOfADrafterMovesToo) {
  const auto ask = [](const char* speculation) {
    return answer(fmt::format("parallel: {{tp: 8}}\ndisaggregation: {{decode: \"1:tp8\"}}\n{}load: "
                              "{{requests: 20, isl: 4096, osl: 32, rate: 1}}\n",
                              speculation),
                  "deepseek-v3", "h200-sxm");
  };
  const Point plain = ask(""),
              drafted = ask("speculation: {method: mtp, tokens: 1, acceptance: 0.8}\n");
  EXPECT_GT(value(drafted, "kv_transfer_alone"), value(plain, "kv_transfer_alone"));
  EXPECT_LT(value(drafted, "kv_transfer_alone"), value(plain, "kv_transfer_alone") * 63.0 / 61);
  EXPECT_NEAR(value(drafted, "accepted_length"), 1.8, 0.1);
  EXPECT_LT(value(drafted, "tpot"), value(plain, "tpot"));
  EXPECT_GT(value(drafted, "speedup"), 1);
}

TEST(Cluster, AdaptersAndCacheTiersGoWithDisaggregation) {
  const Point adapted = answer(
      "disaggregation: {decode: 1}\nlora: {adapters: 8, slots: 2}\nload: {requests: 60, isl: 512, "
      "osl: 64, rate: 4}\n");
  EXPECT_GT(value(adapted, "adapter_loads"), 8);
  EXPECT_GT(value(adapted, "adapter_loading"), 0);
  // 40 GB of conversations do not fit a GPU that has given most of its memory away.
  const auto tiered = [](const char* kv) {
    return answer(fmt::format(
        "engine: {{overrides: {{memory: {{utilization: 0.3}}}}}}\ndisaggregation: {{decode: "
        "1}}\n{}load: {{requests: 400, isl: 2048, osl: 64, rate: 4, turns: 4, tool_time: 20000}}\n",
        kv));
  };
  const Point tiers = tiered("kv: {host_memory: 200 GB}\n");
  EXPECT_GT(value(tiers, "host_hits"), 5);
  EXPECT_LT(value(tiers, "ttft"), value(tiered(""), "ttft"));
}

TEST(Cluster, PoolsThatPrefillAndDecodeScaleApart) {
  const Point p = answer(
      "disaggregation: {decode: 1}\nautoscale: {policy: outstanding, target: 8, most: 4, "
      "decode_target: 16, decode_most: 6, start_up: 2 s, interval: 1 s}\nload: {requests: 1000, "
      "isl: 1024, osl: 256, rate: 40}\n");
  EXPECT_GT(value(p, "decode_engines"), 1.5);
  EXPECT_GE(value(p, "prefill_engines"), 1);
  EXPECT_NEAR(value(p, "engines"), value(p, "prefill_engines") + value(p, "decode_engines"), 1e-9);
  EXPECT_EQ(p.find("collocated_ttft"), nullptr);
  EXPECT_THROW(answer("autoscale: {policy: queue, decode_target: 2}\nload: {rate: 1}\n"),
               InputError);
}

TEST(Cluster, FailuresOfDisaggregatedEnginesCostTimeAndNoRequest) {
  const char* load = "load: {requests: 300, isl: 1024, osl: 128, rate: 10}\n";
  const Point whole =
      answer(std::string("disaggregation: {decode: 2}\ncluster: {replicas: 2}\n") + load);
  const Point failing =
      answer(std::string(
                 "disaggregation: {decode: 2}\ncluster: {replicas: 2}\nfailures: {mean_time: 15 s, "
                 "restart: 3 s}\n") +
             load);
  EXPECT_GT(value(failing, "failures"), 2);
  EXPECT_GT(value(failing, "retries"), 2);
  EXPECT_GT(value(failing, "e2e"), value(whole, "e2e"));
  EXPECT_EQ(value(failing, "rejected"), 0);
}

TEST(Cluster, LayerByLayerHidesTheTransfer) {
  const auto ask = [](const char* transfer) {
    return value(answer(fmt::format("parallel: {{tp: 8}}\ndisaggregation: {{decode: 1, transfer: "
                                    "{}}}\nload: {{requests: 50, isl: 1024, osl: 8, rate: 0.5}}\n",
                                    transfer),
                        "llama-2-70b", "a100-80g-sxm"),
                 "kv_transfer_p50");
  };
  // 80 layers: one is left.
  EXPECT_NEAR(ask("layerwise"), ask("whole") / 80, ask("whole") / 800);
}

TEST(Cluster, DecodesAreNotDisturbedByPromptsWhereTheyAreApart) {
  const Point p = answer(
      "disaggregation: {decode: 1}\nload: {requests: 400, isl: 4096, osl: 128, rate: 10}\nslo: "
      "{tpot: 20 ms}\n");
  EXPECT_LT(value(p, "tpot_p99"), value(p, "collocated_tpot_p99"));
  EXPECT_GT(value(p, "prefill_busy"), 10);
  EXPECT_LE(value(p, "goodput"), value(p, "request_throughput"));
  EXPECT_GT(value(p, "collocated_goodput"), 0);
}

TEST(Cluster, FasterPoolsTakeMore) {
  const Point slow = answer("cluster: {replicas: 2}\nload: {requests: 400, rate: 12}\n",
                            "llama-3-8b", "a100-80g-sxm");
  const Point mixed = answer(
      "cluster: {replicas: 1, pools: [h100-sxm], router: slo}\nload: {requests: 400, rate: 12}\n",
      "llama-3-8b", "a100-80g-sxm");
  EXPECT_LT(value(mixed, "ttft"), value(slow, "ttft"));
  EXPECT_LT(value(mixed, "tpot"), value(slow, "tpot"));
}

TEST(Cluster, ElasticFleetsUseFewerGpuHours) {
  const char* load =
      "load: {requests: 2000, rate: 2, arrivals: ramp, end_rate: 30, period: 100 s}\n";
  const Point fixed = answer(std::string("cluster: {replicas: 4}\n") + load);
  const Point elastic = answer(
      std::string("autoscale: {policy: outstanding, target: 16, most: 4, start_up: 5 s, interval: "
                  "2 s}\n") +
      load);
  EXPECT_LT(value(elastic, "engines"), 4);
  EXPECT_GT(value(elastic, "most_engines"), 1);
  EXPECT_GT(value(elastic, "ttft"), value(fixed, "ttft"));
  EXPECT_EQ(value(elastic, "rejected"), 0);
}

TEST(Cluster, FailuresCostTimeAndNoRequest) {
  const char* load = "cluster: {replicas: 2}\nload: {requests: 1000, rate: 10}\n";
  const Point p = answer(std::string("failures: {mean_time: 20 s, restart: 5 s}\n") + load);
  EXPECT_GT(value(p, "failures"), 2);
  EXPECT_GT(value(p, "retries"), 0);
  EXPECT_EQ(value(p, "rejected"), 0);
  EXPECT_GT(value(p, "e2e_p99"), value(answer(load), "e2e_p99"));
}

TEST(Cluster, TimesThatNoClusterHasAreRefused) {
  EXPECT_THROW(answer("cluster: {router_refresh: 1e9 s}\n"), InputError);
  EXPECT_THROW(answer("autoscale: {policy: queue, interval: 1 us}\n"), InputError);
  EXPECT_THROW(answer("failures: {mean_time: 1 us}\n"), InputError);
  EXPECT_THROW(answer("failures: {restart: 1e9 s}\n"), InputError);
  EXPECT_THROW(
      answer("load: {requests: 5}\nengine: {overrides: {execution: {host_per_step: 1e9 s}}}\n"),
      InputError);
}

TEST(Repeat, FiguresAreMeansOverTheSeeds) {
  const auto ask = [](int seed, int repeat, bool intervals) {
    return answer(
        fmt::format("load: {{requests: 100, rate: 20, seed: {}, repeat: {}}}\n", seed, repeat),
        "llama-3-8b", "h100-sxm", intervals);
  };
  double sum = 0, squares = 0;
  for (int seed = 0; seed < 4; ++seed) {
    const double v = value(ask(seed, 1, false), "ttft");
    sum += v;
    squares += v * v;
  }
  const Metric m = *ask(0, 4, false).find("ttft");
  EXPECT_NEAR(m.value, sum / 4, 1e-9 * sum);
  // Student's t: 2.353 at 3 degrees of freedom.
  const double error = std::sqrt((squares - sum * sum / 4) / 3 / 4);
  EXPECT_NEAR(m.high90 - m.value, 2.353 * error, 1e-6);
  EXPECT_NEAR(m.value - m.low90, 2.353 * error, 1e-6);
  const Metric wide = *ask(0, 4, true).find("ttft");
  EXPECT_GT(wide.high90 - wide.value, m.high90 - m.value);
}

// Some seeds always meet the limit, some do not. The interval of a share ends at 100 %.
TEST(Repeat, SharesStayShares) {
  const Point p = answer("load: {requests: 60, rate: 20, repeat: 5}\nslo: {ttft: 60 ms}\n",
                         "llama-3-8b", "h100-sxm", true);
  for (const Metric& m : p.metrics) {
    if (m.unit != "%") continue;
    EXPECT_GE(m.low90, 0) << m.name;
    EXPECT_LE(m.high90, 100) << m.name;
    EXPECT_LE(m.high50, m.high90) << m.name;
  }
}

// The hit rate is the tokens found of counted prompts over the tokens of counted prompts; prompts
// of the warm-up count in neither.
TEST(Cluster, PrefixHitsAreOfTheRequestsThatCount) {
  const Point p = answer(
      "load: {requests: 200, rate: 5, isl: 1000, osl: 8, shared_prefix: 800, warmup: 180}\n");
  EXPECT_NEAR(value(p, "prefix_hits"), 80, 1);
}

// Cached when it was prefilled and again when its blocks were taken to decode: it counts once.
TEST(Cluster, PrefixHitsOfPrefillAndDecodeApart) {
  const Point p = answer(
      "load: {requests: 100, rate: 2, isl: 1000, osl: 8, shared_prefix: 800}\n"
      "disaggregation: {decode: '1'}\n");
  EXPECT_LE(value(p, "prefix_hits"), 80);
  EXPECT_GT(value(p, "prefix_hits"), 75);
}

// 8 conversations of 6 turns, one after the other, each turn 1 s after the one before.
TEST(Cluster, ToolsTakeTimeBetweenTurns) {
  const std::string load =
      "load: {requests: 48, arrivals: at-once, isl: 256, osl: 16, turns: 6, max_concurrency: 1";
  const Point none = answer(load + "}\n"), tools = answer(load + ", tool_time: 1000}\n");
  EXPECT_NEAR(value(tools, "duration") - value(none, "duration"), 8 * 5 * 1.0, 1e-6);
  EXPECT_NEAR(value(tools, "e2e"), value(none, "e2e"), 1e-6);
  EXPECT_LT(value(tools, "busy"), value(none, "busy"));
}

// A note gives the number of rejected requests and the reason; the figures are of the requests that
// ran.
TEST(Cluster, NotesSayWhyRequestsAreTurnedAway) {
  const auto has = [](const Point& p, const std::string& text) {
    return std::find(p.notes.begin(), p.notes.end(), text) != p.notes.end();
  };
  const std::string half = "load: {requests: 40, rate: 2, osl: 8, isl: 500 | ";
  const Point long_ones = answer(half + "9000}\n");
  const auto turned_away = std::llround(value(long_ones, "rejected"));
  ASSERT_GT(turned_away, 0);
  ASSERT_LT(turned_away, 40);
  EXPECT_TRUE(has(long_ones, fmt::format("{} of 40 requests were rejected: prompt and output "
                                         "exceed 8192 tokens (max_model_len)",
                                         turned_away)));
  // A quarter of the memory: weights and room for some 30,000 tokens.
  const Point large_ones =
      answer(half + "60000}\nengine: {overrides: {memory: {utilization: 0.25}}}\n", "llama-3.1-8b");
  ASSERT_GT(value(large_ones, "rejected"), 0);
  EXPECT_TRUE(
      has(large_ones, fmt::format("{} of 40 requests were rejected: longer than the whole KV cache",
                                  std::llround(value(large_ones, "rejected")))));
  for (const std::string& note : answer(half + "600}\n").notes)
    EXPECT_EQ(note.find("turned away"), std::string::npos) << note;
}

// A rate is not to blame for requests that can never run.
TEST(Cluster, TheSearchForARateSaysThatRequestsCanNeverRun) {
  try {
    answer(
        "load: {requests: 40, osl: 8, isl: 500 | 9000, find_max_rate: true}\nslo: {ttft: 1 s}\n");
    FAIL() << "a rate was found";
  } catch (const Infeasible& e) {
    EXPECT_NE(std::string(e.what()).find(" requests can never run"), std::string::npos) << e.what();
  }
}

TEST(Repeat, TheSameOnAnyNumberOfThreads) {
  const auto ask = [](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    return to_json(answer("load: {requests: 200, rate: 20, repeat: 6}\n", "llama-3-8b", "h100-sxm",
                          true),
                   true)
        .dump();
  };
  EXPECT_EQ(ask(1), ask(4));
}

TEST(Cluster, SamplesOfAPromptComputeItOnce) {
  const std::string load = "load: {requests: 20, arrivals: even, rate: 1, isl: 4096, osl: 32";
  const Point one = answer(load + "}\n"), four = answer(load + ", samples: 4}\n");
  EXPECT_EQ(value(four, "requests"), 80);
  EXPECT_NEAR(value(four, "prefix_hits"), 75, 1);
  EXPECT_LT(value(four, "ttft"), 1.25 * value(one, "ttft"));
}

}  // namespace cluster_test
}  // namespace orrery
