#include "orrery/scenario/kinds/collective/flow_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/flow/chakra/chakra.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace flow_question_test {

using testing::ElementsAre;
using testing::HasSubstr;

// Files of one test.
class FlowQuestionTest : public testing::Test {
 protected:
  FlowQuestionTest() {
    folder_ = std::filesystem::temp_directory_path() /
              ("orrery_flow_" + std::to_string(::getpid()) +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  ~FlowQuestionTest() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

std::vector<Point> run(const std::string& yaml) {
  Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "s.yaml"))).points;
}
double us(const Point& p) { return p.find("time")->value; }

constexpr const char* kRing =
    "dimensions: [{kind: ring, size: 4, bandwidth: 100 GB/s, latency: 1 us}]\n";

TEST_F(FlowQuestionTest, ARingOfAFileByHand) {
  // 6 steps of 250 kB at 100 GB/s and 1 us; the group is the whole topology.
  const auto points = run("collective: {bytes: 1 MB, topology: " + file("t.yaml", kRing) +
                          ", flow_algorithm: ring}\n");
  ASSERT_EQ(points.size(), 1u);
  EXPECT_NEAR(us(points[0]), 6 * (2.5 + 1), 1e-6);
  EXPECT_EQ(points[0].at["gpus"], 4);
  EXPECT_EQ(points[0].at["algorithm"], "ring");
  EXPECT_NEAR(points[0].find("busbw")->value, 1e6 / 21e-6 * 1.5 / 1e9, 1e-6);
}

TEST_F(FlowQuestionTest, DamageEfficiencyAndOverheadSlowItDown) {
  const std::string head =
      "collective: {bytes: 1 MB, flow_algorithm: ring, topology: " + file("t.yaml", kRing);
  // The slow link takes 5 us a message, one after the other: its six messages and a latency.
  EXPECT_NEAR(us(run(head + ", degrade: [gpu1-gpu2=0.5]}")[0]), 6 * 5 + 1, 1e-6);
  EXPECT_NEAR(us(run(head + ", efficiency: 0.5}")[0]), 6 * (5 + 1), 1e-6);
  EXPECT_NEAR(us(run(head + ", overhead: 2 us}")[0]), 6 * (2.5 + 3), 1e-6);
  // Without the cable 1-2 messages go round by 0 and 3: 2 us more on one of four hops, which six
  // hops in a row pass at most twice.
  EXPECT_NEAR(us(run(head + ", fail: [gpu1-gpu2]}")[0]), 2 * 5.5 + 4 * 3.5, 1e-6);
  EXPECT_THROW(run(head + ", fail: [gpu1-gpu2, gpu3-gpu0]}"), InputError);  // cut in two
  EXPECT_THROW(run(head + ", fail: [gpu1-gpu3]}"), InputError);
  EXPECT_THROW(run(head + ", degrade: [gpu1-gpu2]}"), InputError);
}

TEST_F(FlowQuestionTest, TheFastestAlgorithmIsTaken) {
  const std::string head =
      "hardware: {gpu: h100-sxm}\ncollective: {gpus: 64, fidelity: flow, bytes: ";
  // Short messages over few steps, long ones round the ring.
  EXPECT_EQ(run(head + "1 KiB}")[0].at["algorithm"], "direct");
  EXPECT_EQ(run(head + "4 GiB}")[0].at["algorithm"], "ring");
}

TEST_F(FlowQuestionTest, AstraSimsAnswerStandsBesideOurs) {
  const std::string topology =
      file("hgx.yml", "topology: [Switch]\nnpus_count: [8]\nbandwidth: [400]\nlatency: [936.25]\n");
  const auto points = run("collective: {bytes: 1 MiB, as: astra-sim, topology: " + topology + "}");
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].at["algorithm"], "astra-sim ring");
  EXPECT_NEAR(us(points[0]), 57.426, 1e-9);
  EXPECT_LT(us(points[1]), us(points[0]));
  EXPECT_THROW(run("hardware: {gpu: h100-sxm}\ncollective: {gpus: 8, as: astra-sim}"), InputError);
}

TEST_F(FlowQuestionTest, TracesAreReplayedAtBothFidelities) {
  ChakraTrace t;
  ChakraNode compute;
  compute.id = 1;
  compute.type = ChakraNode::Type::kComp;
  compute.duration = microseconds(100);
  ChakraNode reduce;
  reduce.id = 2;
  reduce.name = "reduce";
  reduce.type = ChakraNode::Type::kCollective;
  reduce.size = Bytes(1e6);
  reduce.depends = {1};
  t.nodes = {compute, reduce};
  file("step.0.et", write_chakra(t));
  const std::string chakra = ", chakra: " + path("step") + "}";
  const auto ring = run("collective: {topology: " + file("t.yaml", kRing) + chakra);
  EXPECT_NEAR(us(ring[0]), 100 + 6 * 3.5, 1e-6);
  EXPECT_NEAR(ring[0].find("computing")->value, 100, 1e-9);
  EXPECT_NEAR(ring[0].find("exposed")->value, 21, 1e-6);
  const std::string hardware = "hardware: {gpu: h100-sxm}\ncollective: {gpus: 8, fidelity: ";
  const double flow = us(run(hardware + "flow" + chakra)[0]);
  const double analytical = us(run(hardware + "analytical" + chakra)[0]);
  const double alone = us(run("hardware: {gpu: h100-sxm}\ncollective: {gpus: 8, bytes: 1 MB}")[0]);
  EXPECT_GT(flow, 100);
  EXPECT_NEAR(analytical, 100 + alone, 1e-6);
  file("bad.0.et", "no trace");
  EXPECT_THROW(run(hardware + "flow, chakra: " + path("bad") + "}"), InputError);
}

TEST_F(FlowQuestionTest, GroupsMustDivideTheTopology) {
  const std::string topology = file("t.yaml", kRing);
  EXPECT_EQ(run("collective: {gpus: 2, topology: " + topology + "}")[0].at["gpus"], 2);
  EXPECT_THROW(run("collective: {gpus: 3, topology: " + topology + "}"), InputError);
  EXPECT_THROW(run("collective: {gpus: 8, topology: " + topology + "}"), InputError);
  EXPECT_THROW(run("collective: {gpus: 8}"), InputError);  // no hardware
}

}  // namespace flow_question_test
}  // namespace orrery
