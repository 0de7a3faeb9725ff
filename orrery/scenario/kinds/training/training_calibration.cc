#include "orrery/scenario/kinds/training/training_calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/kinds/training/calibration_runs.h"
#include "orrery/scenario/kinds/training/training_machine.h"
#include "orrery/training/iteration/iteration.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// A text for each calibration run with all values on which the fit depends.
std::vector<std::string> texts_of(const std::vector<CalibrationRun>& runs) {
  std::vector<std::string> texts;
  for (const CalibrationRun& run : runs) {
    TrainingQuestion q = run.question;
    Fields fields;
    declare(fields, q);
    texts.push_back(fmt::format("{} {} {}", run.model, run.time.value(), fields.json().dump()));
  }
  return texts;
}

struct CalibrationKey {
  std::string model, gpu, node;
  std::vector<std::string> runs;
  bool operator==(const CalibrationKey&) const = default;
};

TrainingCalibration calibration_of(Facts& facts, const TrainingQuestion& question,
                                   const TrainingSetting& setting, const ConstantTable& table,
                                   const std::vector<CalibrationRun>& runs) {
  std::vector<IterationParts> parts;
  parts.reserve(runs.size());
  std::vector<MeasuredIteration> measured;
  std::vector<RunLikeness> alike;
  for (const CalibrationRun& run : runs) {
    try {
      const Architecture model =
          run.model.empty() ? setting.model : load_model(run.model, facts.bundle());
      check_job(model, run.job);
      if (run.job.plan.pp > 1) schedule_of(run.job.plan).check(shape_of(run.job));
      const auto on = training_machine(facts, setting.gpu, setting.node, run.job.plan.devices());
      const IterationModel iterations(model, on->cluster, setting.kernels, *on->network);
      parts.push_back(iterations.parts(run.job, traits_of(run.question, setting.gpu)));
    } catch (const Infeasible& e) {
      throw InputError(fmt::format("{}: {}", run.place, e.what()));
    }
    MeasuredIteration m;
    m.parts = &parts.back(), m.job = &run.job, m.time = run.time;
    m.fixed = training_constants(table, stack_of(run.question).name, setting.gpu, run.job.precision,
                                 release_of(run.question))
                  .value;
    measured.push_back(std::move(m));
    alike.push_back(
        {run.model.empty() ? setting.model.id : run.model, run.question.stack_version, run.job});
  }
  TrainingCalibration c{fit_calibration_factors(measured, alike), ""};
  double before = 0, after = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const MeasuredIteration& m = measured[i];
    TrainingConstants k;
    k.value = m.fixed;
    before += 100 * std::abs(std::expm1(m.error(k)));
    after +=
        100 *
        std::abs(std::expm1(m.error(with_calibration_factors(k, c.factors, alike[i], k.error))));
  }
  const double n = static_cast<double>(runs.size());
  c.note = fmt::format("{} own runs of {}: mean error {:.1f} % before, {:.1f} % with them",
                       runs.size(), question.calibration_runs, before / n, after / n);
  return c;
}

}  // namespace

std::shared_ptr<const TrainingCalibration> training_calibration(Facts& facts,
                                                                const TrainingQuestion& question,
                                                                const TrainingSetting& setting,
                                                                const ConstantTable& table) {
  if (question.calibration_runs.empty()) return nullptr;
  const std::vector<CalibrationRun> runs =
      read_calibration_runs(question.calibration_runs, question);
  return facts.latest<TrainingCalibration>(
      CalibrationKey{setting.model.id, setting.gpu.id, setting.node, texts_of(runs)},
      [&] { return calibration_of(facts, question, setting, table, runs); });
}

}  // namespace orrery
