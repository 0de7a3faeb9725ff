// Transfer: which measured surface serves a kernel class on a GPU, and with what error.
//
// A GPU without a sweep takes the surface of its nearest measured relative as it is, because
// blending in a distant generation costs accuracy (docs/reference/kernels.md, section "Structure
// that works"). The surface of the relative multiplies this GPU's own physics.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/kernel/families/family.h"
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {

// Whether libraries have the same kernels for both (GpuArchitecture::kernels).
bool same_generation(const Gpu& a, const Gpu& b);

// Distance between two GPUs as kernels see them; 0 for a GPU and itself. Another generation weighs
// most, at least kOtherGeneration (a consumer-class Blackwell is no B200). Then follow the compute
// capability, the kind of memory, shared memory (which decides tiling), the arithmetic of a unit,
// the balance of arithmetic and bandwidth, and power (throttling).
inline constexpr double kOtherGeneration = 3;
double distance(const KernelGpu& a, const KernelGpu& b);

// A GPU that has a file of a family and framework.
struct MeasuredGpu {
  std::string id;
  bool own = false;  // it is the GPU asked about
  double distance = 0;
};

// The surface that serves a class. Without a surface physics does, and the errors mean nothing.
struct ServingSurface {
  const Surface* surface = nullptr;
  const SurfaceFile* file = nullptr;
  std::string gpu;             // the GPU that it was measured on; empty: fitted on several
  double factor = 1;           // on the surface's time, floor excluded
  double own = 0, shared = 0;  // relative errors
  Origin origin = Origin::kAnalytical;
  const KernelGpu* relative = nullptr;  // `gpu`, if it is not the GPU asked about
  double latency = 1;  // factor on the surface's floor and on fill_and_drain in base
};

// Relative error of predictions by the surface of a relative at this distance.
double transfer_error(std::string_view family, double distance);

// Ratio of the time that a call takes besides its work (the surface's floor and
// KernelFamily::fill_and_drain) on `here` to that on a relative. 1 within a generation.
double latency_ratio(std::string_view family, std::string_view kernel_class, const KernelGpu& here,
                     const KernelGpu& relative);

// A surface as it serves another GPU: without values of series that are no physics (transfer.cc).
Surface as_relative(Surface surface);

// Widens the errors for a kernel class that is known to have been replaced.
void widen_replaced(ServingSurface& s);

// Time over base on `here`, from `there`, that on a relative, both for a repeated call. Within a
// generation, time above the best that kernels reach is latency and stays as long as it is; across
// generations all of the time follows the data sheet. Products that are bound by arithmetic follow
// the power limit, softmax follows the rate of exponentials. `saved`: the part of fill_and_drain
// that a later generation does not take.
double carried_over(double there, const Op& op, const KernelPoint& here_point,
                    const KernelGpu& here, const KernelPoint& relative_point,
                    const KernelGpu& relative, Seconds saved = Seconds(0));

// The replacement of a kernel class between the generations of `relative` and `here`, for notes
// ("FlashAttention 3 by TensorRT-LLM's kernels"); null: none is known.
const char* replacement_of(std::string_view family, std::string_view kernel_class,
                           const KernelGpu& here, const KernelGpu& relative);

// The best surface of the GPUs `measured` (nearest first) and of the class's sources: that with the
// least sum of the errors of transfer and substitution. This prefers the sweep of the class on this
// GPU, then the class on a relative of its generation, then a substitute on this GPU, then a
// substitute on a relative. `load` gives the file of a GPU's id.
ServingSurface choose_surface(
    std::string_view family, const KernelClass& wanted, std::span<const MeasuredGpu> measured,
    const std::function<const SurfaceFile&(const std::string& gpu)>& load);

}  // namespace orrery
