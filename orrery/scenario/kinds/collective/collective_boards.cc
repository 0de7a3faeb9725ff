#include "orrery/scenario/kinds/collective/collective_boards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/kernel/tiers/clocked_kernels.h"
#include "orrery/scenario/setup/board_governor.h"

namespace orrery {
namespace {

// The time of the call with the clock slowed by `slowdown`, over that at the reference clock.
double longer_at(const CopyingCall& call, double slowdown) {
  if (call.time <= Seconds(0)) return 1;
  const double factor = clock_factor(Seconds(0), call.wires, call.time, slowdown);
  return std::max(factor, slowdown * std::min(1.0, call.copies / call.time));
}

}  // namespace

std::optional<CallOnBoards> call_on_boards(Facts& facts, const Gpu& gpu, const PowerKnobs& knobs,
                                           const CopyingCall& call) {
  if (!gpu.power || call.time <= Seconds(0)) {
    if (knobs.any())
      throw NoData(fmt::format("hardware: no power of the board of {} is known", gpu.id));
    return std::nullopt;
  }
  const StepPowerConstants& law = facts.step_power();
  const StepPowerConstants::Board board = law.board(gpu.id);
  StepWork work, kernels;  // nothing but collectives, nothing but other kernels
  work.time = work.links = kernels.time = kernels.kernels = call.time;
  CallOnBoards out;
  out.power = step_power(law, gpu, "", work);
  if (!knobs.any()) return out;
  check_knobs(gpu, *gpu.power * board.awake, knobs);
  const double gain = law.engine("");
  const double carried = step_demand(law, board, gain, work).unclocked - board.awake;
  const double share =
      gpu.compute_units > 0 ? std::min(1.0, real(call.sms) / gpu.compute_units) : 0;
  const double held = std::min(carried, step_demand(law, board, gain, kernels).clocked * share);
  const double drawn = share_of_limit(law, board, gain, work);
  out.clock = board_clock(gpu, knobs, {drawn, law.regulated, out.power.sigma()},
                          [&](double slowdown) -> PowerDemand {
                            const double rate = 1 / longer_at(call, slowdown);
                            return {board.awake + (carried - held) * rate, held};
                          });
  out.longer = longer_at(call, out.clock->slowdown);
  out.power = saved_power(out.power, out.clock->power, knobs, law.regulated);
  return out;
}

void add_boards(const CallOnBoards& boards, const Gpu& gpu, const PowerKnobs& knobs, int gpus,
                const Estimate<Seconds>& time, Point& p) {
  p.metrics.push_back(power_metric(boards.power, knobs.limit.value_or(*gpu.power)));
  p.metrics.push_back(metric("energy@network", energy_of(boards.power, time).scaled(real(gpus))));
  if (boards.clock)
    p.metrics.push_back(clock_metric(boards.clock->clock, boards.clock->error, gpu));
}

}  // namespace orrery
