#include "orrery/scenario/kinds/training/training_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/scenario/kinds/training/training_bounds.h"
#include "orrery/scenario/kinds/training/training_breakdown.h"
#include "orrery/scenario/kinds/training/training_detail.h"
#include "orrery/scenario/kinds/training/training_energy.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_memory_answer.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_run.h"
#include "orrery/scenario/kinds/training/training_split.h"
#include "orrery/scenario/kinds/training/training_system.h"
#include "orrery/scenario/kinds/training/undeclared_software.h"
#include "orrery/scenario/setup/board_governor.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/events/iteration_trace.h"
#include "orrery/training/events/timeline.h"
#include "orrery/training/iteration/host_link.h"
#include "orrery/training/schedules/job_schedule.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

Metric percent(FigureRef figure, double share) { return exact_metric(figure, 100 * share); }

// A part of the iteration, at best as certain as the whole.
Metric part_metric(FigureRef figure, Seconds part, const Estimate<Seconds>& whole) {
  return metric(figure, Estimate<Seconds>{part, whole.shared, whole.own, whole.origin});
}

// A share of the iteration: the same errors in both.
Metric share_metric(FigureRef figure, Seconds part, const Estimate<Seconds>& whole) {
  Metric m = percent(figure, part / whole.value);
  m.origin = whole.origin;
  return m;
}

// Adds the exposed communication by kind, and the share of data-parallel communication that
// overlaps.
void add_communication(const IterationParts& parts, const IterationTime& t, const TrainingJob& job,
                       const Estimate<Seconds>& whole, Point& p) {
  const Seconds tensor = t.work[at(TrainingCost::kTensor)];
  const Seconds context = t.work[at(TrainingCost::kContext)];
  const Seconds experts = t.work[at(TrainingCost::kExpertExchange)];
  const Seconds data = t.sharding + t.reduce + t.gather;
  p.metrics.push_back(
      share_metric("communication", tensor + context + experts + data + t.sends, whole));
  const auto add = [&](FigureRef figure, Seconds time) {
    if (time > Seconds(0)) p.metrics.push_back(part_metric(figure, time, whole));
  };
  add("tensor_exposed", tensor);
  add("context_exposed", context);
  add("expert_exposed", experts);
  add("data_exposed", data);
  add("stragglers", t.stragglers);
  // The communication of the busiest stage, exposed or not.
  Seconds all;
  for (const StageParts& s : parts.stages)
    all = std::max(all, s.reduce + s.gather + s.late_reduce + s.late_gather);
  Seconds sharded;
  for (const ChunkParts& c : parts.kinds)
    sharded = std::max(sharded, c.gather + c.gather_again + c.scatter);
  all += static_cast<double>(job.micro_batches() * job.plan.vp) * sharded;
  add("data_communication", all);
  if (all > Seconds(0))
    p.metrics.push_back(
        share_metric("data_overlap", std::max(Seconds(0), all - data), {all, 0, 0, whole.origin}));
}

// Adds the mean power of a GPU's board, and the energy of all GPUs for a token. `tokens`: of a GPU
// in an iteration. Nothing: the data sheet states no power, or the GPU is a chip of cores.
std::optional<Estimate<Watts>> add_power(Facts& facts, const TrainingSetting& s,
                                         const ClockedSteps& work, const Estimate<Seconds>& whole,
                                         double tokens, Point& p) {
  const Gpu& gpu = s.gpu;
  if (!gpu.power || facts.chip(gpu.id) != nullptr) return std::nullopt;
  const Estimate<Watts> power =
      s.knobs.any() ? clocked_step_power(facts.step_power(), gpu, "", s.knobs, std::span(&work, 1))
                    : step_power(facts.step_power(), gpu, "", work.reference);
  p.metrics.push_back(power_metric(power, s.knobs.limit.value_or(*gpu.power)));
  if (s.knobs.any()) p.metrics.push_back(clock_metric(std::span(&work, 1), gpu));
  p.metrics.push_back(metric("energy_per_token", energy_of(power, whole.scaled(1 / tokens))));
  return power;
}

// The iteration by its events: what the closed form says otherwise is idle time; where the events
// leave less than the parts that are not, these shrink.
void follow_events(const IterationParts& parts, const TrainingConstants& k, const TrainingJob& job,
                   IterationTime& t, Point& p) {
  const IterationEvents e = iteration_events(parts, k, job, true);
  const Seconds busy = t.total - t.bubble;
  if (e.total < busy) t = scaled(t, e.total / busy);
  constexpr double kRounding = 1e-9;
  const Seconds idle = e.total - busy;
  t.bubble = idle > kRounding * e.total ? idle : Seconds(0);
  t.total = e.total;
  auto detail = std::make_shared<TrainingDetail>();
  detail->pipeline = pipeline_trace(e.pipeline);
  p.detail = std::move(detail);
  const double most =
      *std::max_element(e.pipeline.peak_activations.begin(), e.pipeline.peak_activations.end());
  p.metrics.push_back(exact_metric("peak_micro_batches", most));
}

// The part of the iteration in which transfers wait for others at the same port of their node.
Seconds port_contention(const IterationParts& parts, const TrainingConstants& k,
                        const TrainingJob& job, Seconds total, bool events) {
  if (!shares_ports(parts)) return Seconds(0);
  const IterationParts own = with_own_ports(parts);
  const Seconds alone =
      events ? iteration_events(own, k, job).total : iteration_time(own, k, job).total;
  constexpr double kRounding = 1e-9;
  return total > (1 + kRounding) * alone ? total - alone : Seconds(0);
}

// Whether the iteration is run event by event.
bool by_events(const TrainingSystem& system) {
  const TrainingSetting& s = system.setting();
  return system.question().events || s.timeline || s.chakra;
}

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

// Adds iteration_time, the rates that follow from it, mfu and hfu. `flops`: of the model, of all
// GPUs. `executed`: of a GPU.
void add_rates(const TimedIteration& timed, double flops, double executed, double peak, Point& p) {
  const Estimate<Seconds>& whole = timed.whole;
  const double gpus = static_cast<double>(timed.job.plan.devices());
  const double tokens = static_cast<double>(timed.job.global_batch * timed.job.seq);
  p.metrics.push_back(metric("iteration_time", whole));
  p.metrics.push_back(rate_metric("throughput", tokens, whole));
  p.metrics.push_back(rate_metric("throughput_per_gpu", tokens / gpus, whole));
  p.metrics.push_back(rate_metric("model_tflops", flops / gpus / 1e12, whole));
  p.metrics.push_back(of_peak_metric("mfu", 100 * flops / gpus / peak, whole));
  p.metrics.push_back(of_peak_metric("hfu", 100 * executed / peak, whole));
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

// Adds everything that follows from the time of an iteration. `of_memory`: metrics to insert.
void add_iteration(const TrainingSystem& system, const TimedIteration& timed,
                   const IterationClock& clock, const std::vector<Metric>& of_memory, Point& p) {
  const TrainingSetting& s = system.setting();
  const auto& [job, stack, iterations, parts, t, k, whole] = timed;
  const double tokens = static_cast<double>(job.global_batch * job.seq);
  const double flops = model_flops_per_token(s.model, job) * tokens;
  const FlopsPerSecond peak = system.peak(job);
  const Flops executed = executed_flops(parts, job);
  add_rates(timed, flops, executed.value(), peak.value(), p);
  const ClockedSteps steps = clock.steps(work_of(t, executed, peak), t.total);
  TrainingAccount account;
  account.power = add_power(system.facts(), s, steps, whole,
                            tokens / static_cast<double>(job.plan.devices()), p);
  p.metrics.push_back(share_metric("bubble", t.bubble, whole));
  add_communication(parts, t, job, whole, p);
  if (const Seconds waiting = port_contention(parts, k, job, t.total, by_events(system));
      waiting > Seconds(0))
    p.metrics.push_back(part_metric("port_contention", waiting, whole));
  add_blocks(s.model, timed, peak.value(), p);
  p.metrics.push_back(part_metric("optimizer", t.optimizer, whole));
  p.metrics.insert(p.metrics.end(), of_memory.begin(), of_memory.end());
  p.metrics.push_back(exact_metric("trained_parameters", trained_parameters(s.model, job) / 1e6));
  if (account.power && (s.plant || (s.price && s.price->electricity)))
    account.plant.emplace(system.facts(), s.plant ? *s.plant : PlantChoice(), s.gpu, s.node,
                          p.notes);
  add_run(system, timed, account, p);
  if (const std::optional<double> run = run_steps(system.question(), job))
    p.metrics.push_back(exact_metric("total_flops", flops * *run / 1e18));
  add_breakdown(system, timed, steps, account, p);
  add_sources(system, job, k, p);
}

// Fills in everything but `at`, and sets the micro-batch and the global batch of the job where the
// question asks for the largest that fits. REQUIRES that check_job accepts.
void answer_job(const TrainingSystem& system, TrainingJob& job, Point& p) {
  const TrainingMemory memory = add_memory(system, job, p);
  const std::vector<Metric> of_memory = std::exchange(p.metrics, {});
  const TrainingSetting& s = system.setting();
  const auto on = system.machine(job.plan.devices());
  const TrainingConstants k = system.constants(job);
  // The step of a paged optimizer fetches what lies on the host, and writes it back.
  const Seconds paging = 2 * (memory.paged / host_link(s.gpu));
  const IterationClock clock = system.clock(job, k, s.knobs, paging);
  const ClockedKernels kernels(s.kernels, clock.clock.slowdown);
  const IterationModel iterations(s.model, on->cluster, kernels, *on->network);
  const IterationParts parts = iterations.parts(job, system.traits());
  IterationTime t = iteration_time(parts, k, job);
  if (by_events(system)) follow_events(parts, k, job, t, p);
  t.optimizer += paging, t.total += paging;
  Estimate<Seconds> whole = iteration_estimate(parts, t, k, job);
  widen_by_clock(clock, system.question().events, whole, p);
  if (s.chakra) add_chakra({iterations, parts, k, job, system.traits(), paging}, s.gpu, p);
  std::vector<Undeclared> open = undeclared(system.question(), job);
  if (const auto release = undeclared_release(system, parts, job)) open.push_back(*release);
  if (const auto torch = undeclared_torch(system, iterations, t, k, job)) open.push_back(*torch);
  widen_by_undeclared(open, whole, p);
  add_iteration(system, {job, system.traits(), iterations, parts, t, k, whole}, clock, of_memory,
                p);
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

void compare_training(std::span<Point> points, bool bounds) {
  // A size that is 1 at all points is left out.
  for (const char* key : {"cp", "pp", "vp", "ep"}) {
    const bool one = std::all_of(points.begin(), points.end(), [key](const Point& p) {
      return !p.at.contains(key) || p.at[key] == 1;
    });
    if (one)
      for (Point& p : points) p.at.erase(key);
  }
  const bool grows = std::any_of(points.begin(), points.end(), [&points](const Point& p) {
    return p.at.contains("gpus") && p.at["gpus"] != points.front().at["gpus"];
  });
  if (!grows) return;
  const Metric* first = nullptr;
  for (Point& p : points) {
    const Metric* rate = p.find("throughput_per_gpu");
    if (rate == nullptr) continue;
    if (first == nullptr) first = rate;
    const double efficiency = rate->value / first->value;
    const bool is_first = rate == first;
    Metric m = percent("scaling_efficiency", efficiency);
    m.origin = rate->origin;
    p.metrics.push_back(std::move(m));
    if (is_first) first = p.find("throughput_per_gpu");  // it has moved
    if (bounds) bound_below(p, "scaling_efficiency", 0, "not negative");
  }
}

}  // namespace orrery
