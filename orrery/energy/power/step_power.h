// The power of a GPU's board over the steps of a serving engine or the passes of training.
//
//   power  = softened minimum of awake + (limit - awake) * activity and regulated * limit
//   activity = gain * (kernels * K/t + compute * (C/t)^x + memory * (M/t)^y + links * L/t)
//
// t is the time of the steps. K is the part of it in which kernels run, L that in which collectives
// run, C the time of all FLOPs at the data sheet's peak rates and M that of all bytes at its
// bandwidth. Between kernels the board is awake. x below 1 says that the first tenth of the
// arithmetic costs more power than the last: partly filled tiles, wide registers and the clocks
// of the units.
//
// The controller of a board keeps the mean of about 0.1 s at the limit, which is many steps. The
// limit therefore bounds the mean of a step and not each of its kernels, whose demand may be above
// it for microseconds. Steps whose demand comes near the limit stay a little below it, because the
// demand varies: the minimum is -w log(exp(-a/w) + exp(-b/w)) with w = kSoftness of the limit.
//
// The constants of the units are of all GPUs. A GPU has its awake share of the limit and a gain,
// an engine a gain. They are fitted on readings of services (`orrery fit energy`,
// catalog/power/steps.yaml). A GPU or an engine without readings has the mean of those that have
// some, and a wider interval.
//
// The constants differ from those of single kernels (kernel_activity.h). Those describe what the
// driver reads while one kernel is repeated for a second, which holds part of what ran before.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

// The work of one GPU in a time, as times at the rates of the data sheet. It adds up over steps.
struct StepWork {
  Seconds time;     // in all, with the gaps between kernels
  Seconds kernels;  // in which kernels other than collectives run
  Seconds links;    // in which collectives run
  Seconds compute;  // FLOPs over the peak rate of their format
  Seconds memory;   // bytes over the bandwidth

  StepWork& operator+=(const StepWork& more);
  // The work of `steps` such steps.
  StepWork scaled(double steps) const;
  // The same work in another time, with kernels and collectives that take `share` of what is added
  // to the time. A shorter time shortens them as a whole.
  StepWork stretched(Seconds to, double share) const;
};

struct StepPowerConstants {
  double kernels = 0, compute = 0, memory = 0, links = 0;
  double compute_exponent = 1, memory_exponent = 1;
  struct Board {
    double awake = 0;  // share of the limit
    double gain = 1;
  };
  std::map<std::string, Board> boards;    // by the id of the GPU
  std::map<std::string, double> engines;  // gains by the id of the engine
  double regulated = 1;                   // share of the limit that a board at its limit draws
  // Standard deviations of the logarithm of the power: of a single service, and what a GPU and an
  // engine without readings add.
  double error = 0, board_error = 0, engine_error = 0;

  // The constants of a GPU; the mean over all boards where it has none.
  Board board(std::string_view gpu) const;
  // The gain of an engine; the mean over all engines where it has none.
  double engine(std::string_view id) const;
};

// Share of the limit over which the demand is bent towards the limit. It was chosen, and not
// fitted: services of large batches read 0.96 to 0.99 of the limit.
inline constexpr double kSoftness = 0.06;

// Reads catalog/power/steps.yaml. InputError: it is malformed.
StepPowerConstants read_step_power(const Bundle& bundle);
// The text of that file. `recipe`: what was fitted.
std::string step_power_text(const StepPowerConstants& constants, const std::string& recipe);

// The power as a share of the limit, from the constants of a board and an engine's gain; 0 to 1.
// REQUIRES work.time > 0.
double share_of_limit(const StepPowerConstants& constants, const StepPowerConstants::Board& board,
                      double engine_gain, const StepWork& work);

// share_of_limit by what the law ascribes it to; the parts add up to it. Where the limit holds the
// power down, each part but `awake` is held down alike.
struct PowerParts {
  double awake = 0;    // the board between kernels
  double kernels = 0;  // kernels of whatever work
  double compute = 0, memory = 0, links = 0;
  double drawn = 0;  // share_of_limit, of which these are the parts

  double sum() const { return awake + kernels + compute + memory + links; }
};
PowerParts power_parts(const StepPowerConstants& constants, const StepPowerConstants::Board& board,
                       double engine_gain, const StepWork& work);

// A demand for power in shares of the limit, by what the clock of the multiprocessors changes
// (clock_power.h) and what it does not.
struct PowerDemand {
  double unclocked = 0;   // the board awake, the memory and the links
  double clocked = 0;     // kernels that run: as the clock and the square of the voltage
  double arithmetic = 0;  // at its rate and the least voltage: as the square of the voltage
};
// The demand of the work without the limit.
PowerDemand step_demand(const StepPowerConstants& constants, const StepPowerConstants::Board& board,
                        double engine_gain, const StepWork& work);

// The mean power of the board of `gpu` while the work is done. `engine`: its id; empty: no engine
// that has readings. NoData: the data sheet states no power.
Estimate<Watts> step_power(const StepPowerConstants& constants, const Gpu& gpu,
                           std::string_view engine, const StepWork& work);

// The part of a relative error of the time that becomes an error of the energy, between 0 and 1:
// the slope of the logarithm of the energy over that of the time. Kernels that take longer move the
// same bytes and do the same arithmetic at less power, so that the energy is surer than the time.
// It is 1 at the limit of the board.
double energy_follows_time(const StepPowerConstants& constants, const Gpu& gpu,
                           std::string_view engine, const StepWork& work);

}  // namespace orrery
