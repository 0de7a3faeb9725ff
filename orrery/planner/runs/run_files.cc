#include "orrery/planner/runs/run_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/hardware/cluster.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_launch.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {
namespace {

double value_of(const Point& p, const char* name) {
  const Metric* m = p.find(name);
  return m == nullptr ? 0 : m->value;
}

// The file with what the boards are set to, behind its first line where that names a shell.
std::string with_boards(std::string text, const PowerKnobs& boards) {
  const std::size_t at = text.starts_with("#!") ? text.find('\n') + 1 : 0;
  return text.insert(at, board_commands(boards));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> run_files(Runner& runner, const RunPlans& found) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"plan.json", to_json(found.answer, false).dump(1) + "\n"}};
  std::string front = "plan,gpu,gpus,days,usd\n", rejected = "layouts,reason\n";
  for (const auto& [reason, n] : found.rejected) rejected += fmt::format("{},\"{}\"\n", n, reason);
  const TrainingQuestion& run = *planned(found.question).training;
  const auto launches = run_launches(runner.bundle(), stack_of(run).name);
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const RunPlan& plan = found.plans[i];
    const Point& p = found.answer.points[i];
    front += fmt::format("{},{},{},{:.6g},{:.6g}\n", i + 1, plan.gpu.gpu, plan.layout.gpus,
                         value_of(p, "time_to_train") / 24, value_of(p, "cost"));
    const std::string folder = fmt::format("{}/", i + 1);
    const Scenario asked = plan.asked(found.question);
    out.emplace_back(folder + "scenario.json", to_json(asked).dump(1) + "\n");
    const TrainingJob job = layout_of(asked.as<TrainingQuestion>());
    const Gpu gpu = runner.catalog().gpu(plan.gpu.gpu);
    RunLaunch::Setting setting;
    setting.gpus_per_node = node_of(runner.catalog(), gpu, "").gpu_count;
    setting.layers = runner.architecture(found.question.model).layers.size();
    setting.iterations = static_cast<std::int64_t>(run_steps(run, job).value_or(1));
    for (const RunLaunch& launch : launches) {
      const std::string why = launch.refusal(plan.layout, job);
      out.emplace_back(folder + launch.file(),
                       why.empty()
                           ? with_boards(launch.text(plan.layout, job, setting), plan.boards)
                           : fmt::format("# No command: {}.\n", why));
    }
  }
  out.emplace_back("pareto.csv", std::move(front));
  out.emplace_back("rejected.csv", std::move(rejected));
  return out;
}

}  // namespace orrery
