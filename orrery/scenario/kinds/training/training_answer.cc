#include "orrery/scenario/kinds/training/training_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/kinds/training/training_bounds.h"
#include "orrery/scenario/kinds/training/training_breakdown.h"
#include "orrery/scenario/kinds/training/training_detail.h"
#include "orrery/scenario/kinds/training/training_energy.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_metrics.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_split.h"
#include "orrery/scenario/kinds/training/training_system.h"
#include "orrery/scenario/kinds/training/undeclared_software.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/events/iteration_trace.h"
#include "orrery/training/events/timeline.h"
#include "orrery/training/iteration/host_link.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

nlohmann::ordered_json place_of(const TrainingQuestion& q, const TrainingSetting& s,
                                const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  return {{"model", s.model.id},
          {"gpu", s.gpu.id},
          {"gpus", q.gpus},
          {"tp", p.tp},
          {"cp", p.cp},
          {"pp", p.pp},
          {"vp", p.vp},
          {"dp", p.dp},
          {"ep", p.ep},
          {"seq", job.seq},
          {"micro_batch", job.micro_batch},
          {"global_batch", job.global_batch}};
}

// Sets the layers of the virtual stages that a question with `split: auto` leaves open, and says
// which.
void take_best_split(const TrainingSystem& system, TrainingJob& job, Point& p) {
  const Architecture& model = system.setting().model;
  TrainingPlan& plan = job.plan;
  if (plan.rule.given())
    throw Infeasible(
        "split auto chooses the layers of each virtual stage: it excludes flags that do");
  const int layers = model.layers.size(), chunks = plan.pp * plan.vp;
  const auto time_of = [&](const LayersOfStages& split) {
    TrainingJob asked = job;
    asked.plan.split = split;
    return system.time(asked, {}).time.total;
  };
  const LayersOfStages usual(static_cast<std::size_t>(chunks), layers / chunks);
  plan.split = layers % chunks == 0 ? usual : uneven_split(layers, chunks);
  check_job(model, job);
  schedule_of(plan).check(shape_of(job));
  const Seconds before = time_of(plan.split);
  plan.split = best_split(layers, plan.pp, plan.vp, time_of);
  p.notes.push_back(fmt::format(
      "split auto: {} layers, an iteration {:.1f} % shorter than with {}",
      fmt::join(plan.split, ","), 100 * (1 - time_of(plan.split) / before),
      layers % chunks == 0 ? "equal shares" : "the embedding and the LM head counted as layers"));
}

// Widens the interval of an iteration at a lower clock by the error of the clock.
void widen_by_clock(const IterationClock& clock, bool events, Estimate<Seconds>& whole, Point& p) {
  if (clock.clock.slowdown <= 1) return;
  whole.shared =
      std::hypot(whole.shared, (clock.longer - 1) / (clock.clock.slowdown - 1) * clock.clock.error);
  if (events)
    p.notes.push_back("the clock is that of the iteration in closed form; the events run at it");
}

// Widens the interval by settings and releases that the question leaves open, and states them.
void widen_by_undeclared(const std::vector<Undeclared>& open, Estimate<Seconds>& whole, Point& p) {
  std::string assumed;
  for (const Undeclared& u : open) {
    whole.own = std::hypot(whole.own, u.deviation);
    assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", u.what, u.assumed);
  }
  if (!assumed.empty())
    p.notes.push_back(fmt::format("not declared, and in the interval: {}", assumed));
}

void add_chakra(const IterationSource& source, const Gpu& gpu, Point& p) {
  p.files = iteration_traces(source);
  p.notes.push_back(fmt::format(
      "{} Chakra traces; `orrery network --chakra PREFIX --chakra-groups PREFIX.groups.json -g "
      "{} --fidelity analytical` replays them",
      p.files.size() - 1, gpu.id));
}

// Adds the rows of the iteration's time and energy, on the stage of the rank that the question
// names.
void add_breakdown(const TrainingSystem& system, const TimedIteration& timed,
                   const ClockedSteps& steps, const TrainingAccount& account, Point& p) {
  const TrainingQuestion& q = system.question();
  const TrainingSetting& s = system.setting();
  const TrainingPlan& plan = timed.job.plan;
  std::optional<int> stage;
  if (q.rank) {
    const RankPosition at = position_of(plan, *q.rank);
    stage = at.pp;
    p.notes.push_back(
        fmt::format("memory and breakdown of rank {}: tp {}, cp {}, dp {}, pp {}, ep {}", *q.rank,
                    at.tp, at.cp, at.dp, at.pp, at.ep));
  }
  if (!s.breakdown) return;
  add_rows(timed, stage, p);
  if (!account.power) return;
  const auto on = system.machine(plan.devices());
  const IterationBoards boards{s.gpu, steps, *account.power, static_cast<double>(plan.devices())};
  add_iteration_energy(system.facts(), timed, boards, s.plant ? account.plant : std::nullopt,
                       on->cluster, *on->network, p);
}

// Adds where the constants come from, and what the answer leaves out.
void add_sources(const TrainingSystem& system, const TrainingJob& job, const TrainingConstants& k,
                 Point& p) {
  const auto& stack = stack_of(system.question()).name;
  const TrainingSetting& s = system.setting();
  p.notes.push_back(fmt::format("constants of {}: {}", stack, k.provenance));
  if (system.calibration()) p.notes.push_back(system.calibration()->note);
  note_unknown(s.gpu.architecture, p.notes);
  if (k.cover != FitCover::kCombination)
    p.notes.push_back(fmt::format(
        "no training run of {} was in the fit{}: wider interval",
        coverage_name(stack, s.gpu, job.precision),
        k.cover == FitCover::kEach ? ", only runs with a part of it" : ", and of a part none"));
  if (job.plan.rule.balanced) p.notes.push_back(balanced_split_note(stack, s.model, job.plan));
  p.notes.push_back("loss and convergence are outside of a performance model");
}

// The mean power of a GPU's board. Nothing: the data sheet states no power, or the GPU is a chip of
// cores.
std::optional<Estimate<Watts>> board_power(Facts& facts, const TrainingSetting& s,
                                           const ClockedSteps& work) {
  if (!s.gpu.power || facts.chip(s.gpu.id) != nullptr) return std::nullopt;
  return s.knobs.any()
             ? clocked_step_power(facts.step_power(), s.gpu, "", s.knobs, std::span(&work, 1))
             : step_power(facts.step_power(), s.gpu, "", work.reference);
}

// Adds everything that follows from the time of an iteration.
void add_iteration(const TrainingSystem& system, const TimedIteration& timed,
                   const IterationEvents* events, const IterationClock& clock,
                   const JobMemory& memory, Point& p) {
  const TrainingSetting& s = system.setting();
  const FlopsPerSecond peak = system.peak(timed.job);
  const TrainingFigures figures = training_figures(s.model, timed, peak, events);
  const ClockedSteps steps =
      clock.steps(work_of(timed.time, figures.hfu.work, peak), timed.time.total);
  TrainingAccount account{board_power(system.facts(), s, steps), {}};
  if (account.power && (s.plant || (s.price && s.price->electricity)))
    account.plant.emplace(system.facts(), s.plant ? *s.plant : PlantChoice(), s.gpu, s.node,
                          p.notes);
  const JobRun run = run_figures(system, timed, account, p.notes);
  add_training_metrics(s, {figures, memory, steps, account, run}, p);
  add_breakdown(system, timed, steps, account, p);
  add_sources(system, timed.job, timed.constants, p);
}

// Fills in everything but `at`, and sets the micro-batch and the global batch of the job where the
// question asks for the largest that fits. REQUIRES that check_job accepts.
void answer_job(const TrainingSystem& system, TrainingJob& job, Point& p) {
  const JobMemory memory = add_memory(system, job, p);
  const TrainingSetting& s = system.setting();
  const auto on = system.machine(job.plan.devices());
  const TrainingConstants k = system.constants(job);
  // The step of a paged optimizer fetches what lies on the host, and writes it back.
  const Seconds paging = 2 * (memory.of_rank.paged / host_link(s.gpu));
  const IterationClock clock = system.clock(job, k, s.knobs, paging);
  const ClockedKernels kernels(s.kernels, clock.clock.slowdown);
  const IterationModel iterations(s.model, on->cluster, kernels, *on->network);
  const IterationParts parts = iterations.parts(job, system.traits());
  IterationTime t = iteration_time(parts, k, job);
  std::optional<IterationEvents> events;
  if (system.question().events || s.timeline || s.chakra) {
    events = iteration_events(parts, k, job, true);
    t = in_total(t, events->total);
    auto detail = std::make_shared<TrainingDetail>();
    detail->pipeline = pipeline_trace(events->pipeline);
    p.detail = std::move(detail);
  }
  t.optimizer += paging, t.total += paging;
  Estimate<Seconds> whole = iteration_estimate(parts, t, k, job);
  widen_by_clock(clock, system.question().events, whole, p);
  if (s.chakra) add_chakra({iterations, parts, k, job, system.traits(), paging}, s.gpu, p);
  std::vector<Undeclared> open = undeclared(system.question(), job);
  if (const auto release = undeclared_release(system, parts, job)) open.push_back(*release);
  if (const auto torch = undeclared_torch(system, iterations, t, k, job)) open.push_back(*torch);
  widen_by_undeclared(open, whole, p);
  add_iteration(system, {job, system.traits(), iterations, parts, t, k, whole},
                events ? &*events : nullptr, clock, memory, p);
}

}  // namespace

void answer_training(Facts& facts, const TrainingQuestion& q, const TrainingSetting& s, Point& p) {
  TrainingJob job = job_of(q);
  p.at = place_of(q, s, job);
  check_devices(job, q.gpus);
  if (q.best_split && job.plan.pp > 1) take_best_split(TrainingSystem(facts, q, s), job, p);
  check_job(s.model, job);
  if (job.plan.pp > 1) schedule_of(job.plan).check(shape_of(job));
  answer_job(TrainingSystem(facts, q, s), job, p);
  if (!s.bounds) return;
  const double tokens = static_cast<double>(job.global_batch * job.seq);
  bound_training(s.model, s.gpu, job, run_steps(q, job).value_or(0) * tokens, p);
}

}  // namespace orrery
