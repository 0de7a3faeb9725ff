#include "orrery/scenario/kinds/training/training_metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/scenario/kinds/training/training_plant.h"
#include "orrery/scenario/setup/board_governor.h"

namespace orrery {
namespace {

// Adds metrics of parts and shares of an iteration, and of draws of it. They are as certain as the
// whole, because chance stretches iterations.
class Parts {
 public:
  Parts(const Estimate<Seconds>& whole, Point& point) : whole_(whole), metrics_(point.metrics) {}

  void time(FigureRef figure, Seconds part) {
    metrics_.push_back(metric(
        figure, Estimate<Seconds>{part, whole_.shared, whole_.own, whole_.origin, whole_.tails}));
  }
  void time_if_any(FigureRef figure, Seconds part) {
    if (part > Seconds(0)) time(figure, part);
  }
  void share(FigureRef figure, double share) {
    metrics_.push_back(exact_metric(figure, 100 * share, whole_.origin));
  }

 private:
  const Estimate<Seconds>& whole_;
  std::vector<Metric>& metrics_;
};

// A rate in percent of a data sheet's peak. Its interval ends at 100 %.
Metric of_peak_metric(FigureRef figure, const WorkOfPeak& of) {
  Metric m = rate_metric(figure, 100 * of.work.value() / of.peak.value(), of.time);
  for (double* high : {&m.high50, &m.high90}) *high = std::max(m.value, std::min(*high, 100.0));
  return m;
}

void add_rates(const TrainingFigures& f, Point& p) {
  if (f.peak_micro_batches)
    p.metrics.push_back(exact_metric("peak_micro_batches", *f.peak_micro_batches));
  p.metrics.push_back(metric("iteration_time", f.whole));
  p.metrics.push_back(rate_metric("throughput", f.tokens, f.whole));
  p.metrics.push_back(rate_metric("throughput_per_gpu", f.tokens / f.gpus, f.whole));
  p.metrics.push_back(rate_metric("model_tflops", f.mfu.work.value() / 1e12, f.whole));
  p.metrics.push_back(of_peak_metric("mfu", f.mfu));
  p.metrics.push_back(of_peak_metric("hfu", f.hfu));
}

// Adds the mean power of a GPU's board, and the energy of all GPUs for a token.
void add_power(const TrainingSetting& s, const JobFigures& of, Watts limit, Point& p) {
  const Estimate<Watts>& power = *of.account.power;
  p.metrics.push_back(power_metric(power, limit));
  if (s.knobs.any()) p.metrics.push_back(clock_metric(std::span(&of.steps, 1), s.gpu));
  const TrainingFigures& f = of.iteration;
  p.metrics.push_back(
      metric("energy_per_token", energy_of(power, f.whole.scaled(1 / (f.tokens / f.gpus)))));
}

void add_parts(const TrainingFigures& f, Point& p) {
  Parts parts(f.whole, p);
  parts.share("bubble", f.time.bubble / f.whole.value);
  parts.share("communication", f.exposed.all() / f.whole.value);
  parts.time_if_any("tensor_exposed", f.exposed.tensor);
  parts.time_if_any("context_exposed", f.exposed.context);
  parts.time_if_any("expert_exposed", f.exposed.experts);
  parts.time_if_any("data_exposed", f.exposed.data);
  parts.time_if_any("stragglers", f.time.stragglers);
  parts.time_if_any("data_communication", f.data_communication);
  if (f.data_communication > Seconds(0)) parts.share("data_overlap", f.data_overlap);
  parts.time_if_any("port_contention", f.port_contention);
  const LayerFigures& layer = f.layer;
  const auto add = [&](FigureRef figure, const Estimate<Seconds>& time) {
    if (time.value > Seconds(0)) p.metrics.push_back(metric(figure, time));
  };
  add("attention_block", layer.attention);
  add("attention_core", layer.attention_core);
  add("mlp_block", layer.mlp);
  add("layer", layer.all);
  if (layer.products.time.value > Seconds(0))
    p.metrics.push_back(of_peak_metric("mlp_of_peak", layer.products));
  if (layer.mlp_products > Flops(0))
    p.metrics.push_back(exact_metric("mlp_flops", layer.mlp_products.value() / 1e12));
  p.metrics.push_back(exact_metric("layer_flops", layer.flops.value() / 1e12));
  parts.time("optimizer", f.time.optimizer);
}

void add_memory(const JobMemory& f, Point& p) {
  if (f.max_micro_batch)
    p.metrics.push_back(exact_metric("max_micro_batch", static_cast<double>(*f.max_micro_batch)));
  const auto add = [&](FigureRef figure, Bytes size) {
    p.metrics.push_back(metric(figure, Estimate<Bytes>{size, f.error, 0, Origin::kFitted}));
  };
  add("memory", f.of_rank.total());
  add("memory_reserved", f.of_rank.reserved());
  add("memory_allocated", f.of_rank.allocated());
  add("activations", f.of_rank.activations);
  p.metrics.push_back(exact_metric("fits", 100 * f.fits, Origin::kFitted));
  if (f.host) p.metrics.push_back(metric("host_memory", *f.host));
}

void add_chance(const ChanceResult& r, double iterations, const Estimate<Seconds>& whole,
                Point& p) {
  Parts draws(whole, p);
  draws.time("iteration_p50", r.iteration.p50);
  draws.time("iteration_p95", r.iteration.p95);
  if (iterations <= 0) return;
  draws.time("time_to_train_p5", r.total.p5);
  draws.time("time_to_train_p50", r.total.p50);
  draws.time("time_to_train_p95", r.total.p95);
  constexpr Origin kBy = Origin::kAnalytical;
  p.metrics.push_back(exact_metric("goodput@train", 100 * r.expected.goodput(), kBy));
  if (r.expected.failures <= 0) return;
  p.metrics.push_back(exact_metric("failures", r.expected.failures, kBy));
  p.metrics.push_back(exact_metric("checkpoint_interval", r.checkpoint_interval.value() / 60, kBy));
}

void add_run(const JobRun& f, const TrainingFigures& iteration, Point& p) {
  if (f.hour) p.metrics.push_back(metric("cost_per_hour", *f.hour));
  if (f.evaluation) p.metrics.push_back(metric("evaluation", *f.evaluation));
  if (f.time) {
    p.metrics.push_back(metric("time_to_train", *f.time));
    p.metrics.push_back(metric("gpu_hours", f.time->scaled(iteration.gpus)));
  }
  if (f.energy) p.metrics.push_back(metric("energy@train", *f.energy));
  if (f.cost) p.metrics.push_back(metric("cost", *f.cost));
  if (f.chance) add_chance(*f.chance, f.iterations, iteration.whole, p);
}

}  // namespace

void add_training_metrics(const TrainingSetting& s, const JobFigures& of, Point& p) {
  const TrainingFigures& f = of.iteration;
  const auto& [power, plant] = of.account;
  const Watts limit = power ? s.knobs.limit.value_or(*s.gpu.power) : Watts(0);
  add_rates(f, p);
  if (power) add_power(s, of, limit, p);
  add_parts(f, p);
  add_memory(of.memory, p);
  p.metrics.push_back(exact_metric("trained_parameters", f.trained_parameters / 1e6));
  add_run(of.run, f, p);
  if (plant && s.plant)
    add_training_plant(*plant, {{*power, f.gpus, 0}, limit, of.run.power}, of.run.time, p);
  if (of.run.steps)
    p.metrics.push_back(exact_metric("total_flops", f.flops.value() * *of.run.steps / 1e18));
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
    p.metrics.push_back(exact_metric("scaling_efficiency", 100 * efficiency, rate->origin));
    if (is_first) first = p.find("throughput_per_gpu");  // it has moved
    if (bounds) bound_below(p, "scaling_efficiency", 0, "not negative");
  }
}

}  // namespace orrery
