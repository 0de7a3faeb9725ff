#include "orrery/scenario/kinds/training/training_answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/hardware/segments.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/scenario/kinds/training/calibration_runs.h"
#include "orrery/scenario/kinds/training/training_bounds.h"
#include "orrery/scenario/kinds/training/training_breakdown.h"
#include "orrery/scenario/kinds/training/training_chance.h"
#include "orrery/scenario/kinds/training/training_detail.h"
#include "orrery/scenario/kinds/training/training_energy.h"
#include "orrery/scenario/kinds/training/training_plant.h"
#include "orrery/scenario/kinds/training/training_power.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_split.h"
#include "orrery/scenario/setup/board_governor.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/training/events/iteration_events.h"
#include "orrery/training/events/iteration_trace.h"
#include "orrery/training/events/timeline.h"
#include "orrery/training/fit/calibration_factors.h"
#include "orrery/training/schedules/job_schedule.h"
#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

Metric percent(std::string name, double share) {
  return exact_metric(std::move(name), "%", 100 * share);
}

// A part of the iteration, at best as certain as the whole.
Metric part_metric(std::string name, Seconds part, const Estimate<Seconds>& whole) {
  return metric(std::move(name), "ms",
                Estimate<Seconds>{part, whole.shared, whole.own, whole.origin}, 1e-3);
}

// A share of the iteration: the same errors in both.
Metric share_metric(std::string name, Seconds part, const Estimate<Seconds>& whole) {
  Metric m = percent(std::move(name), part / whole.value);
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
  const auto add = [&](const char* name, Seconds time) {
    if (time > Seconds(0)) p.metrics.push_back(part_metric(name, time, whole));
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
  p.metrics.push_back(
      metric("energy_per_token", "J", energy_of(power, whole.scaled(1 / tokens)), 1));
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
  p.metrics.push_back(exact_metric("peak_micro_batches", "of a chunk", most));
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
void take_best_split(const TrainingAnswerer& answerer, TrainingJob& job, const Architecture& model,
                     Point& p) {
  TrainingPlan& plan = job.plan;
  if (plan.rule.given())
    throw Infeasible(
        "split auto chooses the layers of each virtual stage: it excludes flags that do");
  const int layers = model.layers.size(), chunks = plan.pp * plan.vp;
  const auto time_of = [&](const LayersOfStages& split) {
    TrainingJob asked = job;
    asked.plan.split = split;
    return answerer.time(asked, {}).time.total;
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

struct TrainingTableKey {
  bool operator==(const TrainingTableKey&) const = default;
};
struct TrainingMemoryKey {
  std::string stack;
  bool operator==(const TrainingMemoryKey&) const = default;
};
struct MachineKey {
  std::string gpu, node;
  std::int64_t gpus;
  bool operator==(const MachineKey&) const = default;
};
}  // namespace

TrainingAnswerer::TrainingAnswerer(Facts& facts, const TrainingQuestion& question,
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
      release_(release_of(question)) {
  if (question.compiled) memory_.fused = true;
  if (!question.calibration_runs.empty()) calibrate();
}

std::optional<Estimate<Usd>> TrainingAnswerer::price_of_hour(
    std::int64_t gpus, const std::optional<Estimate<Watts>>& power,
    const std::optional<PlantAccount>& plant, Point& p) const {
  if (setting_.price == nullptr) return std::nullopt;
  const GpuPrice& price = *setting_.price;
  if (!price.electricity) return price.hour.scaled(real(gpus));
  if (!plant) {
    p.notes.push_back("the costs are without electricity: the GPUs' power is not known");
    return price.hour.scaled(real(gpus));
  }
  return plant->with_electricity(price, {*power, real(gpus), 0});
}

TrainingAnswerer::Run TrainingAnswerer::run_of(std::optional<double> steps, const IterationTime& t,
                                               const Estimate<Seconds>& iteration,
                                               std::int64_t gpus, Point& p) const {
  Run out{steps, steps.value_or(0), {}};
  if (steps && question_.eval_interval > 0) {
    const double passes = static_cast<double>(question_.eval_iterations);
    const Seconds evaluation = passes * forward_time(t);
    p.metrics.push_back(
        metric("evaluation", "s", iteration.scaled(evaluation / iteration.value), 1));
    out.iterations += std::floor(*steps / static_cast<double>(question_.eval_interval)) *
                      (evaluation / iteration.value);
  }
  if (question_.chance) {
    // A stated variability takes the place of the fitted one.
    const Variability& stated = question_.chance->variability;
    const bool fitted = stated.gpu == 0 && stated.step == 0;
    const Seconds nominal = iteration.value - (fitted ? Seconds(0) : t.stragglers);
    out.chance = chance_of(*question_.chance, nominal, out.iterations, gpus);
    out.busy = busy_share(out.chance->expected, iteration.value, out.iterations);
  }
  return out;
}

void TrainingAnswerer::add_run(const Run& of, const Estimate<Seconds>& iteration, std::int64_t gpus,
                               const std::optional<Estimate<Watts>>& power,
                               const std::optional<Estimate<Usd>>& hour, Point& p) const {
  const std::optional<ChanceResult>& chance = of.chance;
  if (of.steps) {
    Estimate<Seconds> run = iteration.scaled(of.iterations);
    if (chance) run.value = chance->total.mean;
    p.metrics.push_back(metric("time_to_train", "h", run, 3600));
    const Estimate<Seconds> of_gpus = run.scaled(static_cast<double>(gpus));
    p.metrics.push_back(metric("gpu_hours", "h", of_gpus, 3600));
    if (power) p.metrics.push_back(metric("energy", "MWh", energy_of(*power, of_gpus), 3.6e9));
    if (hour) p.metrics.push_back(metric("cost", "USD", cost_of(*hour, run), 1));
  }
  if (chance) add_chance(*question_.chance, *chance, iteration, of.iterations, p);
}

TrainingConstants TrainingAnswerer::constants(const TrainingJob& job,
                                              std::optional<double> release) const {
  TrainingConstants k =
      training_constants(*table_, stack_of(question_).name, setting_.gpu, job.precision, release);
  if (!calibration_) return k;
  const RunLikeness like{setting_.model.id, question_.stack_version, job};
  return with_calibration_factors(k, calibration_->factors, like, table_->covered_error);
}

std::shared_ptr<const TrainingAnswerer::Machine> TrainingAnswerer::machine(
    std::int64_t gpus) const {
  return facts_.latest<Machine>(MachineKey{setting_.gpu.id, setting_.node, gpus}, [&] {
    const Catalog& catalog = facts_.catalog();
    NodeType node = node_of(catalog, setting_.gpu, setting_.node);
    Cluster cluster(catalog, setting_.gpu, static_cast<int>(gpus),
                    in_segments(std::move(node), static_cast<int>(gpus)));
    auto network =
        make_network_model(cluster, {}, collective_library(setting_.gpu), facts_.bundle());
    return Machine{std::move(cluster), std::move(network)};
  });
}

IterationClock TrainingAnswerer::clock_of(const TrainingJob& job, const TrainingConstants& k,
                                          const ClockedOn& on) const {
  if (!on.knobs.any()) return {};
  const Gpu& gpu = setting_.gpu;
  check_board(facts_, gpu, on.knobs);
  const FlopsPerSecond peak = gpu.peak(gpu.compute_dtype(job.precision.compute));
  return iteration_clock(facts_.step_power(), gpu, on.knobs, [&](double slowdown) {
    const ClockedKernels kernels(setting_.kernels, slowdown);
    const Machine& m = on.machine;
    const IterationParts parts =
        IterationModel(setting_.model, m.cluster, kernels, *m.network).parts(job, traits_);
    IterationTime t = iteration_time(parts, k, job);
    t.optimizer += on.paging, t.total += on.paging;
    return work_of(t, executed_flops(parts, job), peak);
  });
}

void TrainingAnswerer::answer(TrainingJob& job, Point& p) {
  const TrainingMemory memory = add_memory(job, p);
  const std::vector<Metric> of_memory = std::exchange(p.metrics, {});
  const auto on = machine(job.plan.devices());
  const Gpu& gpu = setting_.gpu;
  const TrainingConstants k = constants(job, release_);
  // The step of a paged optimizer fetches what lies on the host, and writes it back.
  const Seconds paging = 2 * (memory.paged / host_link(gpu));
  const IterationClock clock = clock_of(job, k, {*on, setting_.knobs, paging});
  const ClockedKernels kernels(setting_.kernels, clock.clock.slowdown);
  const IterationModel iterations(setting_.model, on->cluster, kernels, *on->network);
  const IterationParts parts = iterations.parts(job, traits_);
  IterationTime t = iteration_time(parts, k, job);
  const bool events = question_.events || setting_.timeline || setting_.chakra;
  if (events) follow_events(parts, k, job, t, p);
  t.optimizer += paging, t.total += paging;
  Estimate<Seconds> whole = iteration_estimate(parts, t, k, job);
  if (clock.clock.slowdown > 1) {
    whole.shared = std::hypot(whole.shared,
                              (clock.longer - 1) / (clock.clock.slowdown - 1) * clock.clock.error);
    if (question_.events)
      p.notes.push_back("the clock is that of the iteration in closed form; the events run at it");
  }
  if (setting_.chakra) {
    p.files = iteration_traces({.iterations = iterations,
                                .parts = parts,
                                .constants = k,
                                .job = job,
                                .stack = traits_,
                                .paging = paging});
    p.notes.push_back(fmt::format(
        "{} Chakra traces; `orrery network --chakra PREFIX --chakra-groups PREFIX.groups.json -g "
        "{} --fidelity analytical` replays them",
        p.files.size() - 1, gpu.id));
  }
  std::string assumed;
  std::vector<Undeclared> open = undeclared(question_, job);
  if (const auto release = undeclared_release(parts, job)) open.push_back(*release);
  if (const auto torch = undeclared_torch(iterations, t, k, job)) open.push_back(*torch);
  for (const Undeclared& u : open) {
    whole.own = std::hypot(whole.own, u.deviation);
    assumed += fmt::format("{}{} {}", assumed.empty() ? "" : ", ", u.what, u.assumed);
  }
  if (!assumed.empty())
    p.notes.push_back(fmt::format("not declared, and in the interval: {}", assumed));

  const double gpus = static_cast<double>(job.plan.devices());
  const double tokens = static_cast<double>(job.global_batch * job.seq);
  p.metrics.push_back(metric("iteration_time", "s", whole, 1));
  p.metrics.push_back(rate_metric("throughput", "tokens/s", tokens, whole));
  p.metrics.push_back(rate_metric("throughput_per_gpu", "tokens/s", tokens / gpus, whole));
  const double flops = model_flops_per_token(setting_.model, job) * tokens;
  p.metrics.push_back(rate_metric("model_tflops", "TFLOP/s", flops / gpus / 1e12, whole));
  const double peak = gpu.peak(gpu.compute_dtype(job.precision.compute)).value();
  p.metrics.push_back(of_peak_metric("mfu", 100 * flops / gpus / peak, whole));
  const double a_rank = executed_flops(parts, job).value();
  p.metrics.push_back(of_peak_metric("hfu", 100 * a_rank / peak, whole));
  const ClockedSteps steps_work =
      clock.steps(work_of(t, Flops(a_rank), FlopsPerSecond(peak)), t.total);
  const std::optional<Estimate<Watts>> power =
      add_power(facts_, setting_, steps_work, whole, tokens / gpus, p);
  p.metrics.push_back(share_metric("bubble", t.bubble, whole));
  add_communication(parts, t, job, whole, p);
  if (const Seconds waiting = port_contention(parts, k, job, t.total, events); waiting > Seconds(0))
    p.metrics.push_back(part_metric("port_contention", waiting, whole));
  const TimedIteration timed{.job = job,
                             .stack = traits_,
                             .iterations = iterations,
                             .parts = parts,
                             .time = t,
                             .constants = k,
                             .whole = whole};
  add_blocks(setting_.model, timed, peak, p);
  p.metrics.push_back(part_metric("optimizer", t.optimizer, whole));
  p.metrics.insert(p.metrics.end(), of_memory.begin(), of_memory.end());
  p.metrics.push_back(
      exact_metric("trained_parameters", "M", trained_parameters(setting_.model, job) / 1e6));
  const std::optional<double> steps = run_steps(question_, job);
  const PlantChoice choice = setting_.plant ? *setting_.plant : PlantChoice();
  std::optional<PlantAccount> plant;
  if (power && (setting_.plant || (setting_.price && setting_.price->electricity)))
    plant.emplace(facts_, choice, gpu, setting_.node, p.notes);
  const std::optional<Estimate<Usd>> hour = price_of_hour(job.plan.devices(), power, plant, p);
  if (hour) p.metrics.push_back(metric("cost_per_hour", "USD", *hour, 1));
  const Run run = run_of(steps, t, whole, job.plan.devices(), p);
  std::optional<Estimate<Watts>> in_run = power;
  std::optional<Estimate<Usd>> hour_in_run = hour;
  if (power && steps && run.busy < 1) {
    in_run = power_of_run(facts_.step_power(), gpu, *power, run.busy);
    if (hour && plant && setting_.price->electricity)
      hour_in_run = plant->with_electricity(*setting_.price, {*in_run, gpus, 0});
  }
  add_run(run, whole, job.plan.devices(), in_run, hour_in_run, p);
  if (plant && setting_.plant)
    add_training_plant(*plant,
                       {{*power, gpus, 0}, setting_.knobs.limit.value_or(*gpu.power), in_run}, p);
  if (steps) p.metrics.push_back(exact_metric("total_flops", "EFLOP", flops * *steps / 1e18));
  std::optional<int> stage;
  if (question_.rank) {
    const RankPosition at = position_of(job.plan, *question_.rank);
    stage = at.pp;
    p.notes.push_back(
        fmt::format("memory and breakdown of rank {}: tp {}, cp {}, dp {}, pp {}, ep {}",
                    *question_.rank, at.tp, at.cp, at.dp, at.pp, at.ep));
  }
  if (setting_.breakdown) {
    add_rows(timed, stage, p);
    if (power)
      add_iteration_energy(facts_, timed, {gpu, steps_work, *power, gpus},
                           setting_.plant ? plant : std::nullopt, on->cluster, *on->network, p);
  }
  p.notes.push_back(fmt::format("constants of {}: {}", stack_of(question_).name, k.provenance));
  if (calibration_) p.notes.push_back(calibration_->note);
  note_unknown(setting_.gpu.architecture, p.notes);
  if (k.cover != FitCover::kCombination)
    p.notes.push_back(fmt::format(
        "no training run of {} was in the fit{}: wider interval",
        coverage_name(stack_of(question_).name, gpu, job.precision),
        k.cover == FitCover::kEach ? ", only runs with a part of it" : ", and of a part none"));
  if (job.plan.rule.balanced)
    p.notes.push_back(balanced_split_note(stack_of(question_).name, setting_.model, job.plan));
  p.notes.push_back("loss and convergence are outside of a performance model");
}

void answer_training(Facts& facts, const TrainingQuestion& q, const TrainingSetting& s, Point& p) {
  TrainingJob job = job_of(q);
  p.at = place_of(q, s, job);
  check_devices(job, q.gpus);
  if (q.best_split && job.plan.pp > 1)
    take_best_split(TrainingAnswerer(facts, q, s), job, s.model, p);
  check_job(s.model, job);
  if (job.plan.pp > 1) schedule_of(job.plan).check(shape_of(job));
  TrainingAnswerer(facts, q, s).answer(job, p);
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
