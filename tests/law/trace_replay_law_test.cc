// Laws of replaying a trace, over random programs of threads, streams, events and synchronisations.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/replay/trace_replay.h"
#include "tests/unit/replay/traced_machine.h"

namespace orrery {
namespace trace_replay_law_test {

// A program of a machine as numbers: operation, stream and duration.
struct Step {
  int what = 0, stream = 0;
  int us = 0;
};
void showValue(const Step& s, std::ostream& out) {  // in rapidcheck's counterexamples
  out << "{" << s.what << ", " << s.stream << ", " << s.us << "}";
}

TracedMachine run(const std::vector<Step>& program) {
  constexpr const char* kKernels[] = {"nvjet_gemm", "flash_fwd", "ncclDevKernel_AllReduce",
                                      "vectorized_elementwise_kernel"};
  TracedMachine m;
  std::vector<TracedMachine::Event> events;
  m.launch(1, 7, "nvjet_gemm", 10);
  for (const Step& s : program) {
    const int stream = 7 + s.stream;
    switch (s.what) {
      case 0:
        m.work(1, s.us);
        break;
      case 1:
        events.push_back(m.record(1, stream));
        break;
      case 2:
        if (!events.empty())
          m.wait(1, stream, events[static_cast<std::size_t>(s.us) % events.size()]);
        break;
      case 3:
        m.device_sync(1);
        break;
      case 4:
        m.copy_back(1, stream, 3);
        break;
      default:
        m.launch(1, stream, kKernels[s.what % 4], s.us);
    }
  }
  return m;
}

struct Traced {
  KinetoTrace trace;
  TraceGraph graph;
};

Traced any_trace() {
  const auto step =
      rc::gen::apply([](int what, int stream, int us) { return Step{what, stream, us}; },
                     rc::gen::inRange(0, 16), rc::gen::inRange(0, 3), rc::gen::inRange(1, 400));
  const auto program = *rc::gen::container<std::vector<Step>>(step);
  Traced t;
  t.trace = parse_kineto(run(program).json(), "t.json");
  t.graph = build_trace_graph(t.trace, "t.json");
  return t;
}

std::vector<double> factors(const TraceGraph& g, OpClass of, double factor) {
  std::vector<double> out(g.nodes.size(), 1.0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (g.nodes[i].kind == TraceNode::Kind::kGpu && g.nodes[i].is == of) out[i] = factor;
  }
  return out;
}

RC_GTEST_PROP(TraceReplay, FactorsOfOneChangeNothing, ()) {
  const Traced t = any_trace();
  const ReplayedTrace plain = replay_trace(t.graph);
  const ReplayedTrace ones = replay_trace(t.graph, std::vector<double>(t.graph.nodes.size(), 1.0));
  RC_ASSERT(plain.start == ones.start);
  RC_ASSERT(plain.end == ones.end);
}

// 3 % and the few microseconds that one launch may be off.
RC_GTEST_PROP(TraceReplay, GivesTheTraceBack, ()) {
  const Traced t = any_trace();
  const double measured = static_cast<double>(t.graph.measured.count());
  const double replayed = static_cast<double>(replay_trace(t.graph).total.count());
  RC_ASSERT(std::abs(replayed - measured) <= 0.03 * measured + 10'000);
}

RC_GTEST_PROP(TraceReplay, SlowerWorkNeverEndsEarlier, ()) {
  const Traced t = any_trace();
  std::vector<double> less, more;
  for (std::size_t i = 0; i < t.graph.nodes.size(); ++i) {
    less.push_back(*rc::gen::inRange(0, 200) / 100.0);
    more.push_back(less.back() + *rc::gen::inRange(0, 200) / 100.0);
  }
  const double cpu = *rc::gen::inRange(0, 200) / 100.0;
  const ReplayedTrace a = replay_trace(t.graph, less, cpu);
  const ReplayedTrace b = replay_trace(t.graph, more, cpu + 0.5);
  for (std::size_t i = 0; i < a.end.size(); ++i) {
    RC_ASSERT(a.start[i] <= b.start[i]);
    RC_ASSERT(a.end[i] <= b.end[i]);
  }
}

RC_GTEST_PROP(TraceReplay, AClassSavesAtMostItsShareOfTheCriticalPath, ()) {
  const Traced t = any_trace();
  const OpClass is = *rc::gen::element(OpClass::kGemm, OpClass::kAttention, OpClass::kCommunication,
                                       OpClass::kElementwise);
  const double f = *rc::gen::inRange(0, 100) / 100.0;
  const ReplayedTrace before = replay_trace(t.graph);
  const ReplayedTrace after = replay_trace(t.graph, factors(t.graph, is, f));
  double share = 0, rounding = 0;
  for (std::uint32_t i = before.last;; i = before.cause[i]) {
    if (t.graph.nodes[i].is == is)
      share += static_cast<double>((before.end[i] - before.start[i]).count()), rounding += 1;
    if (before.cause[i] == i) break;
  }
  const double saved = static_cast<double>((before.total - after.total).count());
  RC_ASSERT(saved >= 0);
  RC_ASSERT(saved <= (1 - f) * share + rounding);
}

RC_GTEST_PROP(TraceReplay, TheCriticalPathAddsUpToTheTotal, ()) {
  const Traced t = any_trace();
  const double f = *rc::gen::inRange(1, 300) / 100.0;
  const ReplayedTrace r = replay_trace(t.graph, factors(t.graph, OpClass::kGemm, f), f);
  const ReplayBreakdown b = break_down(t.trace, t.graph, r, f);
  Seconds path = b.cpu + b.lags + b.unexplained, alone = b.idle;
  for (const auto& c : b.classes) {
    path += c.critical;
    alone += c.exposed;
    RC_ASSERT(c.exposed <= c.busy + Seconds(1e-9));
  }
  RC_ASSERT(std::abs((path - b.total).value()) <= 1e-9);
  RC_ASSERT(alone <= b.total + Seconds(1e-9));
}

}  // namespace trace_replay_law_test
}  // namespace orrery
