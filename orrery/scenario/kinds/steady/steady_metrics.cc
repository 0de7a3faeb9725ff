#include "orrery/scenario/kinds/steady/steady_metrics.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/accelerator/chip/chip_area.h"
#include "orrery/scenario/setup/board_governor.h"

namespace orrery {
namespace {

constexpr double kMillion = 1e6;

// Adds the energy and the area of a chip of cores.
void add_chip(const CoreChip& chip, int chips, const ClosedFormResult& result, Point& p) {
  if (const auto energy = chip_energy_of_token(chip, chips, result)) {
    p.metrics.push_back(metric("energy_per_token", *energy));
    p.notes.push_back(chip.energy
                          ? "energy_per_token counts what the chips' file states; links and "
                            "hosts are left out"
                          : "energy_per_token takes the chips' power as drawn all the time");
  }
  p.metrics.push_back(exact_metric("chip_area", area_of(chip).total(), Origin::kAnalytical));
}

void add_boards(const WaveEnergy& wave, Watts limit, const Gpu& gpu, Point& p) {
  p.metrics.push_back(power_metric(wave.power, limit));
  if (!wave.clocked.empty()) p.metrics.push_back(clock_metric(wave.clocked, gpu));
  p.metrics.push_back(metric("energy_per_token", wave.token));
  p.metrics.push_back(metric("energy_per_request", wave.request));
}

void add_costs(const Estimate<Usd>& hour, const ClosedFormResult& r, Point& p) {
  p.metrics.push_back(metric("cost_per_hour", hour));
  const Estimate<Usd> all = cost_of(hour, r.makespan);
  const auto put = [&](FigureRef figure, double over) {
    if (over > 0) p.metrics.push_back(metric(figure, all, over));
  };
  put("cost_per_million_input_tokens", r.input_tokens / kMillion);
  put("cost_per_million_output_tokens", r.output_tokens / kMillion);
  put("cost_per_million_tokens", (r.input_tokens + r.output_tokens) / kMillion);
  put("cost_per_request", r.requests());
}

// The emissions of `time` at those of an hour. The errors of both are independent.
Estimate<Grams> over_time(const Estimate<Grams>& hour, const Estimate<Seconds>& time) {
  return {.value = hour.value * (time.value / kPaidHour),
          .shared = std::hypot(hour.shared, time.shared),
          .own = std::hypot(hour.own, time.own),
          .origin = std::max(hour.origin, time.origin),
          .tails = time.tails};
}

// The emissions of a request if the run starts at the best hour of the series. `run`: at the mean.
// `embodied`: a part of an hour of the run, which no start changes.
void add_best_start(const PlantAccount& account, const Estimate<Grams>& run, double embodied,
                    const ClosedFormResult& r, Point& p) {
  const CarbonIntensity& series = *account.carbon();
  const double hours = r.makespan.value / kPaidHour;
  if (hours <= 0 || series.mean <= 0 || r.output_tokens <= 0) return;
  const CarbonStart best = best_start(series.hours, hours);
  const double kept = embodied * hours;
  const double deferred = kept + (run.value.value() - kept) * best.mean / series.mean;
  Estimate<Grams> least = run;
  least.value = Grams(deferred);
  p.metrics.push_back(metric("deferred_carbon_per_request", least, r.requests()));
  p.notes.push_back(fmt::format(
      "a run of {:.3g} h that can wait emits least from hour {} of the series on: {:.4g} g for a "
      "kWh in place of {:.4g}",
      hours, best.hour, best.mean, series.mean));
}

}  // namespace

void add_plant_metrics(const PlantAccount& account, const ScopedBoards& of,
                       const ClosedFormResult& r, Point& p) {
  const Boards& boards = of.boards;
  count_scope(account, of, p.metrics);
  if (!account.counts_carbon()) return;
  const double embodied = account.embodied_hour(boards.run + boards.wait).value();
  Estimate<Grams> hour = account.operational_hour(boards);
  const double all = hour.value.value() + embodied;
  if (all > 0) {
    const double share = hour.value.value() / all;
    hour.value = Grams(all), hour.shared *= share, hour.own *= share;
  }
  const Estimate<Grams> run = over_time(hour, r.makespan);
  p.metrics.push_back(metric("carbon_per_hour", hour));
  const auto put = [&](FigureRef figure, double over) {
    if (over > 0) p.metrics.push_back(metric(figure, run, over));
  };
  put("carbon_per_million_output_tokens", r.output_tokens / kMillion);
  put("carbon_per_request", r.requests());
  if (!account.carbon()->hours.empty()) add_best_start(account, run, embodied, r, p);
  if (embodied > 0) p.metrics.push_back(exact_metric("embodied_carbon_per_hour", embodied));
}

void add_memory_metrics(const SteadyMemory& m, Point& p) {
  p.metrics.push_back(exact_metric("memory", m.held.total().value() / 1e9));
  p.metrics.push_back(exact_metric("weights", m.held.weights.value() / 1e9));
  p.metrics.push_back(exact_metric("kv_cache_per_request", m.kv_per_request.value() / 1e9));
  p.metrics.push_back(exact_metric("max_concurrency", real(m.max_concurrency)));
  if (!m.kv_cache) return;
  p.metrics.push_back(exact_metric("kv_tokens", real(m.kv_cache->tokens)));
  p.metrics.push_back(exact_metric("request_tokens", real(m.kv_cache->request_tokens)));
  p.metrics.push_back(exact_metric("kv_concurrency", m.kv_cache->concurrency));
}

void add_steady_metrics(const SteadyFigures& f, Point& p) {
  const ClosedFormResult& r = f.times;
  const Gpu& gpu = f.served.deployment.gpu;
  const int gpus = f.served.plan.devices();
  p.metrics.push_back(metric("ttft", r.ttft));
  if (r.computed.decode_steps > 0) p.metrics.push_back(metric("tpot", r.tpot));
  p.metrics.push_back(metric("e2e", r.e2e));
  p.metrics.push_back(metric("prefill_time", r.prefill));
  p.metrics.push_back(rate_metric("output_throughput", r.output_tokens, r.makespan));
  p.metrics.push_back(
      rate_metric("total_throughput", r.output_tokens + r.input_tokens, r.makespan));
  p.metrics.push_back(rate_metric("request_throughput", r.requests(), r.makespan));
  if (f.chip) add_chip(*f.chip, gpus, r, p);
  if (f.boards) {
    const Watts limit = f.served.knobs.limit.value_or(*gpu.power);
    add_boards(*f.boards, limit, gpu, p);
    if (f.plant) add_plant_metrics(*f.plant, {{f.boards->power, real(gpus), 0}, limit}, r, p);
  }
  if (f.hour) add_costs(*f.hour, r, p);
}

}  // namespace orrery
