#include "orrery/scenario/kinds/training/training_system.h"

#include <string>

#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/training/fit/calibration_factors.h"

namespace orrery {
namespace {

struct TrainingTableKey {
  bool operator==(const TrainingTableKey&) const = default;
};
struct TrainingMemoryKey {
  std::string stack;
  bool operator==(const TrainingMemoryKey&) const = default;
};

}  // namespace

TrainingSystem::TrainingSystem(Facts& facts, const TrainingQuestion& question,
                               const TrainingSetting& setting)
    : facts_(facts),
      question_(question),
      setting_(setting),
      traits_(traits_of(question, setting.gpu)),
      table_(facts.latest<ConstantTable>(TrainingTableKey{},
                                         [&] { return read_constant_table(facts.bundle()); })),
      memory_(*facts.latest<TrainingMemoryConstants>(
          TrainingMemoryKey{std::string(stack_of(question).name)},
          [&] { return load_training_memory(stack_of(question).name, facts.bundle()); })),
      release_(release_of(question)),
      calibration_(training_calibration(facts, question, setting, *table_)) {
  if (question.compiled) memory_.fused = true;
}

FlopsPerSecond TrainingSystem::peak(const TrainingJob& job) const {
  const Gpu& gpu = setting_.gpu;
  return gpu.peak(gpu.compute_dtype(job.precision.compute));
}

std::shared_ptr<const TrainingMachine> TrainingSystem::machine(std::int64_t gpus) const {
  return training_machine(facts_, setting_.gpu, setting_.node, gpus);
}

TrainingConstants TrainingSystem::constants(const TrainingJob& job,
                                            std::optional<double> release) const {
  TrainingConstants k =
      training_constants(*table_, stack_of(question_).name, setting_.gpu, job.precision, release);
  if (!calibration_) return k;
  const RunLikeness like{setting_.model.id, question_.stack_version, job};
  return with_calibration_factors(k, calibration_->factors, like, table_->covered_error);
}

TrainingMemory TrainingSystem::memory(const TrainingJob& job) const {
  return training_memory(setting_.model, job, memory_, setting_.gpu);
}

double TrainingSystem::fits(const TrainingMemory& m) const {
  return fit_probability(m, memory_.fitted.error);
}

IterationClock TrainingSystem::clock(const TrainingJob& job, const TrainingConstants& k,
                                     const PowerKnobs& knobs, Seconds paging) const {
  if (!knobs.any()) return {};
  check_board(facts_, setting_.gpu, knobs);
  const auto on = machine(job.plan.devices());
  return iteration_clock(facts_.step_power(), setting_.gpu, knobs, [&](double slowdown) {
    const ClockedKernels kernels(setting_.kernels, slowdown);
    const IterationParts parts =
        IterationModel(setting_.model, on->cluster, kernels, *on->network).parts(job, traits_);
    IterationTime t = iteration_time(parts, k, job);
    t.optimizer += paging, t.total += paging;
    return work_of(t, executed_flops(parts, job), peak(job));
  });
}

TrainingSystem::Timed TrainingSystem::time(const TrainingJob& job, const PowerKnobs& boards) const {
  const auto on = machine(job.plan.devices());
  const TrainingConstants k = constants(job);
  const IterationClock at = clock(job, k, boards, Seconds(0));
  const auto timed = [&](const KernelModel& kernels) -> Timed {
    const IterationModel iterations(setting_.model, on->cluster, kernels, *on->network);
    const IterationParts parts = iterations.parts(job, traits_);
    const IterationTime t = iteration_time(parts, k, job);
    return {t, at.steps(work_of(t, executed_flops(parts, job), peak(job)), t.total)};
  };
  if (at.clock.slowdown <= 1) return timed(setting_.kernels);
  return timed(ClockedKernels(setting_.kernels, at.clock.slowdown));
}

}  // namespace orrery
