// Iterations of training as Chakra traces: what is in them, and that their replay takes the time
// that the events of the iteration take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/flow/chakra/chakra.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace training_trace_test {

using Type = ChakraNode::Type;

class TrainingTrace : public testing::Test {
 protected:
  TrainingTrace() {
    folder_ = std::filesystem::temp_directory_path() /
              ("orrery_train_" + std::to_string(::getpid()) +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    prefix_ = (folder_ / "t").string();
  }
  ~TrainingTrace() override { std::filesystem::remove_all(folder_); }

  Answer run(const std::string& text, bool chakra = false, const std::string& node = "") {
    RunOptions options;
    options.chakra = chakra;
    const std::string hardware =
        "hardware: {gpu: h100-sxm" + (node.empty() ? "" : ", node: " + node) + "}\n";
    return runner_.run(read_scenario(all_kinds(), parse_yaml(hardware + text, "s.yaml")), options);
  }
  // Writes the traces of a job, and returns the point.
  Point train(const std::string& keys, const std::string& model = "llama-3-8b") {
    for (const auto& old : std::filesystem::directory_iterator(folder_))
      std::filesystem::remove(old.path());
    Point p = run("model: " + model + "\ntraining: {seq: 4096, events: true, " + keys + "}", true)
                  .points.at(0);
    for (const auto& [end, bytes] : p.files)
      std::ofstream(prefix_ + "." + end, std::ios::binary) << bytes;
    return p;
  }
  // Time of the replay over the time of the events.
  double replayed(const Point& p) {
    const Answer a = run("collective: {gpus: " + std::to_string(p.files.size() - 1) +
                         ", fidelity: analytical, chakra: " + prefix_ +
                         ", chakra_groups: " + prefix_ + ".groups.json}");
    return a.points.at(0).find("time")->value * 1e-6 / p.find("iteration_time")->value;
  }

  Runner runner_{Bundle()};
  std::filesystem::path folder_;
  std::string prefix_;
};

int count(const ChakraTrace& t, Type type) {
  return static_cast<int>(std::count_if(t.nodes.begin(), t.nodes.end(),
                                        [type](const ChakraNode& n) { return n.type == type; }));
}

// Two stages of two ranks, four micro-batches each: four activations go down, and four gradients
// come back. Of the four ranks tensor parallelism joins 0 with 1 and 2 with 3.
TEST_F(TrainingTrace, StagesSendAndGroupsTalk) {
  const Point p = train("gpus: 4, tp: 2, pp: 2, global_batch: 4");
  ASSERT_EQ(p.files.size(), 5U);
  EXPECT_EQ(p.files[4].first, "groups.json");
  const auto groups = nlohmann::json::parse(p.files[4].second);
  const std::vector<ChakraTrace> traces = read_chakra(prefix_);
  ASSERT_EQ(traces.size(), 4U);
  for (int rank = 0; rank < 4; ++rank) {
    const ChakraTrace& t = traces[static_cast<std::size_t>(rank)];
    EXPECT_EQ(count(t, Type::kSend), 4);
    EXPECT_EQ(count(t, Type::kRecv), 4);
    EXPECT_GT(count(t, Type::kCollective), 4 * 2 * 16);  // at least two a layer and micro-batch
    for (const ChakraNode& n : t.nodes) {
      if (n.type == Type::kSend) {
        EXPECT_EQ(n.from, rank);
        EXPECT_EQ(n.to, (rank + 2) % 4);
        // Half of the tokens' hidden state in bf16.
        EXPECT_EQ(n.size.value(), 4096.0 * 4096 * 2 / 2);
      }
      if (n.type == Type::kCollective) {
        EXPECT_EQ(groups.at(n.group), nlohmann::json({rank / 2 * 2, rank / 2 * 2 + 1}));
      }
    }
  }
}

// The FLOPs of all ranks' nodes are those of the iteration: hfu of the peak.
TEST_F(TrainingTrace, NodesHaveTheFlopsOfTheIteration) {
  for (const char* keys : {"gpus: 4, pp: 4, vp: 2, global_batch: 8, recompute: full",
                           "gpus: 4, tp: 4, global_batch: 2, recompute: none"}) {
    const Point p = train(keys);
    double flops = 0;
    for (const ChakraTrace& t : read_chakra(prefix_))
      for (const ChakraNode& n : t.nodes) flops += n.operations;
    const double peak = 989.5e12 * 4 * p.find("iteration_time")->value;
    EXPECT_NEAR(100 * flops / peak / p.find("hfu")->value, 1, 0.002) << keys;
  }
}

// iteration_trace.h lists what a replay leaves out.
TEST_F(TrainingTrace, ReplayTakesTheTimeOfTheEvents) {
  struct Case {
    const char* keys;
    double within;
  };
  const Case cases[] = {
      {"gpus: 4, pp: 4, global_batch: 8", 0.001},
      {"gpus: 4, pp: 4, vp: 4, global_batch: 8, recompute: full", 0.01},
      {"gpus: 8, tp: 8, global_batch: 2", 0.001},
      {"gpus: 8, tp: 8, global_batch: 2, sequence_parallel: false", 0.001},
      {"gpus: 8, tp: 8, global_batch: 2, tp_overlap: true", 0.01},
      {"gpus: 8, tp: 2, pp: 4, global_batch: 8, recompute: selective", 0.005},
      {"gpus: 8, cp: 4, tp: 2, global_batch: 8", 0.02},
      {"gpus: 16, tp: 2, global_batch: 16, zero: 1", 0.02},
      {"gpus: 16, tp: 2, global_batch: 32, zero: 2", 0.02},
      {"gpus: 16, tp: 2, global_batch: 16, dp_overlap: false", 0.002},
      {"gpus: 16, stack: fsdp, zero: 3, global_batch: 32", 0.002},
      {"gpus: 8, pp: 4, schedule: zb-h1, global_batch: 16", 0.01},
      {"gpus: 8, pp: 4, schedule: dualpipe, global_batch: 16", 0.02},
  };
  for (const Case& c : cases) EXPECT_NEAR(replayed(train(c.keys)), 1, c.within) << c.keys;
  for (const char* keys : {"gpus: 16, ep: 8, global_batch: 32",
                           "gpus: 16, ep: 8, pp: 2, ep_overlap: true, schedule: combined, "
                           "global_batch: 32"})
    EXPECT_NEAR(replayed(train(keys, "mixtral-8x7b")), 1, 0.02) << keys;
}

// A slower network makes the replay slower: times of collectives are not in the traces.
TEST_F(TrainingTrace, TheReplaysNetworkTimesCollectives) {
  const Point p = train("gpus: 16, tp: 2, global_batch: 8");
  const auto time = [&](const std::string& node) {
    return run("collective: {gpus: 16, fidelity: analytical, chakra: " + prefix_ +
                   ", chakra_groups: " + prefix_ + ".groups.json}",
               false, node)
        .points.at(0)
        .find("time")
        ->value;
  };
  EXPECT_LT(time("hgx-h100"), time("gcp-a3-high"));
}

TEST_F(TrainingTrace, TooMuchIsRefused) {
  EXPECT_THROW(train("gpus: 8192, tp: 8, global_batch: 65536"), InputError);
}

}  // namespace training_trace_test
}  // namespace orrery
