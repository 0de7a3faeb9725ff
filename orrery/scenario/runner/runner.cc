#include "orrery/scenario/runner/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/scenario/answer/optimum.h"
#include "orrery/scenario/collective/collective_answer.h"
#include "orrery/scenario/document/scenario_keys.h"
#include "orrery/scenario/edge/edge_points.h"
#include "orrery/scenario/kernel/kernel_answer.h"
#include "orrery/scenario/replay/replay_answer.h"
#include "orrery/scenario/service/service_points.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/scenario/steady/steady_answer.h"
#include "orrery/scenario/training/training_answer.h"
#include "orrery/scenario/training/training_chance.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/training/iteration/training_kernels.h"

namespace orrery {
namespace {

using PointJson = nlohmann::ordered_json;

struct TrainedModelKey {
  std::string model;
  ServingSetup::ModelOverrides overrides;
  bool operator==(const TrainedModelKey&) const = default;
};

bool has_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

// Refuses values that have an effect only in models with experts, if no point has such a model.
void check_experts(Facts& facts, const ScenarioSweep& sweep) {
  const Fields::Undecided* refused = nullptr;
  const std::string* seen = nullptr;  // the last model that was looked at
  for (const Scenario& s : sweep.points) {
    if (s.undecided.empty()) return;
    if (seen != nullptr && *seen == s.model) continue;
    seen = &s.model;
    if (has_experts(facts.architecture(s.model))) return;
    if (refused == nullptr) refused = &s.undecided.front();
  }
  if (refused != nullptr) refused->refuse();
}

// Refuses values that only networks or only LLMs have, where no point asks about one.
void check_kinds_of_edge(Facts& facts, const ScenarioSweep& sweep) {
  bool networks = false, llms = false;
  for (const Scenario& s : sweep.points) {
    const bool llm = !facts.own<EdgeTables>().llm_of(s.as<EdgeQuestion>()).empty();
    (llm ? llms : networks) = true;
  }
  check_edge_needs(sweep.points.front().undecided, networks, llms);
}

// The configuration after all defaults.
PointJson resolved(Facts& facts, const Scenario& s) {
  const bool served = s.if_asked<SteadyQuestion>() || s.if_asked<ServiceQuestion>();
  return served ? deployment_of(facts, s)->resolved(s) : to_json(s);
}

// Widens the intervals of `p` by those of the same point of an engine that is started otherwise.
void cover(const Point& other, Point& p) {
  for (Metric& m : p.metrics) {
    const Metric* o = other.find(m.name);
    if (o == nullptr || !(m.has_interval() || o->has_interval())) continue;
    m.low90 = std::min(m.low90, o->low90), m.high90 = std::max(m.high90, o->high90);
    m.low50 = std::min(m.low50, o->low50), m.high50 = std::max(m.high50, o->high50);
  }
}

// Answers a question about serving. Where it does not say how the engine is started and the ways
// differ, the intervals cover both.
void answer_serving(Facts& facts, const Scenario& s, const RunOptions& options, Point& p) {
  const auto answer = [&facts](const Scenario& asked, const RunOptions& with, Point& point) {
    if (asked.if_asked<SteadyQuestion>()) return answer_steady(facts, asked, with, point);
    answer_services(facts, asked, with, point);
  };
  answer(s, options, p);
  if (!s.engine.setup.empty() || options.memory_only || !options.intervals) return;
  if (!facts.engine(s.engine.profile, facts.gpu(s.hardware.gpu)).setups.differ) return;
  Scenario tuned = s;
  tuned.engine.setup = engine_setup_names().back();
  RunOptions plain = options;
  plain.breakdown = plain.bounds = plain.steps = plain.requests = plain.chakra = false;
  Point other;
  try {
    answer(tuned, plain, other);
  } catch (const Infeasible&) {
    return;  // it does not fit when it is tuned
  }
  cover(other, p);
}

// Fills the point of a question, or two points if a collective is compared with another simulator.
// After an exception the point has the parts that were known.
void answer_point(Facts& facts, const Scenario& s, const RunOptions& options,
                  std::vector<Point>& points) {
  if (s.if_asked<SteadyQuestion>() && s.cost.preemptions_per_day)
    throw InputError(
        "cost.preemptions_per_day: a steady state has no losses; simulate and train count them");
  if (s.if_asked<SteadyQuestion>() || s.if_asked<ServiceQuestion>())
    return answer_serving(facts, s, options, points.front());
  const CallChoice accounts{s.cost, s.plant};
  if (const auto* q = s.if_asked<CollectiveQuestion>()) {
    points = answer_collective(facts, *q, s.hardware, accounts, options.bounds);
    return;
  }
  if (const auto* q = s.if_asked<EdgeQuestion>()) {
    points = answer_edge(facts, *q, options);
    return;
  }
  if (const auto* q = s.if_asked<ReplayQuestion>()) {
    points = {answer_replay(facts, *q, s.hardware, options.steps)};
    return;
  }
  const Gpu& gpu = facts.gpu(s.hardware.gpu);
  if (const auto* q = s.if_asked<KernelQuestion>()) {
    const KernelClasses classes = classes_of(*q);
    points = {answer_kernel(
        facts, *q,
        {gpu, facts.kernels(gpu, classes), facts.power(gpu, classes), s.hardware.knobs()},
        accounts)};
    return;
  }
  const auto model = facts.latest<Architecture>(TrainedModelKey{s.model, s.model_overrides},
                                                [&] { return architecture_of(facts, s); });
  const auto price = gpu_price(facts, s.cost, gpu, points.front().notes);
  TrainingQuestion training = s.as<TrainingQuestion>();
  if (price) {
    const double gpus = node_of(facts.catalog(), gpu, s.hardware.node).gpu_count;
    add_preemptions(*price, gpus, training, points.front().notes);
  }
  answer_training(
      facts, training,
      {*model, gpu, s.hardware.node, facts.kernels(gpu, training_kernels(gpu, facts.bundle())),
       options.breakdown, options.steps, options.bounds, options.chakra, price ? &*price : nullptr,
       s.plant.asked() ? &s.plant : nullptr, s.hardware.knobs()},
      points.front());
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

// The common parts of points that differ only in sizes.
void compare(const Scenario& s, const RunOptions& options, std::span<Point> points) {
  if (s.if_asked<TrainingQuestion>()) compare_training(points, options.bounds);
}

}  // namespace

std::unique_ptr<TrainingEvaluator> Runner::evaluator(const Scenario& run) {
  return std::make_unique<TrainingEvaluator>(facts_, run);
}

Answer Runner::plans(const ScenarioSweep& sweep) {
  if (!planner_) throw NoData("plans are not made here: orrery plan and orrery run make them");
  Answer answer;
  answer.scenario = sweep.name;
  answer.resolved = to_json(sweep);
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    Answer plans = planner_(*this, sweep.points[i]);
    std::vector<Point> points = std::move(plans.points);
    if (plans.complete) answer.complete = answer.complete.value_or(true) && *plans.complete;
    if (!sweep.keys.empty()) add_swept(sweep, i, points);
    for (Point& p : points) answer.points.push_back(std::move(p));
  }
  return answer;
}

Answer Runner::run(const ScenarioSweep& sweep, const RunOptions& options) {
  if (sweep.points.front().if_asked<EdgeQuestion>()) {
    check_kinds_of_edge(facts_, sweep);
  } else {
    check_experts(facts_, sweep);
  }
  if (sweep.points.front().if_asked<PlanQuestion>()) return plans(sweep);
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
    if (i == 0 && options.resolved) answer.resolved = with_sweep(resolved(facts_, s), sweep);
    std::vector<Point> points(1);
    try {
      answer_point(facts_, s, options, points);
      all_broken = false;
    } catch (const Infeasible& e) {
      if (sweep.points.size() == 1) throw;
      points.front().feasibility = {false, e.what()};
      if (!broken) broken = e.what();
      all_broken &= *broken == e.what();
    }
    if (!sweep.keys.empty()) add_swept(sweep, i, points);
    for (Point& p : points) answer.points.push_back(std::move(p));
    if ((i + 1) % group != 0) continue;
    compare(s, options, std::span(answer.points).subspan(begin));
    begin = answer.points.size();
  }
  if (all_broken && broken) throw Infeasible(*broken);
  if (const std::string& objective = sweep.points.front().objective; !objective.empty())
    answer.optimum = find_optimum(objective, answer.points);
  return answer;
}

}  // namespace orrery
