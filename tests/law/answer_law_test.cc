// Laws of whole answers, over the bundled models and several GPUs.
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/architecture/parameters.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace answer_law_test {

const std::vector<std::string> kGpus = {"h100-sxm",     "a100-80g-sxm", "l40s",
                                        "v100-32g-sxm", "mi300x",       "b200-sxm"};

Runner& runner() {
  static Runner r{Bundle()};
  return r;
}

Scenario question(const std::string& model, const std::string& gpu) {
  Scenario s;
  s.model = model;
  s.hardware.gpu = gpu;
  s.ask<SteadyQuestion>().isl = 512;
  s.ask<SteadyQuestion>().osl = 64;
  return s;
}

// The scenario at each of these batches.
ScenarioSweep at_batches(const Scenario& s, const std::vector<std::int64_t>& batches) {
  ScenarioSweep sweep(s);
  sweep.points.clear();
  for (const std::int64_t batch : batches) {
    sweep.points.push_back(s);
    sweep.points.back().ask<SteadyQuestion>().batch = batch;
  }
  return sweep;
}

Answer totals(const ScenarioSweep& s) {
  RunOptions options;
  options.breakdown = false;
  return runner().run(s, options);
}

double value(const Point& p, std::string_view name) { return p.find(name)->value; }

bool is_dense(const Architecture& m) {
  return m.kind == Kind::kDecoder &&
         std::all_of(m.layers.specs().begin(), m.layers.specs().end(), [](const LayerSpec& l) {
           return std::holds_alternative<DenseMlp>(l.mlp) &&
                  std::holds_alternative<SoftmaxAttention>(l.mixer);
         });
}

std::vector<std::string> dense_models() {
  std::vector<std::string> ids;
  for (const std::string& id : model_ids(Bundle())) {
    if (is_dense(load_model(id, Bundle()))) ids.push_back(id);
  }
  return ids;
}

// A decode step reads every weight once (an untied input embedding and the inputs of each layer are
// looked up, towers stand by) and the cache of each sequence.
TEST(AnswerLaw, TpotNeverBeatsMemory) {
  int asked = 0;
  for (const std::string& id : dense_models()) {
    const ParameterCounts counts = count_parameters(load_model(id, Bundle()));
    constexpr double kBytesAParameter =
        2;  // of embeddings, in every bundled checkpoint; fp32 only loosens the bound
    const double looked_up =
        (counts.tied ? 0 : static_cast<double>(counts.embedding)) * kBytesAParameter +
        static_cast<double>(counts.positions + counts.per_layer_inputs + counts.towers) *
            kBytesAParameter;
    for (const std::string& gpu : kGpus) {
      const ScenarioSweep s = at_batches(question(id, gpu), {1, 16});
      for (const Point& p : totals(s).points) {
        if (!p.feasibility.fits || value(p, "max_concurrency") < 16) continue;
        const double batch = p.at["batch"].get<double>();
        // The cache grows from isl to isl + osl tokens; per token it only shrinks with length
        // (windows).
        const double cache = value(p, "kv_cache_per_request") * 1e9 * 512 / (512 + 64) * batch;
        const double read = value(p, "weights") * 1e9 - looked_up + cache;
        const double least_ms = read / runner().catalog().gpu(gpu).memory.bandwidth.value() * 1e3;
        EXPECT_GE(value(p, "tpot"), least_ms) << id << " on " << gpu << " batch " << batch;
        ++asked;
      }
    }
  }
  EXPECT_GT(asked, 300);
}

// A larger batch never has a lower throughput, until memory is full.
TEST(AnswerLaw, ThroughputDoesNotFallWithBatch) {
  for (const char* id : {"llama-2-7b", "llama-3-8b", "mistral-7b", "gemma-2-9b", "qwen3-14b",
                         "mixtral-8x7b", "deepseek-v2-lite"}) {
    for (const std::string& gpu : kGpus) {
      const ScenarioSweep s = at_batches(question(id, gpu), {1, 2, 4, 8, 16, 32, 64, 128, 256});
      double before = 0;
      for (const Point& p : totals(s).points) {
        if (!p.feasibility.fits || p.at["batch"].get<double>() > value(p, "max_concurrency")) break;
        EXPECT_GE(value(p, "output_throughput"), before)
            << id << " on " << gpu << " " << p.at.dump();
        before = value(p, "output_throughput");
      }
    }
  }
}

TEST(AnswerLaw, MemoryGrowsWithLengthAndBatch) {
  for (const char* id : {"llama-3-8b", "gemma-3-27b", "deepseek-v2-lite", "falcon-7b"}) {
    const Answer a = totals(read_scenario(
        all_kinds(),
        parse_yaml("model: " + std::string(id) +
                       "\nhardware: {gpu: h100-sxm}\n"
                       "workload: {isl: [128, 512, 2048, 8192], osl: 64, batch: [1, 4]}\n",
                   "s.yaml")));
    for (std::size_t i = 0; i + 2 < a.points.size(); i += 2) {
      EXPECT_LT(value(a.points[i], "memory"), value(a.points[i + 2], "memory")) << id;
      EXPECT_LT(value(a.points[i], "memory"), value(a.points[i + 1], "memory")) << id;
      EXPECT_GE(value(a.points[i], "max_concurrency"), value(a.points[i + 2], "max_concurrency"))
          << id;
    }
  }
}

TEST(AnswerLaw, SweepsRunWithTheLastFastest) {
  const Answer a = totals(read_scenario(
      all_kinds(),
      parse_yaml("{model: llama-3-8b, hardware: {gpu: h100-sxm}, parallel: {tp: [2, 1]},"
                 " workload: {isl: [64, 32], osl: [8, 16], batch: [3, 1]}}",
                 "s.yaml")));
  ASSERT_EQ(a.points.size(), 16u);
  std::size_t i = 0;
  for (const int tp : {2, 1}) {
    for (const int isl : {64, 32}) {
      for (const int osl : {8, 16}) {
        for (const int batch : {3, 1}) {
          const auto& at = a.points[i++].at;
          EXPECT_EQ(at["tp"], tp);
          EXPECT_EQ(at["isl"], isl);
          EXPECT_EQ(at["osl"], osl);
          EXPECT_EQ(at["batch"], batch);
        }
      }
    }
  }
}

// A point is the same alone, in a sweep, and after other questions.
TEST(AnswerLaw, SameBytesTwice) {
  for (const char* id : {"llama-3-8b", "mixtral-8x7b", "qwen3-next-80b-a3b"}) {
    const ScenarioSweep s = at_batches(question(id, "h200-sxm"), {1, 8});
    const auto sweep = to_json(runner().run(s), true);
    EXPECT_EQ(sweep.dump(), to_json(runner().run(s), true).dump());
    Runner fresh{Bundle()};
    EXPECT_EQ(to_json(fresh.run(s.points[1]), true)["points"][0].dump(), sweep["points"][1].dump())
        << id;
  }
}

TEST(AnswerLaw, IntervalsHoldTheirValue) {
  for (const std::string& gpu : kGpus) {
    for (const Point& p : runner().run(question("llama-3-8b", gpu)).points) {
      for (const Metric& m : p.metrics) {
        EXPECT_LE(m.low90, m.low50) << m.name;
        EXPECT_LE(m.low50, m.value) << m.name;
        EXPECT_LE(m.value, m.high50) << m.name;
        EXPECT_LE(m.high50, m.high90) << m.name;
      }
      double shares = 0;
      for (const KernelRow& k : p.kernels) shares += k.phase == "decode" ? k.share : 0;
      EXPECT_NEAR(shares, 1, 0.01) << gpu;
    }
  }
}

}  // namespace answer_law_test
}  // namespace orrery
