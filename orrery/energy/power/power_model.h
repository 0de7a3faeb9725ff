// The power of a GPU while it runs a kernel.
//
//   power = min(awake + (limit - awake) * activity, regulated * limit)
//
// The activity is that of kernel_activity.h at the predicted time of the call. Where calls like it
// were read on the GPU, the power is corrected by them (power_surfaces.h), within the same bounds.
// Times that were measured at the board's limit contain the lower clock that the limit asked for,
// so that a call which demands more than the limit draws the limit, and its time is not stretched
// again.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "orrery/energy/power/board_power.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/energy/power/kernel_activity.h"
#include "orrery/energy/power/power_surfaces.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

class PowerModel {
 public:
  // Borrows `activity`. `classes`: the frameworks whose kernels run.
  PowerModel(const KernelActivity& activity, const BoardPower& board, const KernelClasses& classes)
      : activity_(activity), board_(board), classes_(classes) {}
  // The same with the corrections of `gpu`.
  PowerModel(const KernelActivity& activity, const BoardPower& board, const KernelClasses& classes,
             const Gpu& gpu, PowerSurfaces surfaces)
      : activity_(activity),
        board_(board),
        classes_(classes),
        gpu_(gpu),
        surfaces_(std::move(surfaces)) {}

  const BoardPower& board() const { return board_; }
  // Mean power of the board during a call of `op` that takes `time`; between awake and limit. It is
  // measured if the board has readings and the class of the call has constants, else transferred.
  Estimate<Watts> kernel(const Op& op, const KernelTime& time) const;
  // The clock of the board during calls of `op` that take `at(n)` with their clock slowed by n. The
  // clock is decided for the call, which is repeated. Infeasible: as board_clock (clock_power.h).
  BoardClock clock(const Gpu& gpu, const PowerKnobs& knobs, const Op& op,
                   const std::function<KernelTime(double slowdown)>& at) const;
  // The same by the constants of the call's class and its utilisations, corrected by `share` of
  // what readings say of such calls, where there are some.
  Estimate<Watts> during(const KernelActivity::Entry& constants, const Utilisation& used,
                         const std::optional<PowerSurfaces::Correction>& correction = {},
                         double share = 1) const;

 private:
  struct Kernel {
    const KernelFamily* family = nullptr;
    std::string_view framework;
  };
  Kernel kernel_of(const Op& op) const;
  std::optional<PowerSurfaces::Correction> correction(const Op& op, const Utilisation& used,
                                                      Seconds time) const;

  const KernelActivity& activity_;
  const BoardPower board_;
  const KernelClasses classes_;
  const std::optional<KernelGpu> gpu_;
  const PowerSurfaces surfaces_;
};

}  // namespace orrery
