// The answer to a scenario: named metrics with intervals and origins, breakdowns, feasibility and
// notes. Faces only render Answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/scenario/answer/figures.h"

namespace orrery {

// One result: a value of a figure. Times are in milliseconds, memory in GB (1e9), rates per second:
// `unit` says.
struct Metric {
  std::string name;  // "ttft", "tpot", "output_throughput", ...
  std::string unit;  // "ms", "tokens/s", "GB", ...
  double value = 0;
  double low50 = 0, high50 = 0, low90 = 0, high90 = 0;  // equal to value when exact
  Origin origin = Origin::kExact;
  Subject subject = Subject::kOther;
  Better better = Better::kNeither;
  std::optional<double> percentile = {};  // of a distribution: 95 of "tpot_p95"

  bool has_interval() const { return low90 < high90; }
};

// A metric of an estimate, over `divisor`: tokens for the energy of a token.
template <class Q>
Metric metric(FigureRef figure, const Estimate<Q>& e, double divisor = 1) {
  const double scale = scale_of(figure->unit) * divisor;
  auto at = [&](double p) { return e.quantile(p).value() / scale; };
  return {.name = std::string(figure->name),
          .unit = std::string(figure->unit),
          .value = e.value.value() / scale,
          .low50 = at(0.25),
          .high50 = at(0.75),
          .low90 = at(0.05),
          .high90 = at(0.95),
          .origin = e.origin,
          .subject = figure->subject,
          .better = figure->better};
}
// `value` is in the unit of the figure.
Metric exact_metric(FigureRef figure, double value, Origin origin = Origin::kExact);
// A percentile of the requests: "tpot_p95".
Metric percentile_metric(FigureRef figure, double percentile, double value);
// The metric at another value, without an interval.
Metric exact(Metric m, double value);
// A rate: amount / time. Its lower bounds come from the upper bounds of the time.
Metric rate_metric(FigureRef figure, double amount, const Estimate<Seconds>& time);
// The power of a GPU's board, in W. Its interval ends at the board's limit.
Metric power_metric(const Estimate<Watts>& power, Watts limit);
// Ends the interval of a power, in W, where that of the most that can be drawn ends.
void end_at(Metric& power, const Estimate<Watts>& most);
// The energy of that power during a time, both uncertain.
Estimate<Joules> energy_of(const Estimate<Watts>& power, const Estimate<Seconds>& time);
// Adds a relative error, one standard deviation of the logarithm, to both intervals in quadrature.
void widen(Metric& m, double error);

// One kind of kernel (or host work) in a step.
struct KernelRow {
  std::string phase;       // "prefill", "decode"
  std::string name;        // of the op: "gate_up_proj"
  std::string label;       // tells rows of one name from each other: "window 128"; else empty
  std::string part;        // "attention", "mlp", "communication", "host", ...
  std::string sizes;       // "gemm bf16 [16, 8192] x [8192, 7168]"
  double calls = 1;        // a step
  Estimate<Seconds> time;  // sum over the calls of a step
  double share = 0;        // of the step's time, 0 to 1
  Flops flops;             // of the calls of a step
  Bytes bytes;             // of device memory that they must move
  std::string bound;       // "compute", "memory", "launch", "network", "host"
  double of_peak =
      0;  // achieved share of the peak rate or bandwidth that bounds it, 0 to 1; 0: none
  bool attends = false;      // its queries attend to cached keys (workload/ops/op.h)
  bool elementwise = false;  // a norm, an activation or the like

  // The name and the label, which no other row of the phase has: "attn_decode (window 128)".
  std::string shown() const;
};

// Gives rows of the same phase and name the labels that tell them from each other: label_of(i) of
// row i from `first` on, and a number where that is the same, too.
void label_repeated(std::vector<KernelRow>& rows, std::size_t first,
                    const std::function<std::string(std::size_t)>& label_of);

struct MemoryRow {
  std::string name;  // "weights", "kv_cache", ...
  Bytes size;
};

// A part of an energy.
struct EnergyRow {
  std::string name;  // "awake", "data_collectives", "node_rest", ...
  Joules energy;
};

// A range that physics allows a metric (physical_bounds.h). A metric may have several.
struct MetricBound {
  std::string metric;
  double low = 0, high = 0;  // infinite where there is none
  std::string why;
};

struct Feasibility {
  bool fits = true;
  std::string reason;  // if it does not fit: the numbers and the largest contributors
};

// Events over time, in Chrome's trace event format, which ui.perfetto.dev opens.
struct Timeline {
  std::string title;  // of a picture: "Timeline of an iteration"
  std::string trace;  // empty: nothing was recorded
};

// A picture of a kind's own: an <svg> element, or bars that the faces draw, the first on top.
struct DetailBars {
  std::string title, unit;
  std::vector<std::pair<std::string, double>> parts;
};
struct DetailPicture {
  std::string name;
  std::string svg;  // empty: the bars
  DetailBars bars;
};

struct Point;

// The part of a point that its kind of question owns: rows, and how they are shown. The default of
// each function is that there is nothing to show.
class PointDetail {
 public:
  virtual ~PointDetail() = default;
  // Adds members to the JSON of the point, behind its kernels.
  virtual void add_json(nlohmann::ordered_json&) const {}
  // Lines below the figures of the point, of 80 columns and as Markdown.
  virtual std::string text(const Point&) const { return ""; }
  virtual std::string markdown(const Point&) const { return ""; }
  virtual Timeline timeline() const { return {}; }
  virtual std::vector<DetailPicture> pictures() const { return {}; }
};

// The answer at one point of a sweep.
struct Point {
  nlohmann::ordered_json at;  // the swept values: {"tp": 8, "isl": 1024, "osl": 128, "batch": 16}
  Feasibility feasibility;
  std::vector<Metric> metrics;
  std::vector<KernelRow> kernels;
  std::vector<MemoryRow> memory;  // of one GPU, or what memory_of names
  Bytes memory_capacity;
  std::string memory_of = "GPU";
  std::vector<EnergyRow> energy;  // of energy_of, in energy.scope, by what draws it
  // The same by the kinds of the kernels that draw it (work_of_kinds.h), with the same sum.
  std::vector<EnergyRow> energy_by_kernel;
  std::string energy_of;            // "GPU and iteration", "request", "run"
  std::optional<bool> meets_slo;    // of a simulated service with limits
  std::string limit;                // one line: the bottleneck, and what would help
  std::vector<std::string> notes;   // assumptions and defaults taken
  std::vector<MetricBound> bounds;  // filled on request
  // On request: files, each the end of its name and its bytes. Chakra traces are "prefill.0.et" and
  // "decode.0.et", of training "0.et", "1.et", ... and "groups.json".
  std::vector<std::pair<std::string, std::string>> files;
  std::shared_ptr<const PointDetail> detail;  // of the kind; null: it adds nothing

  const Metric* find(std::string_view name) const;
  Timeline timeline() const { return detail ? detail->timeline() : Timeline(); }
};

// The best point of a sweep by an objective (optimum.h).
struct Optimum {
  std::string objective;
  std::size_t point = 0;  // its index
  double value = 0;
  std::string unit;
  double saved = 0;   // share of the fastest point's value
  double slower = 0;  // share of the fastest point's rate that is lost
};

struct Answer {
  std::string scenario;             // its name
  nlohmann::ordered_json resolved;  // the whole configuration after defaults
  std::vector<Point> points;
  std::optional<Optimum> optimum;  // of an objective that some point has a value for
  // Whether all candidates for a plan were looked at; false: the search was stopped. Only plans
  // have it.
  std::optional<bool> complete;
};

// Six significant digits: more than any prediction has, and the same bytes everywhere.
double rounded(double v);

// Version of the JSON form below.
inline constexpr int kAnswerFormat = 1;
nlohmann::ordered_json to_json(const Point& point, bool breakdown);
nlohmann::ordered_json to_json(const Answer& answer, bool breakdown);

}  // namespace orrery
