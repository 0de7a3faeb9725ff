// A lower clock and a power limit of the boards slow a part of a collective: which one? The
// launches of its kernels, as a question states them.
#include "orrery/scenario/kinds/collective/collective_boards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {
namespace collective_boards_test {

using testing::HasSubstr;

constexpr double kSame = 1e-9;

Facts& facts() {
  static Facts all{Bundle()};
  return all;
}
const Gpu& h100() { return facts().gpu("h100-sxm"); }

CallOnBoards at(const CopyingCall& call, double megahertz) {
  return *call_on_boards(facts(), h100(), {.limit = {}, .clock = Hertz(megahertz * 1e6)}, call);
}

Answer answer_of(const std::string& knobs, const std::string& collective,
                 const std::string& more = "") {
  static Runner runner{Bundle()};
  return runner.run(
      read_scenario(all_kinds(), parse_yaml("{hardware: {gpu: h100-sxm" + knobs +
                                                "}, collective: {" + collective + "}" + more + "}",
                                            "boards.yaml")));
}

double value(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  EXPECT_NE(m, nullptr) << name;
  return m == nullptr ? 0 : m->value;
}

// Wires that are full all the time leave nothing that a clock could slow, until the channels copy
// for longer than the wires carry. At a quarter of the clock copies of half the time take twice it.
TEST(CollectiveBoards, FullWiresAreSlowedByCopiesAlone) {
  const CopyingCall call{
      .time = seconds(1), .wires = seconds(1), .copies = seconds(0.5), .sms = 24};
  EXPECT_NEAR(at(call, 1980 / 1.9).longer, 1, kSame);
  EXPECT_NEAR(at(call, 1980 / 4.0).longer, 2, 1e-6);
}

// Latencies follow the clock in part: the more the less of the time the wires are full.
TEST(CollectiveBoards, LatenciesFollowTheClockInPart) {
  const CopyingCall waits{.time = seconds(1), .wires = seconds(0), .copies = seconds(0), .sms = 24};
  const CopyingCall half{
      .time = seconds(1), .wires = seconds(0.5), .copies = seconds(0), .sms = 24};
  const double slowest = at(waits, 990).longer, less = at(half, 990).longer;
  EXPECT_GT(slowest, less);
  EXPECT_GT(less, 1);
  EXPECT_LT(slowest, 2);
}

// A limit above what the boards draw during the call changes neither time nor power. A lower one is
// kept, at a lower clock.
TEST(CollectiveBoards, ALimitThatIsNotReachedChangesNothing) {
  const std::string call = "kind: all-reduce, gpus: 8, bytes: 1000000000";
  const Point free = answer_of("", call).points.front();
  const Point wide = answer_of(", power_limit: 600 W", call).points.front();
  const Point narrow = answer_of(", power_limit: 250 W", call).points.front();
  for (const char* name : {"time", "busbw", "power", "energy"})
    EXPECT_NEAR(value(wide, name), value(free, name), kSame * value(free, name)) << name;
  EXPECT_LE(value(narrow, "power"), 250);
  EXPECT_GT(value(narrow, "time"), value(free, "time"));
  EXPECT_LT(value(narrow, "clock"), value(wide, "clock"));
}

// The boards of all ranks draw their power for the time of the call.
TEST(CollectiveBoards, EnergyIsThatOfAllBoards) {
  for (const char* knobs : {"", ", clock: 1200 MHz", ", power_limit: 260 W"}) {
    const Point p = answer_of(knobs, "kind: all-gather, gpus: 16, bytes: 1000000").points.front();
    const double joules = 16 * value(p, "power") * value(p, "time") * 1e-6;
    EXPECT_NEAR(value(p, "energy") * 1e-3, joules, 1e-6 * joules) << knobs;
  }
}

// A lower clock or limit never speeds a call up, of any size and kind.
TEST(CollectiveBoards, KnobsNeverSpeedUp) {
  for (const char* call : {"kind: all-reduce, gpus: 8, bytes: [1000, 1000000, 1000000000]",
                           "kind: all-reduce, gpus: 64, bytes: [1000, 1000000, 1000000000]",
                           "kind: moe-dispatch, gpus: 16, tokens: [16, 4096]",
                           "kind: moe-combine, mode: low-latency, gpus: 16, tokens: [16, 128]"}) {
    const Answer free = answer_of("", call);
    std::vector<double> before;
    for (const Point& p : free.points) before.push_back(value(p, "time"));
    for (const char* clock : {"1900 MHz", "1410 MHz", "700 MHz", "300 MHz"}) {
      const Answer slow = answer_of(std::string(", clock: ") + clock, call);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const double time = value(slow.points[i], "time");
        EXPECT_GE(time, before[i] * (1 - kSame)) << call << " " << clock;
        before[i] = time;
      }
    }
  }
}

TEST(CollectiveBoards, AnObjectiveNamesTheBestClockOfASweep) {
  const Answer a = answer_of(", clock: [600 MHz, 1200 MHz, 1980 MHz]",
                             "kind: all-reduce, gpus: 8, bytes: 1000000000", ", objective: energy");
  ASSERT_TRUE(a.optimum.has_value());
  for (const Point& p : a.points)
    EXPECT_LE(value(a.points[a.optimum->point], "energy"), value(p, "energy"));
}

TEST(CollectiveBoards, RefuseKnobsOfNoEffect) {
  EXPECT_THROW(answer_of(", clock: 1 GHz", "kind: all-reduce, bytes: 1000, fidelity: flow"),
               InputError);
  EXPECT_THROW(answer_of(", clock: 9 GHz", "kind: all-reduce, gpus: 8, bytes: 1000"), InputError);
  EXPECT_THROW(answer_of(", power_limit: 100 W", "kind: all-reduce, gpus: 8, bytes: 1000"),
               InputError);
}

Point answer(const std::string& keys) {
  Runner runner{Bundle()};
  return runner
      .run(read_scenario(
          all_kinds(),
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

}  // namespace collective_boards_test
}  // namespace orrery
