// The launches of a collective's kernels, as a question states them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace collective_launch_test {

using testing::HasSubstr;

Point answer(const std::string& keys) {
  Runner runner{Bundle()};
  return runner
      .run(read_scenario(
          parse_yaml("hardware: {gpu: h100-sxm}\ncollective: {" + keys + "}\n", "s.yaml")))
      .points.at(0);
}
double us(const Point& p) { return p.find("time")->value; }

std::string error_of(const std::string& keys) {
  try {
    answer(keys);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(CollectiveLaunch, OneThreadForEightGpusLimitsSmallMessages) {
  const Point usual = answer("bytes: 1 KiB, gpus: 8");
  const Point one = answer("bytes: 1 KiB, gpus: 8, gpus_per_thread: 8");
  EXPECT_NEAR(us(one), 32, 1e-9);
  EXPECT_EQ(one.at["limit"], "launches");
  EXPECT_NE(usual.at["limit"], "launches");
  // Bus bandwidth is that of the longer time.
  EXPECT_NEAR(one.find("busbw")->value * us(one), usual.find("busbw")->value * us(usual), 1e-9);
  ASSERT_FALSE(one.notes.empty());
  EXPECT_THAT(one.notes.front(), HasSubstr("one thread launches the kernels of 8 GPUs"));

  EXPECT_EQ(us(answer("bytes: 1 GiB, gpus: 8, gpus_per_thread: 8")),
            us(answer("bytes: 1 GiB, gpus: 8")));
}

TEST(CollectiveLaunch, EagerIsTheDefaultAndAGraphIsNoSlower) {
  const Point eager = answer("bytes: 1 KiB, gpus: 8");
  EXPECT_EQ(us(answer("bytes: 1 KiB, gpus: 8, launch: eager")), us(eager));
  const Point graph = answer("bytes: 1 KiB, gpus: 8, launch: graph");
  EXPECT_LE(us(graph), us(eager));
  EXPECT_LT(graph.find("time")->low90, eager.find("time")->low90);
}

TEST(CollectiveLaunch, WrongLaunchesAreRefused) {
  EXPECT_THAT(error_of("gpus: 16, gpus_per_thread: 16"),
              HasSubstr("collective.gpus_per_thread: a thread launches for the GPUs of its own "
                        "node, of which the group has 8; 16 is too many"));
  EXPECT_THAT(error_of("gpus: 8, launch: graph, gpus_per_thread: 8"), HasSubstr("eager launches"));
  EXPECT_THAT(error_of("gpus: 8, stack: vllm, launch: graph"), HasSubstr("stack nccl or rccl"));
  EXPECT_THAT(error_of("gpus: 8, launch: lazy"), HasSubstr("eager, graph"));
}

}  // namespace collective_launch_test
}  // namespace orrery
