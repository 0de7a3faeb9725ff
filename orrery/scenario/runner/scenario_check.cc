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
  return fmt::format("{} point{}, {}{}", n, n == 1 ? "" : "s", sweep.points.front().kind().plural,
                     swept);
}

bool any_fits(const Answer& a) {
  return std::any_of(a.points.begin(), a.points.end(),
                     [](const Point& p) { return p.feasibility.fits; });
}

// A change of the scenario with which a point fits; empty if none of the tried changes suffices.
std::string remedy(const Scenario& scenario, Runner& runner, const RunOptions& options) {
  const QuestionKind& kind = scenario.kind();
  if (!kind.remedies) return "";
  for (const Remedy& tried : kind.remedies(scenario)) {
    try {
      if (any_fits(runner.run(tried.changed, options))) return tried.what + " would fit";
    } catch (const Infeasible&) {
    } catch (const NoData&) {
    }
  }
  return "";
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
  const QuestionKind& kind = sweep.points.front().kind();
  if (kind.untimed) {
    Preview preview;
    for (Scenario& s : checked.points) s = kind.untimed(s, preview);
    for (const std::string& note : preview.notes) add_once(c.notes, note);
    for (const std::string& advice : preview.advice) add_once(c.advice, advice);
  }
  if (!kind.checkable) {
    c.points = points;
    return c;
  }
  const Answer a = runner.run(checked, options);
  for (const Point& p : a.points) {
    if (!p.feasibility.fits) ++c.misfits, add_once(c.reasons, p.feasibility.reason);
    for (const std::string& note : p.notes) add_once(c.notes, note);
  }
  c.points = static_cast<double>(a.points.size());
  if (any_fits(a)) return c;
  if (const std::string help = remedy(checked.points.back(), runner, options); !help.empty())
    add_once(c.advice, help);
  return c;
}

}  // namespace orrery
