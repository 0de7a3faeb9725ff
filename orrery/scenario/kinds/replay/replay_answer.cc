#include "orrery/scenario/kinds/replay/replay_answer.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "orrery/base/error.h"
#include "orrery/replay/trace_what_if.h"
#include "orrery/scenario/kind/given_text.h"
#include "orrery/scenario/kinds/replay/replay_detail.h"

namespace orrery {
namespace {

constexpr Figure kFiguresOfReplays[] = {
    {"measured_time", "ms", Better::kNeither, Subject::kOther, "replay",
     "time of one iteration, as the profiler recorded it"},
    {"replayed_time", "ms", Better::kNeither, Subject::kOther, "replay",
     "time of one iteration, replayed from the graph of the trace without changes"},
    {"replay_error", "%", Better::kLess, Subject::kOther, "replay",
     "replayed_time over measured_time, less 100 %"},
    {"time_ratio", "", Better::kLess, Subject::kOther, "replay",
     "iteration_time with the changes, over replayed_time"},
};

constexpr double kReplayMs = 1e-3;
constexpr const char* kGivenTrace = "replay.trace";  // the name of a trace that is given as text

struct RecordedTraceKey {
  std::string file;
  std::optional<std::int64_t> step;
  bool operator==(const RecordedTraceKey&) const = default;
};

struct RecordedTrace {
  KinetoTrace trace;
  TraceGraph graph;
};

TraceWhatIf what_if_of(const ReplayQuestion& q, const ServingSetup::Hardware& hardware) {
  TraceWhatIf w;
  for (const std::string& scale : q.scale) add_scale(w, scale);
  w.gpu = hardware.gpu, w.from_gpu = q.from_gpu;
  w.node = hardware.node, w.from_node = q.from_node;
  w.dp = static_cast<int>(q.dp), w.from_dp = static_cast<int>(q.from_dp);
  w.degrees.tp = static_cast<int>(q.tp), w.degrees.from_tp = static_cast<int>(q.from_tp);
  w.degrees.pp = static_cast<int>(q.pp), w.degrees.from_pp = static_cast<int>(q.from_pp);
  return w;
}

// The trace, the steps that were taken from it, and the values that were asked for.
nlohmann::ordered_json place_of(const ReplayQuestion& q, const ServingSetup::Hardware& hardware,
                                const RecordedTrace& recorded) {
  const TraceGraph& graph = recorded.graph;
  nlohmann::ordered_json at = {{"trace", given_name(q.trace, kGivenTrace)}};
  if (!recorded.trace.gpu.empty()) at["traced_gpu"] = recorded.trace.gpu;
  if (graph.marked) at["first_step"] = graph.first_step, at["steps"] = graph.steps;
  if (!hardware.gpu.empty()) at["gpu"] = hardware.gpu;
  if (!hardware.node.empty()) at["node"] = hardware.node;
  if (q.dp > 0) at["dp"] = q.dp;
  if (q.tp > 0) at["tp"] = q.tp;
  if (q.pp > 0) at["pp"] = q.pp;
  std::string scales;
  for (const std::string& scale : q.scale) scales += (scales.empty() ? "" : ",") + scale;
  if (!scales.empty()) at["scale"] = scales;
  return at;
}

ReplayRow::Times times_of(const ReplayBreakdown::Class& c) {
  return {c.busy, c.exposed, c.critical};
}

std::vector<ReplayRow> rows_of(const TraceAnswer& a) {
  using Part = ReplayRow::Part;
  const ReplayBreakdown &now = a.replayed, &then = a.what_if;
  std::vector<ReplayRow> rows;
  for (const OpClass c : kAllOpClasses) {
    const auto i = static_cast<std::size_t>(c);
    if (now.classes[i].kernels == 0) continue;
    rows.push_back({.part = Part::kClass,
                    .name = std::string(to_text(c)),
                    .kernels = now.classes[i].kernels,
                    .replayed = times_of(now.classes[i]),
                    .what_if = times_of(then.classes[i])});
  }
  rows.push_back({.part = Part::kIdle,
                  .name = "GPU idle",
                  .replayed = {{}, now.idle, {}},
                  .what_if = {{}, then.idle, {}}});
  const auto critical = [&rows](const char* name, Seconds before, Seconds after) {
    rows.push_back({.part = Part::kPath,
                    .name = name,
                    .replayed = {{}, {}, before},
                    .what_if = {{}, {}, after}});
  };
  critical("host", now.cpu, then.cpu);
  critical("launch, sync lags", now.lags, then.lags);
  if (now.unexplained + then.unexplained > Seconds(0))
    critical("unexplained waits", now.unexplained, then.unexplained);
  critical("step", now.total, then.total);
  for (const ReplayBreakdown::Stream& s : then.streams) {
    Seconds before;
    for (const ReplayBreakdown::Stream& same : now.streams)
      if (same.name == s.name) before = same.busy;
    rows.push_back({.part = Part::kStream,
                    .name = s.name,
                    .kernels = s.kernels,
                    .replayed = {before, {}, {}},
                    .what_if = {s.busy, {}, {}}});
  }
  return rows;
}

}  // namespace

Point answer_replay(Facts& facts, const ReplayQuestion& q, const ServingSetup::Hardware& hardware,
                    bool timeline) {
  if (q.trace.empty())
    throw InputError("replay.trace: missing; a file that torch.profiler wrote is expected");
  const auto recorded = facts.latest<RecordedTrace>(RecordedTraceKey{q.trace, q.step}, [&q] {
    const std::string name = given_name(q.trace, kGivenTrace);
    KinetoTrace trace = is_given_text(q.trace) ? parse_kineto(q.trace, name) : read_kineto(q.trace);
    TraceGraph graph = build_trace_graph(trace, name, q.step);
    return RecordedTrace{std::move(trace), std::move(graph)};
  });
  const TraceAnswer a =
      answer_trace(recorded->trace, recorded->graph, what_if_of(q, hardware), facts.bundle());
  Point p;
  p.at = place_of(q, hardware, *recorded);
  const auto measured = [&p](FigureRef figure, double value) {
    Metric m = exact_metric(figure, value);
    m.origin = Origin::kMeasured;
    p.metrics.push_back(std::move(m));
  };
  measured(own_figure<kFiguresOfReplays>("measured_time"), a.measured.value() / kReplayMs);
  measured(own_figure<kFiguresOfReplays>("replayed_time"), a.replayed.total.value() / kReplayMs);
  measured(own_figure<kFiguresOfReplays>("replay_error"), 100 * a.difference);
  p.metrics.push_back(metric("iteration_time@replay", a.time));
  if (a.changed && a.replayed.total > Seconds(0))
    p.metrics.push_back(
        metric(own_figure<kFiguresOfReplays>("time_ratio"), a.time, a.replayed.total.value()));
  p.notes = a.notes;
  auto detail = std::make_shared<ReplayDetail>();
  detail->rows = rows_of(a);
  if (timeline) detail->trace = replay_timeline(recorded->trace, recorded->graph, a.timeline);
  p.detail = std::move(detail);
  return p;
}

std::span<const Figure> replay_figures() { return kFiguresOfReplays; }

}  // namespace orrery
