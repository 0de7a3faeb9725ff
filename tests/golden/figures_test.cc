// Every metric of an answer is explained, and everything that is explained is in some answer.
#include "orrery/scenario/answer/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "orrery/flow/chakra/chakra.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace figures_test {

// Questions that no scenario of the suites asks.
constexpr const char* kOthers[] = {
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
load: {rate: 20, requests: 200, isl: 256, osl: 64}
slo: {classes: {all: {ttft: 1 s, tpot: 50 ms, e2e: 5 s}}}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
engine: {overrides: {scheduler: {order: priority}}}
load: {rate: 20, requests: 200, isl: 256, osl: 64, priorities: [1, 1]}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
load: {rate: 20, requests: 200, isl: 256, osl: 64}
autoscale: {policy: outstanding, target: 4, most: 3, interval: 1s, start_up: 1s}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
load: {rate: 20, requests: 200, isl: 256, osl: 64}
cluster: {replicas: 2}
failures: {at: [2], restart: 3s}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
load: {rate: 20, requests: 200, isl: 256, osl: 64}
disaggregation: {decode: 1}
autoscale: {policy: outstanding, target: 4, most: 3, interval: 1s, start_up: 1s}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm}
training: {gpus: 16, tp: 2, cp: 2, pp: 2, global_batch: 16, tokens: 1e9,
           eval_interval: 100, eval_iterations: 10, events: true}
chance: {failures_per_gpu_day: 0.001, checkpoint_write: 30s, restart: 5min, draws: 20}
cost: {price: 2}
)",
    R"(
model: llama-3-8b
hardware: {gpu: tpu-v4i-like}
parallel: {tp: 8}
cost: {price: 2}
workload: {batch: 1, isl: 128, osl: 16}
)",
    R"(
model: mixtral-8x7b
hardware: {gpu: h100-sxm}
training: {gpus: 64, tp: 4, ep: 8, seq: 8192, global_batch: 16, offload_optimizer: true}
)",
    R"(
model: llama-3-8b
hardware: {gpu: h100-sxm, power_limit: 400 W}
)",
    R"(
model: llama-3-8b
load: {rate: 4, requests: 100, isl: 256, osl: 32}
slo: {tpot: 50 ms}
plan: {gpu: [h100-sxm], tp: [1], pp: [1]}
)",
    R"(
model: llama-3-8b
training: {tokens: 1e9, stack: megatron, global_batch: 64}
plan: {gpu: [h100-sxm], gpu_counts: [8], tp: [2], cp: [1], by: 30 d}
)",
    R"(
hardware: {gpu: h100-sxm}
kernel: {op: gemm, m: 8, n: 1024, k: 1024}
cost: {price: 2}
energy: {carbon: 400}
)",
    "edge: {network: mobilenet_v2, device: raspberry-pi-5}",
    "edge: {network: llama-3-8b, device: rtx-4090}",
    "edge: {network: resnet8, device: ndp120-30mhz, precision: int8}",
    "replay: {trace: " ORRERY_SOURCE_DIR "/fuzz/corpus/kineto/data_parallel.json, scale: cpu=2}",
    "accelerator: {ask: map, arch: simba-like, workload: resnet50-conv2_3x3, valid: 10}",
    "accelerator: {arch: nvdla, workload: matmul_1024, convention: looptree, "
    "mapping: " ORRERY_SOURCE_DIR "/scenarios/accelerator/nvdla-matmul.looptree}",
    "accelerator: {ask: systolic, config: " ORRERY_SOURCE_DIR
    "/scenarios/accelerator/fixed/systolic.cfg, topology: " ORRERY_SOURCE_DIR
    "/scenarios/accelerator/fixed/products.csv}"};

std::string trace_of_one_node() {
  ChakraTrace t;
  t.nodes.emplace_back();
  t.nodes[0].type = ChakraNode::Type::kComp;
  t.nodes[0].duration = Seconds(1e-4);
  const std::string prefix = testing::TempDir() + "orrery-metric-meanings";
  std::ofstream(prefix + ".0.et", std::ios::binary) << write_chakra(t);
  return "hardware: {gpu: h100-sxm}\ncollective: {gpus: 8, fidelity: flow, chakra: " + prefix + "}";
}

std::string emissions() {
  const std::string path = testing::TempDir() + "orrery-metric-meanings.csv";
  std::ofstream file(path);
  file << "time,g_per_kwh\n";
  for (int h = 0; h < 24; ++h)
    file << "2026-03-01T" << h / 10 << h % 10 << ":00," << 100 + 10 * h << "\n";
  return "model: llama-3-8b\nhardware: {gpu: h100-sxm}\nenergy: {embodied: true, carbon: " + path +
         "}";
}

// Whether the kind of the question is part of the program.
bool is_known(const Node& document) {
  return std::all_of(document.keys().begin(), document.keys().end(), [](const std::string& key) {
    return all_kinds().keys().find(key) != nullptr;
  });
}

class Meanings : public testing::Test {
 protected:
  void see(const ScenarioSweep& s, bool memory_only = false) {
    RunOptions options;
    options.intervals = false;
    options.memory_only = memory_only;
    for (const Point& p : runner_.run(s, options).points) {
      for (const Metric& m : p.metrics) {
        const Figure* meaning = all_kinds().figure_of(m.name);
        ASSERT_NE(meaning, nullptr) << s.name << ": " << m.name;
        seen_.insert(meaning->name);
      }
    }
  }
  Runner runner_{Bundle()};
  std::set<std::string_view> seen_;
};

TEST_F(Meanings, AreThoseOfTheMetrics) {
  for (const char* folder : {"suite28", "suite45", "techniques"}) {
    const std::filesystem::path path =
        std::filesystem::path(ORRERY_SOURCE_DIR "/scenarios") / folder;
    for (const auto& file : std::filesystem::directory_iterator(path))
      see(read_scenario(all_kinds(), file.path()));
  }
  for (const char* text : kOthers) {
    const Node document = parse_yaml(text, "others.yaml");
    if (is_known(document)) see(read_scenario(all_kinds(), document));
  }
  see(read_scenario(all_kinds(), parse_yaml(emissions(), "emissions.yaml")));
  see(read_scenario(
      all_kinds(),
      parse_yaml(emissions() + "\ntraining: {gpus: 8, tp: 2, global_batch: 8, tokens: 1e9}",
                 "run.yaml")));
  see(read_scenario(all_kinds(), parse_yaml(trace_of_one_node(), "trace.yaml")));
  see(read_scenario(all_kinds(),
                    parse_yaml("model: llama-3-8b\nhardware: {gpu: h100-sxm}\n", "memory.yaml")),
      true);
  for (const Figure& m : all_kinds().figures())
    EXPECT_TRUE(seen_.contains(m.name)) << "in no answer: " << m.name;
}

TEST(Figures, QuantilesAndComparisonsHaveTheirMetrics) {
  EXPECT_EQ(find_figure("ttft_p99"), find_figure("ttft"));
  EXPECT_EQ(find_figure("collocated_tpot_p50"), find_figure("tpot"));
  EXPECT_EQ(find_figure(percentile_name("ttft_class_chat", 99.9)), find_figure("ttft_class_chat"));
  EXPECT_EQ(find_figure("ttft_p101"), nullptr);
  EXPECT_EQ(find_figure("ttft_pages"), nullptr);
  EXPECT_EQ(find_figure("collocated_"), nullptr);
  EXPECT_EQ(find_figure(""), nullptr);
}

}  // namespace figures_test
}  // namespace orrery
