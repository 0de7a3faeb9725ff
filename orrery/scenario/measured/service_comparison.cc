#include "orrery/scenario/measured/service_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// A key of the engine's profile and the value that it is tried with.
struct Trial {
  std::string group, key, value;
};

class Causes {
 public:
  Causes(const Point& predicted, const Json& resolved, const Resimulate& again,
         std::vector<ComparedFigure>& figures, std::vector<std::string>& causes)
      : predicted_(predicted),
        resolved_(resolved),
        again_(again),
        figures_(figures),
        causes_(causes) {}

  void add() {
    const ComparedFigure *ttft = find("ttft"), *tpot = find("tpot");
    const bool tpot_off = tpot && !tpot->within(), ttft_off = ttft && !ttft->within();
    const bool saturated = value("evictions") > 0 || value("kv_use") > 90;
    if (ttft_off && saturated) {
      add("the KV cache is full in the prediction: compare kv_tokens with the engine's log (\"GPU "
          "KV "
          "cache size\")",
          *ttft, memory_trials(*ttft));
    }
    if (tpot_off && tpot->difference() < 0) {
      const bool few = value("running") < 32;
      add(few ? "steps take longer than their kernels with few sequences: host time (eager mode, a "
                "slow CPU, the API server)"
              : "steps take longer than their kernels: another kernel or format than assumed (see "
                "the notes), a throttled GPU, or a slower link between GPUs",
          *tpot, few ? host_trials(*tpot) : std::vector<Trial>());
    }
    if (tpot_off && tpot->difference() > 0) {
      causes_.push_back(
          "the service is faster than predicted: a newer kernel or format than assumed, "
          "speculative "
          "decoding, or prefix hits that the load does not show");
    }
    if (!ttft_off || tpot_off) return;
    if (ttft->difference() < 0) {
      add("steps are right and first tokens come later: tokeniser, front end or network before the "
          "engine, or arrivals burstier than stated",
          *ttft, overhead_trials(*ttft));
    } else {
      causes_.push_back(
          "steps are right and first tokens come earlier: prefix hits, or requests that were sent "
          "later than stated");
    }
  }

 private:
  const ComparedFigure* find(std::string_view name) const {
    const auto it = std::find_if(figures_.begin(), figures_.end(),
                                 [&](const ComparedFigure& f) { return f.name == name; });
    return it == figures_.end() ? nullptr : &*it;
  }
  double value(std::string_view name) const {
    const Metric* m = predicted_.find(name);
    return m ? m->value : 0;
  }
  // A constant of the engine as the answer resolved it; null if it has none.
  Json constant(const char* group, const char* key) const {
    const auto at = Json::json_pointer(fmt::format("/engine/constants/{}/{}", group, key));
    return resolved_.contains(at) ? resolved_[at] : Json();
  }
  double milliseconds_of(const char* group, const char* key) const {
    const Json v = constant(group, key);
    return v.is_string() ? parse_quantity(Dimension::kTime, v.get<std::string>()).value_or(0) * 1e3
                         : 0;
  }

  // Host time after the GPU adds to a step; host time hidden behind the GPU lengthens the step only
  // if it takes all of it.
  std::vector<Trial> host_trials(const ComparedFigure& f) const {
    const double more = f.measured - f.predicted.value;
    const double now = milliseconds_of("execution", "host_per_step");
    return {{"execution", "host_per_step", fmt::format("{:.3g} ms", now + more)},
            {"execution", "host_per_step", fmt::format("{:.3g} ms", f.measured)}};
  }
  std::vector<Trial> overhead_trials(const ComparedFigure& f) const {
    const double more = f.measured - f.predicted.value;
    const double now = milliseconds_of("execution", "request_overhead");
    return {{"execution", "request_overhead", fmt::format("{:.3g} ms", now + more)}};
  }
  // More room if first tokens came earlier than predicted, less if they came later.
  std::vector<Trial> memory_trials(const ComparedFigure& f) const {
    const Json now = constant("memory", "utilization");
    if (!now.is_number()) return {};
    const double step = f.difference() > 0 ? 0.05 : -0.05;
    return {{"memory", "utilization",
             fmt::format("{:.3g}", std::clamp(now.get<double>() + step, 0.05, 0.98))}};
  }

  // The cause, with the first trial that moves the figure by a tenth of the difference.
  void add(std::string cause, const ComparedFigure& f, const std::vector<Trial>& trials) {
    const double missing = f.measured - f.predicted.value;
    for (const Trial& t : trials) {
      if (!again_) break;
      const Metric* m = nullptr;
      Point p;
      try {
        p = again_(fmt::format("engine.overrides.{}.{}", t.group, t.key), t.value);
        m = p.find(f.name);
      } catch (const InputError&) {  // out of the key's range
      } catch (const Infeasible&) {
      }
      if (m == nullptr || (m->value - f.predicted.value) / missing < 0.1) continue;
      cause += fmt::format("; --set engine.{}='{}' predicts {} {:.4g} {}", t.key, t.value, f.name,
                           m->value, m->unit);
      break;
    }
    causes_.push_back(std::move(cause));
  }

  const Point& predicted_;
  const Json& resolved_;
  const Resimulate& again_;
  const std::vector<ComparedFigure>& figures_;
  std::vector<std::string>& causes_;
};

}  // namespace

Comparison compare(const ServiceResult& measured, const Point& predicted, const Json& resolved,
                   const Resimulate& again) {
  Comparison c;
  for (const Metric& m : predicted.metrics) {
    const auto it = measured.figures.find(m.name);
    if (it != measured.figures.end() && it->second > 0)
      c.figures.push_back({m.name, it->second, m});
  }
  Causes(predicted, resolved, again, c.figures, c.causes).add();
  return c;
}

}  // namespace orrery
