// The answer to a scenario: named metrics with intervals and origins, breakdowns, feasibility and
// notes. Faces only render Answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"

namespace orrery {

// One named result. Times are in milliseconds, memory in GB (1e9), rates per second: `unit` says.
struct Metric {
  std::string name;  // "ttft", "tpot", "output_throughput", ...
  std::string unit;  // "ms", "tokens/s", "GB", ...
  double value = 0;
  double low50 = 0, high50 = 0, low90 = 0, high90 = 0;  // equal to value when exact
  Origin origin = Origin::kExact;

  bool has_interval() const { return low90 < high90; }
};

// A metric of an estimate. `scale`: base units in one `unit` (1e-3 for ms).
template <class Q>
Metric metric(std::string name, std::string unit, const Estimate<Q>& e, double scale) {
  auto at = [&](double p) { return e.quantile(p).value() / scale; };
  return {std::move(name), std::move(unit), e.value.value() / scale, at(0.25), at(0.75), at(0.05),
          at(0.95),        e.origin};
}
Metric exact_metric(std::string name, std::string unit, double value);
// A rate: amount / time. Its lower bounds come from the upper bounds of the time.
Metric rate_metric(std::string name, std::string unit, double amount,
                   const Estimate<Seconds>& time);
// The power of a GPU's board, in W. Its interval ends at the board's limit.
Metric power_metric(const Estimate<Watts>& power, Watts limit);
// Ends the interval of a power, in W, where that of the most that can be drawn ends.
void end_at(Metric& power, const Estimate<Watts>& most);
// The energy of that power during a time, both uncertain.
Estimate<Joules> energy_of(const Estimate<Watts>& power, const Estimate<Seconds>& time);
// Adds a relative error, one standard deviation of the logarithm, to both intervals in quadrature.
void widen(Metric& m, double error);
// A rate in percent of a data sheet's peak. Its interval ends at 100 %.
Metric of_peak_metric(std::string name, double amount, const Estimate<Seconds>& time);

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

// A class of work in a replayed trace, something else that takes time, or a stream. Times and
// kernels are of one iteration.
struct ReplayRow {
  enum class Part {
    kClass,   // a class of work; has all times
    kIdle,    // nothing ran on the GPU; has the exposed time
    kPath,    // something else on the path that decides; has the critical time
    kStream,  // has the busy time
  };
  struct Times {
    Seconds busy;      // sum over the kernels
    Seconds exposed;   // while no other class ran on any stream
    Seconds critical;  // on the path that decides the iteration's time
  };
  Part part = Part::kClass;
  std::string name;    // "gemm"; "GPU idle"; "device 0, stream 7"
  double kernels = 0;  // 0 where it is no class or stream
  Times replayed;      // as it was recorded
  Times what_if;       // with what was asked; the same as `replayed` where nothing was
};

// One request of a simulated service.
struct RequestRow {
  Seconds arrival;
  std::int64_t input = 0, output = 0;  // tokens
  Seconds front_end;                   // before it is in a scheduler's queue
  Seconds queue;                       // in that queue
  Seconds ttft, tpot, e2e;             // tpot is 0 for a single token
  std::int64_t cached = 0;             // tokens of the prompt
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t replica = 0;
  std::string outcome;  // "done", "too long", "never fits", "unfinished"
};

// One step of a simulated service.
struct StepRow {
  Seconds start, end;
  std::int64_t engine = 0, decodes = 0, prompts = 0, prompt_tokens = 0;
  std::int64_t running = 0, waiting = 0;  // requests
  double kv_use = 0;                      // share of the KV blocks, 0 to 1
};

// Power in windows of one length, the last of which ends at `end`.
struct PowerSeries {
  Seconds window, end;
  std::vector<Watts> power;  // mean in each window
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

// The answer at one point of a sweep.
struct Point {
  nlohmann::ordered_json at;  // the swept values: {"tp": 8, "isl": 1024, "osl": 128, "batch": 16}
  Feasibility feasibility;
  std::vector<Metric> metrics;
  std::vector<KernelRow> kernels;
  std::vector<ReplayRow> replay;  // of a recorded trace
  std::vector<MemoryRow> memory;  // of one GPU, or what memory_of names
  Bytes memory_capacity;
  std::string memory_of = "GPU";
  std::vector<EnergyRow> energy;  // of energy_of, in energy.scope, by what draws it
  // The same by the kinds of the kernels that draw it (work_of_kinds.h), with the same sum.
  std::vector<EnergyRow> energy_by_kernel;
  std::string energy_of;             // "GPU and iteration", "request", "run"
  std::optional<bool> meets_slo;     // of a simulated service with limits
  std::string limit;                 // one line: the bottleneck, and what would help
  std::vector<std::string> notes;    // assumptions and defaults taken
  std::vector<RequestRow> requests;  // filled on request for a simulated service
  std::vector<StepRow> steps;        // filled on request for a simulated service
  PowerSeries power;                 // filled with `steps` where the power is known
  std::vector<MetricBound> bounds;   // filled on request
  std::string timeline;              // on request: a pipeline or a replay in Chrome's trace format
  // On request: Chakra traces, each the end of a file's name ("prefill.0.et", "decode.0.et"; of
  // training "0.et", "1.et", ... and "groups.json") and its bytes.
  std::vector<std::pair<std::string, std::string>> chakra;

  const Metric* find(std::string_view name) const;
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

// Version of the JSON form below.
inline constexpr int kAnswerFormat = 1;
nlohmann::ordered_json to_json(const Point& point, bool breakdown);
nlohmann::ordered_json to_json(const Answer& answer, bool breakdown);

}  // namespace orrery
