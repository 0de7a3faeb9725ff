#include "orrery/energy/power/clock_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"

namespace orrery {
namespace {

// The least relative change of the power for one of the clock that an error is divided by: where
// the power hardly falls, nothing is known of the clock.
constexpr double kLeastFall = 0.2;

// The highest clock at which `demand` is at most `power`, not below the knee of the voltage: the
// rate of operations in a demand is that of the reference clock, and the laws that state it are of
// the least voltage.
double highest_clock(const PowerDemand& demand, double power) {
  if (demand_at(demand, 1) <= power) return 1;
  double low = kVoltageKnee, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (demand_at(demand, middle) <= power ? low : high) = middle;
  }
  return low;
}

// The least slowdown in [fast, slow] at which `excess` is not positive, to a relative 1e-9. The
// excess falls with the slowdown. REQUIRES excess(fast) > 0 >= excess(slow). Regula falsi with the
// Illinois rule, in the logarithm; the result is on the side that meets the limit.
double least_slowdown(double fast, double slow, double of_fast, double of_slow,
                      const std::function<double(double)>& excess) {
  double a = std::log(fast), b = std::log(slow);
  int same = 0;
  for (int i = 0; i < 60 && b - a > 1e-9; ++i) {
    double x = (a * of_slow - b * of_fast) / (of_slow - of_fast);
    // Steps that end at a bound, or stay on one side, are halved.
    if (!(x > a && x < b) || i % 4 == 3) x = (a + b) / 2;
    const double y = excess(std::exp(x));
    if (y > 0) {
      a = x, of_fast = y;
      if (same == 1) of_slow /= 2;
      same = 1;
    } else {
      b = x, of_slow = y;
      if (same == -1) of_fast /= 2;
      same = -1;
      if (y > -1e-9) break;
    }
  }
  return std::exp(b);
}

}  // namespace

void check_knobs(const Gpu& gpu, Watts awake, const PowerKnobs& knobs) {
  if (!knobs.any()) return;
  const auto mhz = [](Hertz f) { return f.value() / 1e6; };
  if (!gpu.power || !gpu.boost_clock)
    throw NoData(fmt::format("hardware.{}: no {} of {} is known",
                             knobs.limit ? "power_limit" : "clock",
                             gpu.power ? "clock" : "power of the board", gpu.id));
  if (knobs.limit) {
    if (*knobs.limit > *gpu.power || *knobs.limit < gpu.least_power_limit.value_or(Watts(0)) ||
        *knobs.limit <= awake) {
      const std::string least =
          gpu.least_power_limit
              ? fmt::format("from {:g} W", gpu.least_power_limit->value())
              : fmt::format("above the {:.0f} W that it draws awake", awake.value());
      throw InputError(
          fmt::format("hardware.power_limit (--power-limit): {:g} W is no limit of {}: {}, at most "
                      "{:g} W",
                      knobs.limit->value(), gpu.id, least, gpu.power->value()));
    }
  }
  const Hertz lowest = *gpu.boost_clock * kLowestClock;
  if (knobs.clock && (*knobs.clock > *gpu.boost_clock || *knobs.clock < lowest))
    throw InputError(fmt::format(
        "hardware.clock (--clock): {:g} MHz is not between {:.0f} and {:g} MHz, the clocks of {}",
        mhz(*knobs.clock), mhz(lowest), mhz(*gpu.boost_clock), gpu.id));
}

double operation_energy(double clock) {
  const double voltage =
      std::max(kLeastVoltage,
               kLeastVoltage + (1 - kLeastVoltage) * (clock - kVoltageKnee) / (1 - kVoltageKnee));
  return voltage * voltage;
}

BoardClock board_clock(const Gpu& gpu, const PowerKnobs& knobs, const BoardPowerAtLimit& board,
                       const std::function<PowerDemand(double slowdown)>& at) {
  const double power = board.power, regulated = board.regulated;
  BoardClock out;
  const PowerDemand demand = at(1);
  const double reference = highest_clock(demand, regulated);
  out.clock = reference;
  if (!knobs.any()) return out;
  const double whole = demand_at(demand, reference);
  const auto power_of = [&](double slowdown) {
    if (slowdown <= 1) return power;
    return power * std::min(1.0, demand_at(at(slowdown), reference / slowdown) / whole);
  };
  double least = 1;
  if (knobs.clock) least = std::max(1.0, reference * *gpu.boost_clock / *knobs.clock);
  out.slowdown = least;
  double now = power_of(least);
  if (knobs.limit) {
    const double limit = regulated * *knobs.limit / *gpu.power;
    if (now > limit) {
      const double most = std::max(least, reference / kLowestClock);
      const auto excess = [&](double slowdown) { return power_of(slowdown) - limit; };
      const double left = excess(most);
      if (left > 0)
        throw Infeasible(fmt::format(
            "hardware.power_limit: {} needs {:.0f} W at its lowest clock, more than {:.4g} W, the "
            "limit of a board or its share of cluster.power_limit",
            gpu.id, (left + limit) / regulated * gpu.power->value(), knobs.limit->value()));
      out.slowdown = least_slowdown(least, most, now - limit, left, excess);
      now = std::min(power_of(out.slowdown), limit);
      // Relative change of the power for one of the clock, by which an error of the demand becomes
      // one of the clock.
      constexpr double kStep = 1.02;
      const double falls = std::log(now / power_of(out.slowdown * kStep)) / std::log(kStep);
      out.error = board.error / std::max(falls, kLeastFall);
    }
  }
  out.clock = reference / out.slowdown;
  out.power = power > 0 ? now / power : 1;
  return out;
}

BoardClock step_clock(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                      const PowerKnobs& knobs, const std::function<StepWork(double slowdown)>& at) {
  const StepPowerConstants::Board board = c.board(gpu.id);
  const double gain = c.engine(engine);
  const StepWork reference = at(1);
  if (reference.time <= Seconds(0)) return {};
  const double error = step_power(c, gpu, engine, reference).sigma();
  const PowerDemand demand = step_demand(c, board, gain, reference);
  return board_clock(gpu, knobs, {share_of_limit(c, board, gain, reference), c.regulated, error},
                     [&](double slowdown) -> PowerDemand {
                       if (slowdown <= 1) return demand;
                       const StepWork work = at(slowdown);
                       return slower(demand, board.awake, reference.time / work.time,
                                     step_demand(c, board, gain, work).clocked);
                     });
}

double least_energy(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                    const StepWork& reference) {
  const PowerDemand demand = step_demand(c, c.board(gpu.id), c.engine(engine), reference);
  const double whole = demand_at(demand, highest_clock(demand, c.regulated));
  const double least =
      demand.unclocked + demand.arithmetic + demand.clocked * clock_power(kLowestClock);
  return whole > 0 ? std::min(1.0, least / whole) : 1;
}

StepWork slowed(const StepWork& work, double slowdown) {
  StepWork out = work;
  out.kernels = work.kernels * clock_factor(work.compute, work.memory, work.kernels, slowdown);
  out.time = work.time + (out.kernels - work.kernels);
  return out;
}

BoardClock step_clock(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                      const PowerKnobs& knobs, const StepWork& work) {
  return step_clock(c, gpu, engine, knobs,
                    [&work](double slowdown) { return slowed(work, slowdown); });
}

Estimate<Watts> saved_power(const Estimate<Watts>& power, double left, const PowerKnobs& knobs,
                            double regulated) {
  if (left >= 1) return power;
  Estimate<Watts> out = power.scaled(left);
  if (knobs.limit) out.value = std::min(out.value, *knobs.limit * regulated);
  out.shared = std::hypot(out.shared, kSavedPowerError * (1 / left - 1));
  out.origin = std::max(out.origin, Origin::kTransferred);
  return out;
}

double mean_clock(std::span<const ClockedSteps> kinds) {
  double sum = 0, time = 0;
  for (const ClockedSteps& k : kinds) sum += k.clock * k.time.value(), time += k.time.value();
  return time > 0 ? sum / time : 1;
}

double power_left(const StepPowerConstants& c, const Gpu& gpu, std::string_view engine,
                  std::span<const ClockedSteps> kinds) {
  const StepPowerConstants::Board board = c.board(gpu.id);
  const double gain = c.engine(engine);
  double before = 0, after = 0;
  Seconds time, reference;
  for (const ClockedSteps& k : kinds) {
    if (k.reference.time <= Seconds(0)) continue;
    const double share = share_of_limit(c, board, gain, k.reference);
    before += share * k.reference.time.value(), after += share * k.power * k.time.value();
    reference += k.reference.time, time += k.time;
  }
  if (before <= 0 || (after == before && time == reference)) return 1;
  return after / before * (reference / time);
}

Estimate<Watts> clocked_step_power(const StepPowerConstants& c, const Gpu& gpu,
                                   std::string_view engine, const PowerKnobs& knobs,
                                   std::span<const ClockedSteps> kinds) {
  StepWork reference;
  for (const ClockedSteps& k : kinds) reference += k.reference;
  return saved_power(step_power(c, gpu, engine, reference), power_left(c, gpu, engine, kinds),
                     knobs, c.regulated);
}

}  // namespace orrery
