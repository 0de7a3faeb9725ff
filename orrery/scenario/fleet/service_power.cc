#include "orrery/scenario/fleet/service_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

double requests_done(const SimulationResult& result) {
  return real(std::count_if(result.records.begin(), result.records.end(),
                            [](const RequestRecord& q) { return q.outcome == Outcome::kDone; }));
}

// The emissions of the boards of a run, in g: by their electricity, and as a part of their life.
struct Emissions {
  double operational = 0, embodied = 0;
  double all() const { return operational + embodied; }
};

bool counts_carbon(const PoweredPool& pool) {
  return pool.account && pool.account->counts_carbon();
}

}  // namespace

void ServicePower::add_pool(PoweredPool pool) { pools_.push_back(std::move(pool)); }

FleetEnergy ServicePower::energy(const SimulationResult& result, bool by_kernel) const {
  return fleet_energy(*constants_, pools_, result, by_kernel);
}

void ServicePower::add_metrics(const SimulationResult& result, const FleetEnergy& fleet,
                               std::vector<Metric>& metrics) const {
  const PoolEnergy sum = fleet.total();
  if (sum.gpu_time <= Seconds(0)) return;
  const auto put = [&](FigureRef figure, double value) {
    metrics.push_back(exact_metric(figure, value));
  };
  put("power", (sum.boards / sum.gpu_time).value());
  if (sum.governed > Seconds(0)) put("clock", sum.cycles / sum.governed.value() / 1e6);
  put("plant_power", (sum.plant / fleet.end).value());
  put("plant_power_p99", fleet.quantile(0.99).value());
  put("plant_power_max", fleet.quantile(1).value());
  put("energy", sum.plant.value() / 1e3);
  const double done = requests_done(result), tokens = real(result.total().output_tokens);
  if (tokens > 0) put("energy_per_token", sum.plant.value() / tokens);
  if (done > 0) put("energy_per_request", sum.plant.value() / done);
  if (counts_carbon(pools_.front())) add_carbon(fleet, tokens, done, metrics);
}

void ServicePower::add_carbon(const FleetEnergy& fleet, double tokens, double requests,
                              std::vector<Metric>& metrics) const {
  const CarbonIntensity& carbon = *pools_.front().account->carbon();
  const double hours = fleet.end / kPaidHour;
  const double kwh = fleet.total().plant / kKilowattHour;
  Emissions run{kwh * carbon.mean};
  for (std::size_t p = 0; p < pools_.size(); ++p)
    run.embodied += pools_[p].account->embodied_hour(fleet.pools[p].gpu_time / kPaidHour).value();
  const auto put = [&](FigureRef figure, double value, double over) {
    if (over > 0) metrics.push_back(exact_metric(figure, value / over));
  };
  constexpr double kMillion = 1e6, kKilo = 1e3;
  put("carbon_per_hour", run.all(), hours);
  if (run.embodied > 0) put("embodied_carbon_per_hour", run.embodied, hours);
  put("carbon_per_million_output_tokens", run.all(), tokens / kMillion);
  put("carbon_per_request", run.all(), requests);
  put("carbon", run.all(), kKilo);
  if (carbon.hours.empty() || hours <= 0) return;
  const Emissions best{kwh * best_start(carbon.hours, hours).mean, run.embodied};
  put("deferred_carbon_per_request", best.all(), requests);
  put("deferred_carbon", best.all(), kKilo);
}

void ServicePower::note(const FleetEnergy& fleet, std::vector<std::string>& notes) const {
  if (fleet.window > kPowerWindow.time())
    notes.push_back(fmt::format("power over time: means of {:.0f} s", fleet.window.value()));
  const double hours = fleet.end / kPaidHour;
  if (!counts_carbon(pools_.front()) || hours <= 0) return;
  const CarbonIntensity& carbon = *pools_.front().account->carbon();
  if (carbon.hours.empty()) return;
  const CarbonStart best = best_start(carbon.hours, hours);
  notes.push_back(fmt::format(
      "a run of {:.3g} h that can wait emits least from hour {} of the series on: {:.4g} g for a "
      "kWh in place of {:.4g}",
      hours, best.hour, best.mean, carbon.mean));
}

ServicePower::Errors ServicePower::errors_at(Watts board) const {
  Errors e;
  for (const PoweredPool& pool : pools_) {
    const Gpu& gpu = pool.served->deployment.gpu;
    Estimate<Watts> power = step_power(
        *constants_, gpu, pool.served->deployment.engine.id,
        {.time = seconds(1), .kernels = seconds(1), .links = {}, .compute = {}, .memory = {}});
    power.value = board;
    const Estimate<Watts> plant =
        pool.account ? pool.account->power({power, real(pool.served->plan.devices()), 0}) : power;
    e.board = std::max(e.board, power.sigma()), e.plant = std::max(e.plant, plant.sigma());
    e.board_origin = std::max(e.board_origin, power.origin);
    e.plant_origin = std::max(e.plant_origin, plant.origin);
    e.most = std::max(e.most, pool.served->knobs.limit.value_or(*gpu.power));
  }
  return e;
}

Estimate<Watts> ServicePower::most_power(const FleetEnergy& energy) const {
  Estimate<Watts> most;
  Watts beyond;  // deviations of the pools, which share their errors
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const PoweredPool& pool = pools_[p];
    const Watts limit = pool.served->knobs.limit.value_or(*pool.served->deployment.gpu.power);
    const double gpus = energy.pools[p].most_gpus;
    const Estimate<Watts> own = pool.account ? pool.account->most_power(gpus, limit)
                                             : Estimate<Watts>{limit * gpus, 0, 0, Origin::kExact};
    most.value += own.value, beyond += own.value * own.sigma();
  }
  most.shared = most.value > Watts(0) ? beyond / most.value : 0;
  return most;
}

void ServicePower::widen(const FleetEnergy& energy, std::vector<Metric>& metrics) const {
  const auto named = [&](std::string_view name) {
    const auto at = std::find_if(metrics.begin(), metrics.end(),
                                 [&](const Metric& m) { return m.name == name; });
    return at == metrics.end() ? 0 : at->value;
  };
  if (named("power") <= 0) return;
  const Errors e = errors_at(Watts(named("power")));
  const Estimate<Watts> most = most_power(energy);
  const double hour = named("carbon_per_hour");
  const double operational = hour > 0 ? 1 - named("embodied_carbon_per_hour") / hour : 0;
  for (Metric& m : metrics) {
    if (m.name == "power") {
      m.origin = std::max(m.origin, e.board_origin);
      orrery::widen(m, e.board);
      end_at(m, {e.most, 0, 0, Origin::kExact});
      continue;
    }
    const bool emitted = m.subject == Subject::kCarbon, drawn = m.subject == Subject::kPlantPower;
    if (!emitted && !drawn && m.subject != Subject::kEnergy) continue;
    m.origin = std::max(m.origin, e.plant_origin);
    orrery::widen(m, emitted ? e.plant * operational : e.plant);
    if (drawn) end_at(m, most);
  }
}

}  // namespace orrery
