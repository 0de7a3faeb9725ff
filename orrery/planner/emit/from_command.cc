#include "orrery/planner/emit/from_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/planner/bound/engine_bound.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/launch_reader.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_planner.h"
#include "orrery/planner/verify/race.h"
#include "orrery/planner/verify/trials.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

constexpr const char* kKey = "plan.from_command";

LaunchRead checked(const Bundle& bundle, const Scenario& question, const std::string& command) {
  if (divides(planned(question).choice))
    throw InputError(fmt::format(
        "{}: is compared with one fleet; plan.mixed and plan.others have several", kKey));
  LaunchRead read = read_launch(bundle, command);
  if (read.apart)
    throw InputError(fmt::format(
        "{}: the command starts an engine for prefill or decode alone; expected one that does both",
        kKey));
  const std::string own = catalog_id(bundle, read.model),
                    wanted = catalog_id(bundle, question.model);
  if (!own.empty() && !wanted.empty() && own != wanted)
    throw InputError(
        fmt::format("{}: the command serves {}, the question asks about {}", kKey, own, wanted));
  return read;
}

// The differences of the plan's engine from that of the command.
std::string differences(const EngineOption& own, const EngineOption& plan) {
  std::string out;
  const auto add = [&out](const char* what, const std::string& from, const std::string& to) {
    if (from == to) return;
    out += fmt::format("{}{}{}{} in the place of {}", out.empty() ? "" : ", ", what,
                       *what == 0 ? "" : " ", to, from);
  };
  const auto format = [](const EngineOption& o) {
    return o.format.empty() ? std::string("checkpoint") : o.format;
  };
  add("", own.gpu.gpu, plan.gpu.gpu);
  add("", own.engine, plan.engine);
  add("format", format(own), format(plan));
  add("tp", std::to_string(own.layout.tp), std::to_string(plan.layout.tp));
  add("pp", std::to_string(own.layout.pp), std::to_string(plan.layout.pp));
  add("dp", std::to_string(own.layout.dp), std::to_string(plan.layout.dp));
  add("ep", std::to_string(own.layout.ep), std::to_string(plan.layout.ep));
  add("cp", std::to_string(own.layout.cp), std::to_string(plan.layout.cp));
  add("prefix caching", own.prefix_caching ? "on" : "off", plan.prefix_caching ? "on" : "off");
  add("speculation", own.speculation.method, plan.speculation.method);
  return out;
}

const char* unit_of(PlanObjective objective) {
  constexpr const char* kUnits[] = {"USD an hour", "GPUs", "J a request", "requests/s"};
  return kUnits[index(objective)];
}

// The question with the engine of the command alone.
class Rival {
 public:
  Rival(Runner& runner, const Scenario& question, const LaunchRead& read)
      : runner_(runner), question_(question), option_(read.option) {
    PlanChoice& choice = planned(question_).choice;
    choice.top = 1, choice.modes = {"aggregated"};
    if (choice.objective != PlanObjective::kThroughput) choice.gpus = 0, choice.budget = 0;
    if (option_.speculation.on()) assume_drafts();
    const bool money = choice.objective == PlanObjective::kCost || choice.budget > 0;
    if (money && !question_.cost.asked()) question_.cost.tier = "on_demand";
    if (read.max_model_len > 0) question_.workload.max_model_len = read.max_model_len;
    load_ = planned_load(planned(question_).service, notes_);
  }

  // A sentence about what is taken for granted of the command; empty: nothing is.
  const std::string& assumed() const { return assumed_; }

  // A sentence about its best fleet on a type of GPU, beside the best plan.
  std::string on(const GpuStock& gpu, const FleetPlan& best) {
    const PlanChoice& choice = planned(question_).choice;
    option_.gpu = {runner_.catalog().gpu(gpu.gpu).id, 0};
    if (choice.objective == PlanObjective::kThroughput) option_.gpu.gpus = gpu.gpus;
    FirstStage first;
    first.considered = 1;
    first.options = {{option_, engine_bound(runner_, question_, option_, load_)}};
    const std::string& misfit = first.options.front().bound.misfit;
    if (!misfit.empty()) return fmt::format("the command on {}: {}", option_.name(), misfit);
    SearchContext context;
    Trials trials(runner_, question_, load_, context);
    const RaceResult raced = race(question_, load_, first, trials);
    if (raced.best.empty())
      return fmt::format("the command, {}: no number of its engines keeps the limits",
                         option_.name());
    const RacedFleet& r = raced.best.front();
    std::string out = fmt::format("the command: {}, {:.4g} {}, chance {:.0f} %", r.fleet.name(),
                                  r.value, unit_of(choice.objective), 100 * r.chance());
    const std::string other = differences(option_, best.engine);
    if (best.decode) return out + "; the plan has engines for prefill and for decode";
    if (!other.empty()) return out + "; the plan has " + other;
    const std::int64_t own = r.fleet.engines, plan = best.engines;
    return out +
           (own == plan ? "; it is the plan" : fmt::format("; the plan has {} such engines", plan));
  }

 private:
  // No flag tells how many drafts are accepted: the question does, if it has the same method.
  void assume_drafts() {
    SpeculationChoice& own = option_.speculation;
    const SpeculationChoice& asked = planned(question_).service.speculation;
    const bool same = asked.method == own.method;
    if (same) {
      own.acceptance = asked.acceptance, own.decay = asked.decay, own.spread = asked.spread;
      own.cost = asked.cost;
    }
    assumed_ = fmt::format("the command speculates by {} with {} drafts: their acceptance is {}",
                           own.method, own.tokens,
                           same ? "that of the question"
                                : fmt::format("{}, the default of speculation.acceptance",
                                              fmt::join(own.acceptance, ", ")));
  }

  Runner& runner_;
  Scenario question_;
  EngineOption option_;
  std::vector<std::string> notes_;
  std::string assumed_;
  PlannedLoad load_;
};

}  // namespace

std::vector<std::string> beside_command(Runner& runner, const Scenario& question,
                                        const std::string& command, const Plans& plans) {
  const LaunchRead read = checked(runner.bundle(), question, command);
  Rival rival(runner, question, read);
  std::vector<std::string> out;
  for (const std::string& text : planned(question).choice.gpu)
    out.push_back(rival.on(GpuStock::parse(text), plans.fleets.front()));
  if (!rival.assumed().empty()) out.push_back(rival.assumed());
  std::string unread;
  for (const std::string& word : read.unread) unread += " " + word;
  if (!unread.empty())
    out.push_back("flags of the command that are not read, and do not count:" + unread);
  return out;
}

Plans find_plans_beside(Runner& runner, const Scenario& question, SearchContext& context) {
  const std::string& command = planned(question).choice.from_command;
  if (command.empty()) return find_plans(runner, question, context);
  checked(runner.bundle(), question, command);
  Plans plans = find_plans(runner, question, context);
  std::vector<std::string>& told = plans.answer.points.front().notes;
  const std::vector<std::string> more = beside_command(runner, question, command, plans);
  told.insert(told.begin() + 1, more.begin(), more.end());
  return plans;
}

Answer answer_plan(Runner& runner, const Scenario& question, SearchContext& context) {
  if (planned(question).training) return find_run_plans(runner, question, context).answer;
  return find_plans_beside(runner, question, context).answer;
}

}  // namespace orrery
