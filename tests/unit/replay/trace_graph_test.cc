// Does the graph of a trace have the dependencies that the machine which wrote it has?
#include "orrery/replay/trace_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/replay/trace_work.h"
#include "tests/refusal.h"
#include "tests/unit/replay/traced_machine.h"

namespace orrery {
namespace trace_graph_test {

using testing::HasSubstr;

struct Built {
  KinetoTrace trace;
  TraceGraph graph;

  explicit Built(const TracedMachine& m, std::optional<std::int64_t> step = {})
      : trace(parse_kineto(m.json(), "t.json")), graph(build_trace_graph(trace, "t.json", step)) {}

  std::string name(std::uint32_t node) const {
    return std::string(trace.name_of(trace.events[graph.nodes[node].event]));
  }
  // "from kind lag" of all edges that lead to the only node of that name and kind.
  std::vector<std::string> into(const std::string& to, TraceNode::Kind kind) const {
    std::vector<std::string> out;
    constexpr const char* kKinds[] = {"cpu", "launch", "stream", "event", "sync"};
    for (std::uint32_t i = 1; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].kind != kind || name(i) != to) continue;
      for (auto e = graph.nodes[i].first_edge; e < graph.edges_end(i); ++e) {
        const TraceEdge& edge = graph.edges[e];
        out.push_back(fmt::format(
            "{} {} {}",
            graph.nodes[edge.from].kind == TraceNode::Kind::kMark ? "begin" : name(edge.from),
            kKinds[static_cast<int>(edge.kind)], edge.lag.count()));
      }
    }
    return out;
  }
};

constexpr auto kGpu = TraceNode::Kind::kGpu;
constexpr auto kCall = TraceNode::Kind::kCall;
constexpr auto kReturn = TraceNode::Kind::kReturn;

TEST(TraceGraph, LaunchesStreamsAndTheCpuBetween) {
  TracedMachine m;
  m.work(1, 10);
  m.launch(1, 7, "a", 100);  // idle stream: begins 6 after the launch
  m.work(1, 20);
  m.launch(1, 7, "b", 50);  // queued: begins 1.2 after a
  const Built b(m);
  EXPECT_EQ(b.into("a", kGpu), (std::vector<std::string>{"cudaLaunchKernel launch 6000"}));
  EXPECT_EQ(b.into("b", kGpu),
            (std::vector<std::string>{"a stream 1200", "cudaLaunchKernel launch 6000"}));
  // The trace begins at the first launch; the second comes 4 + 20 later.
  EXPECT_EQ(b.into("cudaLaunchKernel", kCall),
            (std::vector<std::string>{"begin cpu 0", "cudaLaunchKernel cpu 24000"}));
  EXPECT_EQ(b.graph.measured, Nanoseconds(157200));
  EXPECT_EQ(b.graph.unexplained, Nanoseconds(0));
  EXPECT_FALSE(b.graph.marked);
}

TEST(TraceGraph, ASynchronisationWaitsForEveryStream) {
  TracedMachine m;
  m.launch(1, 7, "a", 100);
  m.launch(1, 8, "b", 300);
  m.work(1, 5);
  m.device_sync(1);
  m.work(1, 40);
  m.launch(1, 7, "c", 10);
  const Built b(m);
  EXPECT_THAT(b.into("cudaDeviceSynchronize", kReturn),
              testing::UnorderedElementsAre("cudaDeviceSynchronize cpu 5000", "a sync 5000",
                                            "b sync 5000"));
  EXPECT_THAT(b.into("c", kGpu), testing::Contains("cudaLaunchKernel launch 6000"));
}

TEST(TraceGraph, ACopyToPageableMemoryHoldsItsThread) {
  TracedMachine m;
  m.launch(1, 7, "a", 100);
  m.copy_back(1, 7, 3);
  const Built b(m);
  EXPECT_THAT(b.into("cudaMemcpyAsync", kReturn),
              testing::Contains("Memcpy DtoH (Device -> Pageable) sync 5000"));
}

class Waits : public testing::TestWithParam<bool> {};

// With the profiler's cuda_sync events and without, the same edges.
TEST_P(Waits, StreamsWaitForEvents) {
  TracedMachine m;
  m.sync_events = GetParam();
  m.launch(1, 7, "produce", 200);
  const auto ready = m.record(1, 7);
  m.launch(1, 7, "unrelated", 500);
  m.wait(1, 20, ready);
  m.launch(1, 20, "nccl", 100);
  const auto reduced = m.record(1, 20);
  m.wait(1, 7, reduced);
  m.launch(1, 7, "consume", 10);
  const Built b(m);
  EXPECT_THAT(b.into("nccl", kGpu), testing::Contains("produce event 1200"));
  EXPECT_THAT(b.into("consume", kGpu), testing::Contains(HasSubstr("nccl event")));
  EXPECT_EQ(b.graph.recorded_waits, GetParam() ? 2u : 0u);
  EXPECT_EQ(b.graph.ordered_waits, GetParam() ? 0u : 2u);
  EXPECT_EQ(b.graph.inferred_waits, 0u);
  EXPECT_EQ(b.graph.unexplained, Nanoseconds(0));
}
INSTANTIATE_TEST_SUITE_P(Recorded, Waits, testing::Bool());

TEST(TraceGraph, BackwardIsHandedToAnotherThreadAndBack) {
  TracedMachine m;
  m.launch(1, 7, "forward", 10);
  m.hand_over(1, 2);
  for (int i = 0; i < 10; ++i) m.work(2, 50), m.launch(2, 7, "backward", 5);
  m.hand_over(2, 1);
  m.launch(1, 7, "optimizer", 10);
  const Built b(m);
  EXPECT_EQ(b.graph.hand_overs, 1u);
  // The first call of thread 2 comes 4 (the launch) + 8 + 50 after the last of thread 1, and the
  // next of thread 1 comes 4 + 8 after the last of thread 2.
  const auto edges = b.into("cudaLaunchKernel", kCall);
  EXPECT_THAT(edges, testing::Contains("cudaLaunchKernel cpu 62000"));
  EXPECT_THAT(edges, testing::Contains("cudaLaunchKernel cpu 12000"));
  EXPECT_THAT(edges, testing::Contains("cudaLaunchKernel cpu 0"));  // thread 1: order only
}

TEST(TraceGraph, WhatNothingExplainsIsCounted) {
  TracedMachine m;
  m.launch(1, 7, "a", 100);
  m.launch(1, 7, "b", 50);
  std::string text = m.json();
  const auto at = text.find("\"name\": \"b\"");
  const auto ts = text.find("\"ts\": ", at) + 6;
  const double start = std::stod(text.substr(ts)) + 80;  // b begins 80 later
  text.replace(ts, text.find(',', ts) - ts, fmt::format("{:.3f}", start));
  const KinetoTrace t = parse_kineto(text, "t.json");
  const TraceGraph g = build_trace_graph(t, "t.json");
  // b is queued behind a, but the only queued kernel's gap of 81.2 is no gap of a stream: 1.
  EXPECT_EQ(g.unexplained, Nanoseconds(80200));
}

// For the kernels of a CUDA graph, a trace has only the launch of the graph and the kernels' times.
TEST(TraceGraph, BranchesOfCudaGraphsAreInferred) {
  TracedMachine m;
  m.launch_graph(1, 7, 20, 300, 400, 100);
  m.device_sync(1);
  const Built b(m);
  EXPECT_THAT(b.into("nccl_b", kGpu),
              testing::UnorderedElementsAre("cudaGraphLaunch launch 12000", "nvjet_a event 1200"));
  EXPECT_EQ(b.graph.inferred_waits, 1u);
  EXPECT_EQ(b.graph.unexplained, Nanoseconds(0));
}

// The GPU lags behind a host that waits for nothing: a step begins with the work of the last one.
TEST(TraceGraph, WorkOfBeforeTheStepRunsOnInIt) {
  TracedMachine m;
  for (int step = 0; step < 3; ++step) {
    m.inside(1, "user_annotation", fmt::format("ProfilerStep#{}", step), "", [&] {
      for (int i = 0; i < 4; ++i) m.work(1, 6), m.launch(1, 7, "nvjet", 100);
    });
  }
  const Built b(m, 1);
  EXPECT_EQ(b.graph.orphans, 0u);
  EXPECT_EQ(b.graph.unexplained, Nanoseconds(0));
  // Step 1 begins at 40 and ends with the eighth kernel, at 12 + 8 * 100 + 7 * 1.2.
  EXPECT_EQ(b.graph.measured, Nanoseconds(780400));
  // The first kernel, from 12 to 112, and three more.
  EXPECT_EQ(b.graph.carried, Nanoseconds(372000));
}

TEST(TraceGraph, OneStepOrAllOfThem) {
  TracedMachine m;
  train(m, 3, 3);
  EXPECT_EQ(Built(m).graph.steps, 3);
  const Built one(m, 4);
  EXPECT_EQ(one.graph.steps, 1);
  EXPECT_EQ(one.graph.first_step, 4);
  EXPECT_LT(one.graph.measured, Built(m).graph.measured / 2);
  EXPECT_TRUE(one.graph.marked);
}

TEST(TraceGraph, EdgesLeadForwardAndHeldInTheTrace) {
  TracedMachine m;
  m.jitter = 0.2;
  train(m, 6);
  const Built b(m);
  for (std::uint32_t i = 0; i < b.graph.nodes.size(); ++i) {
    for (auto e = b.graph.nodes[i].first_edge; e < b.graph.edges_end(i); ++e) {
      const TraceEdge& edge = b.graph.edges[e];
      ASSERT_LT(edge.from, i);
      if (edge.kind != TraceEdge::Kind::kEvent) continue;
      EXPECT_LE(b.graph.nodes[edge.from].end(), b.graph.nodes[i].start + Nanoseconds(2000));
    }
  }
  EXPECT_EQ(b.graph.orphans, 0u);
}

TEST(TraceGraph, Classes) {
  TracedMachine m;
  train(m, 3, 1, 2);
  const Built b(m);
  std::array<int, kOpClasses> count{};
  for (const TraceNode& n : b.graph.nodes) {
    if (n.kind != kGpu) continue;
    ++count[static_cast<std::size_t>(n.is)];
    if (n.is != OpClass::kGemm) continue;
    ASSERT_GT(n.op, 0u);
    EXPECT_EQ(b.trace.name_of(b.trace.events[n.op - 1]), "aten::mm");
  }
  // gemm 2x2 + 2x4, attention 2x2, elementwise 2 + 2 + 1, norm 2, optimizer 4, nccl 1, copy 1
  EXPECT_EQ(count, (std::array<int, kOpClasses>{12, 4, 5, 2, 4, 1, 1, 0}));
}

std::string refusal(const std::string& text, std::optional<std::int64_t> step = {}) {
  return refusal_of([&] { build_trace_graph(parse_kineto(text, "t.json"), "t.json", step); });
}

TEST(TraceGraphRefuses, TracesWithoutGpuWorkOrTheStep) {
  EXPECT_THAT(refusal("[]"), HasSubstr("t.json: no work of a GPU in the trace"));
  EXPECT_THAT(refusal(R"([{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "ts": 1,
                           "dur": 5, "pid": 1, "tid": 1}])"),
              HasSubstr("no work of a GPU in the steps that the trace marks"));
  TracedMachine m;
  m.launch(1, 7, "a", 5);
  EXPECT_THAT(refusal(m.json(), 3), HasSubstr("no ProfilerStep#3: the trace marks no steps"));
  train(m, 3, 2, 1);
  EXPECT_THAT(refusal(m.json(), 7), HasSubstr("no ProfilerStep#7: the trace has 3 to 4"));
}

TEST(CallKinds, OfCudaAndHip) {
  EXPECT_EQ(call_kind("cudaDeviceSynchronize"), CallKind::kDeviceSync);
  EXPECT_EQ(call_kind("hipStreamSynchronize"), CallKind::kStreamSync);
  EXPECT_EQ(call_kind("cuStreamWaitEvent"), CallKind::kStreamWait);
  EXPECT_EQ(call_kind("cudaEventRecordWithFlags"), CallKind::kEventRecord);
  EXPECT_EQ(call_kind("cudaMemcpyAsync"), CallKind::kCopy);
  EXPECT_EQ(call_kind("cudaFree"), CallKind::kFree);
  EXPECT_EQ(call_kind("cudaFreeAsync"), CallKind::kOther);
}

}  // namespace trace_graph_test
}  // namespace orrery
