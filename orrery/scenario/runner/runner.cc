#include "orrery/scenario/runner/runner.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/scenario/answer/optimum.h"
#include "orrery/scenario/document/scenario_json.h"

namespace orrery {
namespace {

using PointJson = nlohmann::ordered_json;

bool has_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

// Refuses values that have an effect only in models with experts, if no point has such a model.
void check_experts(Facts& facts, std::span<const Scenario> points) {
  const Fields::Undecided* refused = nullptr;
  const std::string* seen = nullptr;  // the last model that was looked at
  for (const Scenario& s : points) {
    if (s.undecided.empty()) return;
    if (seen != nullptr && *seen == s.model) continue;
    seen = &s.model;
    if (has_experts(facts.architecture(s.model))) return;
    if (refused == nullptr) refused = &s.undecided.front();
  }
  if (refused != nullptr) refused->refuse();
}

// An objective names one point of several.
void check_objective(const ScenarioSweep& sweep) {
  const Scenario& first = sweep.points.front();
  if (first.objective.empty()) return;
  if (sweep.points.size() == 1)
    throw InputError(
        "objective (--objective): one point leaves no choice; ask for several, as by --power-limit "
        "400W,500W,700W");
  for (const Scenario& s : sweep.points) {
    if (s.objective != first.objective)
      throw InputError("objective (--objective): one for all points");
  }
  if (first.objective == "cost" && !first.cost.asked())
    throw InputError(
        "objective (--objective): cost needs cost.price (--price) or cost.tier (--tier)");
}

// Adds the values of the sweep to Point::at.
void add_swept(const ScenarioSweep& sweep, std::size_t index, std::vector<Point>& points) {
  const PointJson at = swept_values(sweep, index);
  for (Point& p : points) {
    for (const auto& [key, value] : at.items())
      if (!(key == "gpu" || key == "device" || key == "network") || !p.at.contains(key))
        p.at[key] = value;  // those are ids, however written
  }
}

}  // namespace

Answer Runner::run(const ScenarioSweep& sweep, const RunOptions& options) {
  return run(sweep, options, sweep.points.front().kind().answer);
}

Answer Runner::run(const ScenarioSweep& sweep, const RunOptions& options,
                   const AnswerPoint& answer_point) {
  const QuestionKind& kind = sweep.points.front().kind();
  (kind.check_undecided ? kind.check_undecided : check_experts)(facts_, sweep.points);
  Answer answer;
  answer.scenario = sweep.name;
  check_objective(sweep);
  std::optional<std::string> broken;  // the rule that all points so far break
  bool all_broken = true;
  const std::size_t group = sweep.group();
  std::size_t begin = 0;
  if (options.meter) options.meter->points.all += static_cast<std::int64_t>(sweep.points.size());
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    const Scenario& s = sweep.points[i];
    if (options.meter && i > 0) ++options.meter->points.done;
    if (i == 0 && options.resolved)
      answer.resolved = with_sweep(kind.resolved ? kind.resolved(facts_, s) : to_json(s), sweep);
    PointAnswers now;
    try {
      answer_point({facts_, *this, options}, s, now);
      all_broken = false;
    } catch (const Infeasible& e) {
      if (sweep.points.size() == 1 || !kind.answers_infeasible) throw;
      now.points.front().feasibility = {false, e.what()};
      if (!broken) broken = e.what();
      all_broken &= *broken == e.what();
    }
    if (now.complete) answer.complete = answer.complete.value_or(true) && *now.complete;
    if (!sweep.keys.empty()) add_swept(sweep, i, now.points);
    for (Point& p : now.points) answer.points.push_back(std::move(p));
    if ((i + 1) % group != 0) continue;
    if (kind.compare) kind.compare(std::span(answer.points).subspan(begin), options);
    begin = answer.points.size();
  }
  if (all_broken && broken) throw Infeasible(*broken);
  if (const std::string& objective = sweep.points.front().objective; !objective.empty())
    answer.optimum = find_optimum(objective, answer.points);
  return answer;
}

}  // namespace orrery
