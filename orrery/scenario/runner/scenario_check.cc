#include "orrery/scenario/runner/scenario_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr double kMostChecked = 10'000;  // points whose memory is looked at

void add_once(std::vector<std::string>& to, const std::string& text) {
  if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
}

const char* kind_of(const Scenario& s) {
  if (s.if_asked<ServiceQuestion>()) return "simulated services";
  if (s.if_asked<CollectiveQuestion>()) return "collectives";
  if (s.if_asked<KernelQuestion>()) return "kernels";
  if (s.if_asked<TrainingQuestion>()) return "training";
  if (s.if_asked<EdgeQuestion>()) return "networks and LLMs at the edge";
  if (s.if_asked<ReplayQuestion>()) return "replays of a trace";
  if (s.if_asked<PlanQuestion>()) return "plans";
  return "steady state";
}

// "12 points, steady state; swept: isl (2 values), batch (6)".
std::string described(const ScenarioSweep& sweep) {
  std::string swept;
  const auto add = [&](const std::string& name, std::size_t values) {
    if (values < 2) return;
    swept += fmt::format("{}{} ({} values)", swept.empty() ? "; swept: " : ", ", name, values);
  };
  for (const ScenarioSweep::Key& k : sweep.keys) add(k.path, k.values.size());
  for (const ScenarioSweep::Key& k : sweep.sizes)
    add(k.path.substr(k.path.rfind('.') + 1), k.values.size());
  const std::size_t n = sweep.points.size();
  return fmt::format("{} point{}, {}{}", n, n == 1 ? "" : "s", kind_of(sweep.points.front()),
                     swept);
}

// The same question without the parts that take long to compute.
Scenario untimed(Scenario s) {
  if (!s.if_asked<ServiceQuestion>()) return s;
  SteadyQuestion longest;
  longest.isl = std::max<std::int64_t>(s.workload.max_model_len, 1);
  longest.osl = 1;
  s.asked = longest;
  return s;
}

bool any_fits(const Answer& a) {
  return std::any_of(a.points.begin(), a.points.end(),
                     [](const Point& p) { return p.feasibility.fits; });
}

// A change of the scenario with which a point fits; empty if none of the tried changes suffices.
std::string remedy(const Scenario& scenario, Runner& runner, const RunOptions& options) {
  const auto fits_with = [&](const Scenario& s) {
    try {
      return any_fits(runner.run(s, options));
    } catch (const Infeasible&) {
      return false;
    } catch (const NoData&) {
      return false;
    }
  };
  Scenario s = scenario;
  if (const auto* training = scenario.if_asked<TrainingQuestion>()) {
    s.ask<TrainingQuestion>().recompute = "full";
    if (fits_with(s)) return "training.recompute: full would fit";
    s = scenario;
    for (const std::int64_t gpus : {8, 16, 32, 64, 128, 256}) {
      if (gpus <= training->gpus) continue;
      s.ask<TrainingQuestion>().gpus = gpus;
      s.ask<TrainingQuestion>().zero = 3;
      if (fits_with(s)) return fmt::format("training.gpus: {} with zero: 3 would fit", gpus);
    }
    return "";
  }
  for (const std::int64_t tp : {2, 4, 8, 16}) {
    if (tp <= scenario.parallel.tp) continue;
    s.parallel.tp = tp;
    if (fits_with(s)) return fmt::format("parallel.tp: {} would fit", tp);
  }
  return "";
}

void advise(const ServiceQuestion& v, ScenarioCheck& c) {
  if (v.sent() > 0 && v.sent() < 100 && v.trace.empty())
    add_once(c.advice, fmt::format("load.requests: {} are few for a p99; take 1000", v.sent()));
  if (v.find_max_rate && !v.slo.any())
    add_once(c.advice, "load.find_max_rate: needs a limit in slo");
  if (!v.find_max_rate && !v.slo.any())
    add_once(c.advice, "slo: without limits there is no goodput");
}

}  // namespace

ScenarioCheck check_scenario(const ScenarioSweep& sweep, Runner& runner) {
  ScenarioCheck c;
  c.what = described(sweep);
  const double points = static_cast<double>(sweep.points.size());
  if (points > kMostChecked) {
    throw InputError(
        fmt::format("a sweep of {} points: too many to check; at most {}", points, kMostChecked));
  }
  RunOptions options;
  options.memory_only = true;
  options.breakdown = false;
  ScenarioSweep checked = sweep;
  for (Scenario& s : checked.points) {
    if (const auto* service = s.if_asked<ServiceQuestion>()) {
      load_of(*service, service->rate, c.notes);
      advise(*service, c);
    }
    s = untimed(std::move(s));
  }
  if (checked.points.front().if_asked<PlanQuestion>()) {
    c.points = static_cast<double>(checked.points.size());
    return c;
  }
  const Answer a = runner.run(checked, options);
  for (const Point& p : a.points) {
    if (!p.feasibility.fits) ++c.misfits, add_once(c.reasons, p.feasibility.reason);
    for (const std::string& note : p.notes) add_once(c.notes, note);
  }
  c.points = static_cast<double>(a.points.size());
  const Scenario& last = checked.points.back();
  if (any_fits(a) || last.if_asked<CollectiveQuestion>() || last.if_asked<KernelQuestion>() ||
      last.if_asked<ReplayQuestion>() || last.if_asked<EdgeQuestion>())
    return c;
  if (const std::string help = remedy(last, runner, options); !help.empty())
    add_once(c.advice, help);
  return c;
}

}  // namespace orrery
