// The clock of a GPU under a power limit or at a locked clock, and the power that it then draws.
//
//   demand(f) = awake + memory + links + kernels * f V(f)^2 + arithmetic * (V(f) / kLeastVoltage)^2
//   V(f) = max(kLeastVoltage, kLeastVoltage + (1 - kLeastVoltage) (f - knee) / (1 - knee))
//
// Demands are in shares of the data sheet's limit, and f in shares of the boost clock. `kernels`,
// `arithmetic` and `memory` are what the fitted laws (step_power.h, kernel_activity.h) ascribe to
// kernels that run, to their arithmetic and to their traffic in the time that they take. Units that
// are occupied switch with every clock. An operation costs the square of the voltage at whatever
// clock it is done: the rate of operations is in `arithmetic`, which falls with the longer time.
// The constant of the laws is that of boards which are busy with arithmetic, and these run at the
// least voltage: an H100 at its limit keeps 1,320 to 1,450 of 1,980 MHz in products that fill it,
// 1,510 to 1,710 in attention and 1,560 in products that fill a third of it (catalog/measured,
// power.csv, sm_mhz).
//
// Guerreiro et al. ("GPGPU Power Modeling for Multi-Domain Voltage-Frequency Scaling", HPCA 2018)
// measured that the power of multiprocessors goes as f V^2, with a voltage that falls with the
// clock to a least one. The two numbers of V are an assumption near what can be seen: an A100 runs
// at 712 mV and 1080 of 1410 MHz (nvidia-smi -q in github.com/NVIDIA/nvidia-docker/issues/1648),
// near the least voltage of its process, and serves LLMs with the least energy at 1005 MHz
// (supercomputing-system-ai-lab.github.io/projects/voltana); on an RTX
// PRO 6000 the power falls as the clock alone below 0.85 to 0.9 of the highest clock, and from
// there up the voltage grows by 17 % (the sweep of kernel/tiers/clocked_kernels.h).
//
// The reference. Predicted times are those at the data sheet's limit, at which the board may
// already run below its boost clock. The reference clock of a step is the highest one at which its
// demand is within the data sheet's limit, and not below the knee. At it time and power are those
// of an answer without knobs, so that a limit which the step does not reach, and a clock above the
// reference one, change nothing, and the throttling in measured times is not counted twice.
//
//   power(f) = power at the reference clock * demand(f), of the work in its longer time,
//              / demand(reference), at most the power at the reference clock
//
// A board's controller keeps the mean of about 0.1 s at the limit, so that the limit holds for a
// step and not for each kernel. Under a limit the clock is the highest with power(f) <= regulated *
// limit: a solution for time, clock and power together. Power falls with the clock, because the
// utilisations of a longer time are lower.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

inline constexpr double kLeastVoltage = 0.8;  // share of that at the boost clock
inline constexpr double kVoltageKnee = 0.7;   // share of the boost clock below which V is least
// Lowest clock that can be locked, as a share of the boost clock. An assumption for all GPUs:
// nvidia-smi -q -d SUPPORTED_CLOCKS lists 210 to 1410 MHz on A100.
inline constexpr double kLowestClock = 0.15;
// Relative error of the power that a lower clock saves. An assumption: twice as much power is saved
// near the boost clock on the RTX PRO 6000 as by V(f), and half as much below the knee.
inline constexpr double kSavedPowerError = 0.4;

// The limit and the clock that a question asks of the boards. Absent: the data sheet's limit, the
// boost clock.
struct PowerKnobs {
  std::optional<Watts> limit;
  std::optional<Hertz> clock;
  bool any() const { return limit || clock; }
  bool operator==(const PowerKnobs&) const = default;
};

// InputError that names the range: a limit above the data sheet's, below the least that the board
// accepts or at most `awake`, which it draws without any kernel; a clock above the boost clock or
// below the lowest. NoData: the data sheet states no power or no clock.
void check_knobs(const Gpu& gpu, Watts awake, const PowerKnobs& knobs);

// V(f)^2, the energy of an operation, over that at the boost clock; and f V(f)^2 likewise.
double operation_energy(double clock);
inline double clock_power(double clock) { return clock * operation_energy(clock); }
// The demand at a clock, a share of the boost clock.
inline double demand_at(const PowerDemand& demand, double clock) {
  const double energy = operation_energy(clock);
  return demand.unclocked + demand.clocked * clock * energy +
         demand.arithmetic * energy / (kLeastVoltage * kLeastVoltage);
}

// The demand of the work of `reference` in a time of which its own is the share `rate`: the same
// operations and bytes in a longer time, at the voltage of `reference`. `awake`: part of its
// unclocked demand that does not depend on the work. `clocked`: of kernels in the longer time.
inline PowerDemand slower(const PowerDemand& reference, double awake, double rate, double clocked) {
  return {awake + (reference.unclocked - awake) * rate, clocked, reference.arithmetic * rate};
}

// The clock that a board keeps.
struct BoardClock {
  double slowdown = 1;  // the reference clock over it
  double clock = 1;     // share of the boost clock
  double power = 1;     // over the power at the reference clock
  double error = 0;     // relative; 0 where no limit holds it down
};

// The clock under `knobs` of what demands `at(n)` with its clock slowed by n, in the time that it
// then takes, and draws board.power at the data sheet's limit (both in shares of it). `regulated`:
// share of a limit that a board at its limit draws. `error`: relative, of the demand, from which
// that of the clock under a limit follows. Infeasible: more than the limit at the lowest clock.
struct BoardPowerAtLimit {
  double power = 1, regulated = 1, error = 0;
};
BoardClock board_clock(const Gpu& gpu, const PowerKnobs& knobs, const BoardPowerAtLimit& board,
                       const std::function<PowerDemand(double slowdown)>& at);

// The clock of steps that do `at(n)` with their clock slowed by n.
BoardClock step_clock(const StepPowerConstants& constants, const Gpu& gpu, std::string_view engine,
                      const PowerKnobs& knobs, const std::function<StepWork(double slowdown)>& at);

// The share of the energy of steps at the reference clock that no limit and no clock goes below.
// The awake board and the traffic cost what they do, in no less time; an operation costs at least
// the square of the least voltage, and kernels run no shorter at the lowest clock.
double least_energy(const StepPowerConstants& constants, const Gpu& gpu, std::string_view engine,
                    const StepWork& reference);

// The work with its clock slowed, as the mean of its kernels: they take clock_factor
// (kernel/tiers/clocked_kernels.h) as long, and the whole as much longer as they do.
StepWork slowed(const StepWork& work, double slowdown);
// The clock of `work` where no more is known of it than its sums.
BoardClock step_clock(const StepPowerConstants& constants, const Gpu& gpu, std::string_view engine,
                      const PowerKnobs& knobs, const StepWork& work);

// `power` of a board at its reference clock when it draws `left` of it, at most the limit. Its
// error grows by that of the power saved.
Estimate<Watts> saved_power(const Estimate<Watts>& power, double left, const PowerKnobs& knobs,
                            double regulated);

// Steps of one kind.
struct ClockedSteps {
  StepWork reference;  // at the reference clock
  Seconds time;        // that they take at their clock
  double power = 1;    // BoardClock::power
  double clock = 1;    // BoardClock::clock
  double error = 0;    // BoardClock::error
};
// The mean clock over the time of the steps, as a share of the boost clock.
double mean_clock(std::span<const ClockedSteps> kinds);
// The mean power of the steps over that of the same steps at the reference clock.
double power_left(const StepPowerConstants& constants, const Gpu& gpu, std::string_view engine,
                  std::span<const ClockedSteps> kinds);
// The mean power of steps of several kinds that follow each other: step_power of all of them at the
// reference clock, times what is left of the energy over the longer time. At most the limit. Its
// error grows by that of the power saved.
Estimate<Watts> clocked_step_power(const StepPowerConstants& constants, const Gpu& gpu,
                                   std::string_view engine, const PowerKnobs& knobs,
                                   std::span<const ClockedSteps> kinds);

}  // namespace orrery
