// Does a replay reproduce the trace, and does a what-if predict the machine that wrote the trace?
#include "orrery/replay/trace_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/replay/traced_machine.h"

namespace orrery {
namespace trace_replay_test {

struct Traced {
  KinetoTrace trace;
  TraceGraph graph;
  explicit Traced(const TracedMachine& m)
      : trace(parse_kineto(m.json(), "t.json")), graph(build_trace_graph(trace, "t.json")) {}

  std::vector<double> factors(OpClass of, double factor) const {
    std::vector<double> out(graph.nodes.size(), 1.0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (graph.nodes[i].is == of && graph.nodes[i].kind == TraceNode::Kind::kGpu) out[i] = factor;
    }
    return out;
  }
};

double us(Nanoseconds t) { return static_cast<double>(t.count()) / 1e3; }

struct Regime {
  const char* name;
  double host;       // what a thread does before a launch
  double cpu_share;  // of the critical path, at least
  double gpu_share;  // of the time that some stream works, at least
};

class Replay : public testing::TestWithParam<Regime> {};

// The host far ahead of the GPU; about as fast; the bottleneck.
constexpr Regime kRegimes[] = {
    {"GpuBound", 3, 0, 0.9}, {"Mixed", 60, 0, 0.5}, {"HostBound", 400, 0.8, 0}};

// A case that the law test found: two kernels wait for the same kernel and start at the same time.
// The short one, which has ended when the wait is examined, must not be taken for the cause of the
// other.
TEST(TraceReplay, WhatBeginsTogetherIsNoCauseOfEachOther) {
  TracedMachine m;
  m.launch(1, 7, "nvjet_gemm", 10);
  m.launch(1, 9, "flash_fwd", 21);
  m.wait(1, 7, m.record(1, 9));
  m.launch(1, 9, "flash_fwd", 1);
  m.launch(1, 7, "flash_fwd", 13);
  EXPECT_EQ(us(replay_trace(Traced(m).graph).total), m.makespan());
}

TEST_P(Replay, GivesTheTraceBack) {
  for (double jitter : {0.0, 0.3}) {
    for (bool sync_events : {false, true}) {
      TracedMachine m;
      m.jitter = jitter, m.sync_events = sync_events;
      train(m, GetParam().host);
      const Traced t(m);
      EXPECT_NEAR(us(t.graph.measured), m.makespan(), 0.01);
      const ReplayedTrace r = replay_trace(t.graph);
      EXPECT_NEAR(us(r.total) / m.makespan(), 1, jitter == 0 ? 0.002 : 0.01);
      EXPECT_EQ(t.graph.unexplained, Nanoseconds(0));
      EXPECT_EQ(t.graph.inferred_waits, 0u);
      EXPECT_EQ(t.graph.hand_overs, 3u);  // backward of two steps, and what lies between them
    }
  }
}

// A predicted what-if equals the time that the machine takes when it runs again with the changed
// durations (and the same jitter).
TEST_P(Replay, AWhatIfIsWhatTheMachineDoes) {
  struct Change {
    const char* part;
    OpClass is;
    double factor;
  };
  for (const Change& change : {Change{"nvjet", OpClass::kGemm, 0.5},
                               {"nvjet", OpClass::kGemm, 2},
                               {"flash", OpClass::kAttention, 0.25},
                               {"nccl", OpClass::kCommunication, 0.1},
                               {"nccl", OpClass::kCommunication, 3},
                               {"FusedAdam", OpClass::kOptimizer, 0.5}}) {
    for (double jitter : {0.0, 0.2}) {
      TracedMachine before, after;
      before.jitter = after.jitter = jitter;
      train(before, GetParam().host, 3);
      after.scale[change.part] = change.factor;
      train(after, GetParam().host, 3);
      const Traced t(before);
      const double predicted = us(replay_trace(t.graph, t.factors(change.is, change.factor)).total);
      EXPECT_NEAR(predicted / after.makespan(), 1, 0.01)
          << change.part << " x " << change.factor << " jitter " << jitter;
    }
  }
}

TEST_P(Replay, AFasterHost) {
  TracedMachine before, after;
  train(before, GetParam().host);
  after.cpu = 0.5;
  train(after, GetParam().host);
  EXPECT_NEAR(us(replay_trace(Traced(before).graph, {}, 0.5).total) / after.makespan(), 1, 0.03);
}

TEST_P(Replay, TheBreakdownAddsUp) {
  TracedMachine m;
  train(m, GetParam().host);
  const Traced t(m);
  const ReplayedTrace r = replay_trace(t.graph);
  const ReplayBreakdown b = break_down(t.trace, t.graph, r);
  // Two iterations: kernels of one step by the program, 8 layers.
  const auto of = [&](OpClass c) { return b.classes[static_cast<std::size_t>(c)]; };
  EXPECT_DOUBLE_EQ(of(OpClass::kGemm).kernels, 8 * 2 + 8 * 4);
  EXPECT_NEAR(of(OpClass::kGemm).busy.value(), (8 * 180 + 8 * 360) * 1e-6, 1e-9);
  EXPECT_NEAR(of(OpClass::kAttention).busy.value(), 8 * 220 * 1e-6, 1e-9);
  EXPECT_NEAR(of(OpClass::kCommunication).busy.value(), 4 * 900 * 1e-6, 1e-9);
  EXPECT_NEAR(of(OpClass::kOptimizer).busy.value(), 240e-6, 1e-9);
  Seconds path = b.cpu + b.lags + b.unexplained;
  for (OpClass c : kAllOpClasses) {
    EXPECT_LE(of(c).exposed, of(c).busy + Seconds(1e-12));
    path += of(c).critical;
  }
  EXPECT_NEAR(path.value(), b.total.value(), 1e-9);
  EXPECT_NEAR(b.total.value(), us(r.total) * 1e-6 / 2, 1e-12);
  EXPECT_GE(b.cpu / b.total, GetParam().cpu_share);
  EXPECT_GE(1 - b.idle / b.total, GetParam().gpu_share);
  ASSERT_EQ(b.streams.size(), 2u);
  EXPECT_EQ(b.streams[0].name, "device 0, stream 7");
}

INSTANTIATE_TEST_SUITE_P(Of, Replay, testing::ValuesIn(kRegimes),
                         [](const auto& info) { return info.param.name; });

// By hand: compute 0-100 and 101.2-201.2 on stream 7; on stream 20 a collective of 150 that begins
// with the second kernel's predecessor's end.
TEST(Exposed, CommunicationWhileNothingElseRuns) {
  TracedMachine m;
  m.launch(1, 7, "nvjet_a", 100);  // 6 .. 106
  const auto ready = m.record(1, 7);
  m.launch(1, 7, "nvjet_b", 100);  // 107.2 .. 207.2
  m.wait(1, 20, ready);
  m.launch(1, 20, "ncclDevKernel_AllReduce", 150);  // 107.2 .. 257.2
  m.device_sync(1);
  const Traced t(m);
  const ReplayBreakdown b = break_down(t.trace, t.graph, replay_trace(t.graph));
  EXPECT_NEAR(b.classes[static_cast<std::size_t>(OpClass::kCommunication)].exposed.value(), 50e-6,
              1e-9);
  EXPECT_NEAR(b.classes[static_cast<std::size_t>(OpClass::kGemm)].exposed.value(), 100e-6, 1e-9);
  // Before the first kernel 6, between the two 1.2, and until the call returns 5.
  EXPECT_NEAR(b.idle.value(), 12.2e-6, 1e-9);
}

// A host that runs far ahead is held back by the queue: with faster kernels it runs faster too.
TEST(FullQueue, LaunchesWaitForRoom) {
  const auto run = [](double factor) {
    TracedMachine m;
    m.scale["nvjet"] = factor;
    m.queue = 300;
    for (int i = 0; i < 2000; ++i) m.work(1, 2), m.launch(1, 7, "nvjet", 100);
    m.work(1, 10);
    return m;
  };
  const TracedMachine before = run(1), after = run(0.2);
  const Traced t(before);
  EXPECT_GT(t.graph.full_queue, 1000u);
  EXPECT_NEAR(us(replay_trace(t.graph).total) / before.makespan(), 1, 0.01);
  EXPECT_NEAR(us(replay_trace(t.graph, t.factors(OpClass::kGemm, 0.2)).total) / after.makespan(), 1,
              0.03);
}

TEST(Timeline, IsATraceAgain) {
  TracedMachine m;
  train(m, 3, 1, 2);
  const Traced t(m);
  const std::string text = replay_timeline(t.trace, t.graph, replay_trace(t.graph));
  const auto j = nlohmann::json::parse(text);
  std::size_t gpu = 0, expected = 0;
  for (const auto& e : j.at("traceEvents")) gpu += e.value("ph", "") == "X" && e.at("pid") == 1;
  for (const TraceNode& n : t.graph.nodes) expected += n.kind == TraceNode::Kind::kGpu;
  EXPECT_EQ(gpu, expected);
}

}  // namespace trace_replay_test
}  // namespace orrery
