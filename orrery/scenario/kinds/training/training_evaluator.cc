#include "orrery/scenario/kinds/training/training_evaluator.h"

#include <span>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_run.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/training/iteration/training_kernels.h"

namespace orrery {

TrainingEvaluator::TrainingEvaluator(Facts& facts, const Scenario& s)
    : facts_(facts),
      gpu_(facts.gpu(s.hardware.gpu)),
      model_(std::make_shared<const Architecture>(architecture_of(facts, s))),
      question_(s.as<TrainingQuestion>()),
      kernels_(facts.kernels(gpu_, training_kernels(gpu_, facts.bundle()))) {
  std::vector<std::string> notes;
  price_ = gpu_price(facts, s.cost, gpu_, notes);
  if (price_) {
    const double gpus = node_of(facts.catalog(), gpu_, s.hardware.node).gpu_count;
    add_preemptions(*price_, gpus, question_, notes);
    if (price_->electricity && gpu_.power)
      plant_.emplace(facts, PlantChoice(), gpu_, s.hardware.node, notes);
  }
  setting_.emplace(TrainingSetting{*model_, gpu_, s.hardware.node, kernels_});
  system_.emplace(facts, question_, *setting_);
}

std::int64_t TrainingEvaluator::gpus_of_node() const {
  return node_of(facts_.catalog(), gpu_, setting_->node).gpu_count;
}

bool TrainingEvaluator::takes(const PowerKnobs& boards) const {
  try {
    check_board(facts_, gpu_, boards);
  } catch (const InputError&) {
    return false;
  } catch (const NoData&) {
    return false;
  }
  return true;
}

double TrainingEvaluator::least_energy(const TrainingJob& job) const {
  return orrery::least_energy(facts_.step_power(), gpu_, "",
                              system_->time(job, {}).steps.reference);
}

TrainingEvaluator::Run TrainingEvaluator::run(const TrainingJob& job,
                                              const PowerKnobs& boards) const {
  const TrainingSystem::Timed timed = system_->time(job, boards);
  Run out;
  out.iteration = timed.time.total;
  const ExpectedRun run =
      expected_run(question_, timed.time, job).value_or(ExpectedRun{timed.time.total});
  out.total = run.total;
  const double gpus = static_cast<double>(job.plan.devices());
  out.usd = gpus * hour() * (out.total.value() / 3600);
  if (gpu_.power && facts_.chip(gpu_.id) == nullptr) {
    const StepPowerConstants& law = facts_.step_power();
    const Estimate<Watts> iteration =
        boards.any() ? clocked_step_power(law, gpu_, "", boards, std::span(&timed.steps, 1))
                     : step_power(law, gpu_, "", timed.steps.reference);
    const Estimate<Watts> power = power_of_run(law, gpu_, iteration, run.busy);
    out.joules = gpus * (power.value * out.total).value();
    if (plant_)
      out.usd = plant_->with_electricity(*price_, {power, gpus, 0}).value.value() *
                (out.total.value() / 3600);
  }
  return out;
}

}  // namespace orrery
