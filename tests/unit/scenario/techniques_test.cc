// Techniques of a service: their combinations, and the messages of those that are refused.
#include "orrery/scenario/kinds/service/techniques.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace techniques_test {

using testing::HasSubstr;

constexpr const char* kService =
    "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nload: {requests: 20, rate: 5}\n";

Answer run(const std::string& more, const std::string& base = kService) {
  static Runner runner{Bundle()};
  RunOptions options;
  options.intervals = false;
  return runner.run(read_scenario(all_kinds(), parse_yaml(base + more, "file.yaml")), options);
}

template <class Error = InputError>
std::string refusal(const std::string& more, const std::string& base = kService) {
  return refusal_of<Error>([&] { run(more, base); });
}

double value(const Answer& a, std::string_view name) {
  const Metric* m = a.points.at(0).find(name);
  return m ? m->value : -1;
}

TEST(Techniques, NeedALoad) {
  EXPECT_THAT(refusal("lora: {adapters: 3}\n",
                      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nworkload: {isl: 10}\n"),
              HasSubstr("needs a load"));
}

// vLLM captures graphs up to two tokens for each sequence of max_num_seqs. Prompts of 400 tokens
// are replayed with 256 sequences (512 tokens), and eager with 4, unless the user sets the limit.
// Eager prompts wait for a slow host.
TEST(Service, AServerForFewSequencesRunsItsPromptsEagerly) {
  const std::string lone =
      "model: deepseek-r1\nhardware: {gpu: h200-sxm}\nparallel: {tp: 8}\n"
      "load: {requests: 3, rate: 0.1, isl: 400, osl: 4}\n";
  const auto ttft = [&](const char* scheduler, const char* execution = "") {
    return value(run(fmt::format("engine: {{profile: vllm, overrides: {{scheduler: {{{}}}, "
                                 "execution: {{host_per_moe_layer: 2 ms{}}}}}}}\n",
                                 scheduler, execution),
                     lone),
                 "ttft");
  };
  const double usual = ttft("");
  EXPECT_EQ(ttft("max_num_seqs: 256"), usual);
  EXPECT_GT(ttft("max_num_seqs: 4"), usual + 20);
  EXPECT_EQ(ttft("max_num_seqs: 4", ", graph_tokens: 512"), usual);
  // Verifying 5 tokens of each of 4 sequences runs from graphs all the same.
  const std::string drafts =
      "model: deepseek-r1\nhardware: {gpu: h200-sxm}\nparallel: {tp: 8}\n"
      "load: {requests: 4, arrivals: at-once, isl: 400, osl: 40}\n"
      "speculation: {method: ngram, tokens: 4}\n";
  const auto tpot = [&](int sequences) {
    return value(run(fmt::format("engine: {{profile: vllm, overrides: {{scheduler: {{max_num_seqs: "
                                 "{}}}}}}}\n",
                                 sequences),
                     drafts),
                 "tpot");
  };
  EXPECT_LT(tpot(4), 1.2 * tpot(256));
}

// A single request never waits in the queue of the scheduler. The time of the front end is a
// separate metric.
TEST(Service, TheQueueBeginsBehindTheFrontEnd) {
  const std::string lone =
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
      "load: {requests: 5, rate: 0.1, isl: 1000, osl: 4}\n"
      "engine: {overrides: {execution: {request_overhead: 40 ms, overhead_per_prompt_token: 10 "
      "us}}}\n";
  const Answer a = run("", lone);
  EXPECT_NEAR(value(a, "front_end"), 50, 1e-6);
  EXPECT_NEAR(value(a, "queue_p99"), 0, 1e-6);
  EXPECT_NEAR(value(a, "waiting_q1"), 0, 1e-6);
  EXPECT_GT(value(a, "ttft"), 50);
  // Sent at once, the second waits for the first one's step.
  const Answer two = run("",
                         "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
                         "load: {requests: 2, arrivals: at-once, isl: 1000, osl: 1}\n");
  EXPECT_NEAR(value(two, "front_end") + value(two, "queue_p50") * 2,
              value(two, "ttft_p50") * 2 - value(two, "ttft_p99"), 5);
  EXPECT_GT(value(two, "queue_p99"), 10);
}

// A file of lengths alone is sent at the rate asked for; a prompt keeps its output.
TEST(Service, LengthsOfAFileAreSentAtARate) {
  const auto file = std::filesystem::path(testing::TempDir()) / "orrery_lengths.csv";
  std::ofstream(file) << "input_tokens,output_tokens\n812,95\n1450,210\n96,640\n";
  RunOptions options;
  options.intervals = false;
  options.requests = true;
  Runner runner{Bundle()};
  const auto ask = [&](const std::string& load) {
    return service_detail(
               runner
                   .run(read_scenario(
                            all_kinds(),
                            parse_yaml(
                                "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nload: {trace: " +
                                    file.string() + load + "}\n",
                                "file.yaml")),
                        options)
                   .points.at(0))
        .requests;
  };
  const auto rows = ask(", rate: 4, arrivals: even");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].input, 1450);
  EXPECT_EQ(rows[1].output, 210);
  EXPECT_NEAR((rows[2].arrival - rows[1].arrival).value(), 0.25, 1e-9);
  // One user: the next is sent when the one before has ended.
  const auto loop = ask(", arrivals: at-once, max_concurrency: 1");
  EXPECT_NEAR(loop[2].arrival.value(), (loop[1].arrival + loop[1].e2e).value(), 1e-6);
}

TEST(Techniques, SpeculationRefusesWhatItLacks) {
  EXPECT_THAT(refusal("speculation: {method: draft_model}\n"), HasSubstr("speculation.model"));
  EXPECT_THAT(refusal("speculation: {method: eagle, model: llama-2-7b}\n"),
              HasSubstr("needs speculation.method draft_model"));
  EXPECT_THAT(refusal("speculation: {method: egale}\n"), HasSubstr("eagle"));
  EXPECT_THAT(refusal("speculation: {method: ngram, acceptance: 1.2}\n"), HasSubstr("acceptance"));
  EXPECT_THAT(refusal("speculation: {method: ngram, tokens: 8, tree_tokens: 4}\n"),
              HasSubstr("tree"));
  EXPECT_THAT(refusal<NoData>("speculation: {method: mtp}\n"), HasSubstr("multi-token"));
}

TEST(Techniques, LookUpIsFreeAndADraftModelTakesMemory) {
  const Answer plain = run(""), ngram = run("speculation: {method: ngram, acceptance: 0.5}\n"),
               draft = run("speculation: {method: draft_model, model: llama-3.2-1b}\n");
  EXPECT_EQ(value(ngram, "kv_tokens"), value(plain, "kv_tokens"));
  EXPECT_LT(value(draft, "kv_tokens"), value(plain, "kv_tokens"));
  EXPECT_GT(value(ngram, "speedup"), 1.2);
  EXPECT_EQ(value(plain, "speedup"), -1);
}

TEST(Techniques, AShareOfAStepIsCharged) {
  const Answer free = run("speculation: {method: eagle, cost: 0}\n"),
               half = run("speculation: {method: eagle, cost: 0.5}\n");
  // Four passes of half a step each, and one that verifies: about a third of the speed.
  EXPECT_NEAR(value(half, "speedup") / value(free, "speedup"), 1.0 / 3, 0.06);
}

TEST(Techniques, MemoryChoicesThatContradict) {
  EXPECT_THAT(refusal("kv: {allocator: contiguous, host_memory: 10 GB}\n"),
              HasSubstr("prefix cache"));
  EXPECT_THAT(refusal("kv: {allocator: contiguous, disk_memory: 1 TB}\n"),
              HasSubstr("kv.disk_memory: keeps what the prefix cache gives up"));
  EXPECT_THAT(
      refusal<Infeasible>("kv: {allocator: contiguous}\nworkload: {max_model_len: 10000000}\n"),
      HasSubstr("not one sequence"));
}

TEST(Techniques, SchedulersHaveWhatTheirEnginesHave) {
  for (const char* engine : {"vllm", "sglang", "trtllm"}) {
    const std::string profile = std::string("engine: {profile: ") + engine + "}\n";
    const Answer a = run("speculation: {method: ngram, acceptance: 0.6}\n" + profile);
    EXPECT_GT(value(a, "accepted_length"), 1.5) << engine;
    EXPECT_GT(value(a, "speedup"), 1.1) << engine;
    EXPECT_GE(value(run("kv: {host_memory: 10 GB}\n" + profile), "host_hits"), 0) << engine;
  }
  const std::string orca = "engine: {overrides: {scheduler: {policy: orca}}}\n";
  EXPECT_THAT(refusal<NoData>("speculation: {method: ngram}\n" + orca),
              HasSubstr("trtllm-max-utilization, not orca"));
  EXPECT_THAT(refusal<NoData>("parallel: {pp: 2}\nspeculation: {method: ngram}\n"),
              HasSubstr("pipeline stages"));
}

TEST(Techniques, AdaptersInTheCacheAreLightLlms) {
  const std::string policy = "engine: {overrides: {scheduler: {policy: lightllm}}}\n";
  const Answer plain = run(policy), paged = run("lora: {adapters: 20, memory: paged}\n" + policy);
  EXPECT_EQ(value(paged, "kv_tokens"), value(plain, "kv_tokens"));
  EXPECT_GE(value(paged, "adapter_loads"), 20 * 0.5);  // of 20 requests, few of them together
  EXPECT_GT(value(paged, "kv_use"), value(plain, "kv_use"));
  EXPECT_THAT(refusal<NoData>("lora: {adapters: 20, memory: paged}\n"), HasSubstr("lightllm"));
  EXPECT_THAT(refusal("lora: {adapters: 20, memory: paged, slots: 3}\n" + policy),
              HasSubstr("lora.slots"));
}

// gpt-oss-20b has 24 layers of equal size. Half of them hold 0.8 times as many tokens.
TEST(Service, SglangKeepsMoreTokensInTwoPools) {
  const std::string sglang =
      "model: gpt-oss-20b\nhardware: {gpu: h100-sxm}\nload: {requests: 20, rate: 5}\n"
      "engine: {profile: sglang";
  const double two = value(run("}\n", sglang), "kv_tokens"),
               one = value(run(", overrides: {memory: {hybrid_kv_cache: false}}}\n", sglang),
                           "kv_tokens");
  EXPECT_NEAR(two / one, 24 / (12 + 0.8 * 12), 1e-3);
}

// The load is twice the capacity of the engine: requests of priority 0 do not wait, the others do.
TEST(Service, ThoseOfTheFirstPriorityGoFirst) {
  const std::string load =
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
      "load: {requests: 400, rate: 100, isl: 1024, osl: 64, priorities: [1, 3]}\n";
  const Answer a = run("engine: {overrides: {scheduler: {order: priority}}}\n", load);
  EXPECT_LT(value(a, "ttft_priority_0_p99"), value(a, "ttft_priority_1"));
  EXPECT_LT(3 * value(a, "ttft_priority_0"), value(a, "ttft_priority_1"));
  EXPECT_THAT(refusal("", load), HasSubstr("needs engine.scheduler.order priority"));
  EXPECT_EQ(value(run(""), "ttft_priority_0"), -1);
  EXPECT_THAT(refusal("engine: {overrides: {scheduler: {order: lpm}}}\n"),
              HasSubstr("the scheduler vllm does not sort by the longest cached prefix"));
}

TEST(Techniques, BeamsAreSearchedOutsideOfTheEngine) {
  const Answer plain = run(""), beams = run("load: {requests: 20, rate: 5, beam_width: 4}\n",
                                            "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n");
  EXPECT_GT(value(beams, "tpot"), 2 * value(plain, "tpot"));  // a round is not one graph replay
  EXPECT_GT(value(beams, "prefix_hits"), 90);
  EXPECT_LT(value(beams, "prefix_hits"), 100);
  const std::string load =
      "model: llama-3-8b\nhardware: {gpu: h100-sxm}\n"
      "load: {requests: 20, rate: 5, beam_width: 4";
  EXPECT_THAT(refusal<NoData>("}\nengine: {profile: sglang}\n", load),
              HasSubstr("scheduler vllm, not sglang"));
  EXPECT_THAT(refusal<NoData>("}\nspeculation: {method: ngram}\n", load),
              HasSubstr("not supported with speculation"));
  EXPECT_THAT(refusal(", samples: 2}\n", load), HasSubstr("load.samples"));
}

TEST(Techniques, AdaptersTakeTheirRoomFromTheCache) {
  const Answer plain = run(""), lora = run("lora: {adapters: 20, rank: 64, slots: 10}\n");
  const double tokens = value(plain, "kv_tokens") - value(lora, "kv_tokens");
  // 128 KiB a token; whole blocks.
  EXPECT_NEAR(tokens * 131072, 10 * value(lora, "adapter_size") * 1e6, 17 * 131072);
  EXPECT_GT(value(lora, "tpot_overhead"), 0);
}

}  // namespace techniques_test
}  // namespace orrery
