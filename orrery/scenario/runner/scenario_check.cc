#include "orrery/scenario/runner/scenario_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

using QuestionKind = Scenario::Kind;

constexpr double kMostChecked = 10'000;  // points whose memory is looked at

void add_once(std::vector<std::string>& to, const std::string& text) {
  if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
}

const char* kind_of(const Scenario& s) {
  switch (s.kind) {
    case QuestionKind::kSteady:
      break;
    case QuestionKind::kService:
      return "simulated services";
    case QuestionKind::kCollective:
      return "collectives";
    case QuestionKind::kKernel:
      return "kernels";
    case QuestionKind::kTraining:
      return "training";
  }
  return "steady state";
}

// "12 points, steady state; swept: isl (2 values), batch (6)".
std::string described(const Scenario& s) {
  std::string swept;
  const auto add = [&](const std::string& name, std::size_t values) {
    if (values < 2) return;
    swept += fmt::format("{}{} ({} values)", swept.empty() ? "; swept: " : ", ", name, values);
  };
  for (const Scenario::SweptKey& k : s.swept) add(k.path, k.values.size());
  if (s.kind == QuestionKind::kCollective) {
    add("bytes", s.collective.bytes.size()), add("gpus", s.collective.gpus.size());
    add("tokens", s.collective.tokens.size());
  } else if (s.kind == QuestionKind::kKernel) {
    add("m", s.kernel.m.size()), add("context", s.kernel.context.size());
  } else if (s.kind == QuestionKind::kTraining) {
    const TrainingQuestion& q = s.training;
    add("gpus", q.gpus.size()), add("tp", q.tp.size()), add("cp", q.cp.size());
    add("pp", q.pp.size()), add("vp", q.vp.size()), add("ep", q.ep.size());
    add("seq", q.seq.size()), add("micro_batch", q.micro_batch.size());
    add("global_batch", q.global_batch.size());
  } else {
    add("tp", s.parallel.tp.size()), add("pp", s.parallel.pp.size());
    if (s.kind == QuestionKind::kService) {
      add("rate", s.service.rate.size());
    } else {
      add("isl", s.workload.isl.size()), add("osl", s.workload.osl.size());
      add("batch", s.workload.batch.size());
    }
  }
  const double n = point_count(s);
  return fmt::format("{} point{}, {}{}", n, n == 1 ? "" : "s", kind_of(s), swept);
}

// The same without anything that takes time.
Scenario untimed(Scenario s) {
  if (s.kind == QuestionKind::kService) {
    s.kind = QuestionKind::kSteady;
    const std::int64_t longest = std::max<std::int64_t>(s.workload.max_model_len, 1);
    s.workload.isl = {longest}, s.workload.osl = {1}, s.workload.batch = {1};
  }
  return s;
}

bool any_fits(const Answer& a) {
  return std::any_of(a.points.begin(), a.points.end(),
                     [](const Point& p) { return p.feasibility.fits; });
}

// A change of the scenario after which a point fits; empty: none of those tried.
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
  if (scenario.kind == QuestionKind::kTraining) {
    Scenario s = scenario;
    s.training.recompute = "full";
    if (fits_with(s)) return "training.recompute: full would fit";
    for (const std::int64_t gpus : {8, 16, 32, 64, 128, 256}) {
      if (gpus <= s.training.gpus.back()) continue;
      s = scenario;
      s.training.gpus = {gpus};
      s.training.zero = 3;
      if (fits_with(s)) return fmt::format("training.gpus: {} with zero: 3 would fit", gpus);
    }
    return "";
  }
  for (const std::int64_t tp : {2, 4, 8, 16}) {
    if (tp <= scenario.parallel.tp.back()) continue;
    Scenario s = scenario;
    s.parallel.tp = {tp};
    if (fits_with(s)) return fmt::format("parallel.tp: {} would fit", tp);
  }
  return "";
}

void advise(const Scenario& s, ScenarioCheck& c) {
  if (s.kind != QuestionKind::kService) return;
  const ServiceScenario& v = s.service;
  if (v.sent() > 0 && v.sent() < 100 && v.trace.empty())
    add_once(c.advice, fmt::format("load.requests: {} are few for a p99; take 1000", v.sent()));
  if (v.find_max_rate && !v.slo.any())
    add_once(c.advice, "load.find_max_rate: needs a limit in slo");
  if (!v.find_max_rate && !v.slo.any())
    add_once(c.advice, "slo: without limits there is no goodput");
}

void check_one(const Scenario& s, Runner& runner, ScenarioCheck& c) {
  RunOptions options;
  options.memory_only = true;
  options.breakdown = false;
  const Scenario checked = untimed(s);
  if (s.kind == QuestionKind::kService) load_of(s.service, s.service.rate.front(), c.notes);
  const Answer a = runner.run(checked, options);
  for (const Point& p : a.points) {
    if (!p.feasibility.fits) ++c.misfits, add_once(c.reasons, p.feasibility.reason);
    for (const std::string& note : p.notes) add_once(c.notes, note);
  }
  c.points += static_cast<double>(a.points.size());
  advise(s, c);
  if (any_fits(a) || s.kind == QuestionKind::kCollective || s.kind == QuestionKind::kKernel) return;
  if (const std::string help = remedy(checked, runner, options); !help.empty())
    add_once(c.advice, help);
}

}  // namespace

ScenarioCheck check_scenario(const Scenario& scenario, Runner& runner) {
  ScenarioCheck c;
  c.what = described(scenario);
  const double points = point_count(scenario);
  if (points > kMostChecked) {
    throw InputError(
        fmt::format("a sweep of {} points: too many to check; at most {}", points, kMostChecked));
  }
  if (scenario.variants.empty()) {
    check_one(scenario, runner, c);
  } else {
    for (const Scenario& v : scenario.variants) check_one(v, runner, c);
  }
  return c;
}

}  // namespace orrery
