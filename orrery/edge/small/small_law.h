// A law of small processors (small_processor.h): cycles of a multiply-add of bytes, and the power
// of a board while it computes.
//
//   time = sum over kinds of multiply-adds * cycles of the kind / clock
//          * factor of the core * factor of the processor
//
// A depth-wise filter uses a value few times, and a matrix of a dense layer is read for one vector:
// their multiply-adds cost more cycles than those of a convolution. All factors are normal in their
// logarithms. `orrery fit edge` finds them on MLPerf tiny's published runs
// (catalog/edge/laws/small.yaml), whatever program the submitter ran: two programs differ by half
// on one board, so that errors have heavy tails. The time is no less than that of the most
// multiply-adds that the core does in a cycle.
//
// The energy of an inference is the power that the same board drew in its other runs, times the
// time. Its error is that of runs predicted without those of their network. That error holds what
// laboratories differ by, and what power and time have in common. Boards without a measured energy
// have none.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/edge/device/law_effects.h"
#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/edge/small/small_processor.h"

namespace orrery {

enum class SmallWorkKind { kConvolution, kDepthwise, kMatrix };
inline constexpr std::size_t kSmallWorkKinds = 3;
std::string_view to_text(SmallWorkKind kind);
// Multiply-adds by kind.
using SmallWork = std::array<double, kSmallWorkKinds>;
SmallWork small_work_of(std::span<const EdgeKernel> kernels);

struct SmallLaw {
  std::string recipe;                                // what was fitted
  std::array<double, kSmallWorkKinds> cycles{};      // logarithms, of a multiply-add
  LawEffects cores, processors;                      // logarithms of factors: "cortex-m4"
  std::map<std::string, Watts, std::less<>> powers;  // of boards, by processor
  // Standard deviations of logarithms: of a time on a processor that was measured; of the factor of
  // a processor that was not, and of a core that was not; of an energy.
  double known = 0.25, unknown_processor = 0.15, unknown_core = 1, energy_spread = 0.35;

  Estimate<Seconds> time(const SmallWork& work, const SmallProcessor& processor) const;
  // Nothing where the board's power was not measured.
  std::optional<Estimate<Joules>> energy(const Estimate<Seconds>& time,
                                         const SmallProcessor& processor) const;
};

// InputError: no such file, or it is malformed.
SmallLaw read_small_law(const Bundle& bundle);
std::string small_law_text(const SmallLaw& law);

}  // namespace orrery
