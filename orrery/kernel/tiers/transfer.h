// Which measured surface serves a kernel class on a GPU, and how far it may be trusted there.
//
// A GPU without a sweep takes the surface of its nearest measured relative, whole: blending in a
// far generation costs accuracy. The relative's surface multiplies this GPU's own physics.
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

// How unlike two GPUs are as far as kernels care: another generation first (maker, architecture or
// compute capability's first number: a consumer-class Blackwell is no B200), then the kind of
// memory, then what decides tiling (shared memory), the arithmetic of a unit, the balance of
// arithmetic and bandwidth, and power (throttling). 0 for a GPU and itself; at least
// kOtherGeneration between architectures.
inline constexpr double kOtherGeneration = 3;
double distance(const KernelGpu& a, const KernelGpu& b);

// A GPU with a file of the family and framework.
struct MeasuredGpu {
  std::string id;
  bool own = false;  // it is the GPU asked about itself
  double distance = 0;
};

// The surface that serves a class. Without a surface physics does, and the errors say nothing.
struct ServingSurface {
  const Surface* surface = nullptr;
  const SurfaceFile* file = nullptr;
  std::string gpu;             // it was measured on
  double factor = 1;           // on the surface's time, floor excluded
  double own = 0, shared = 0;  // relative errors
  Origin origin = Origin::kAnalytical;
  const KernelGpu* relative = nullptr;  // `gpu`, if it is not the GPU asked about
  double latency = 1;                   // on the surface's floor and the set-up in base
};

// Relative error of what a relative at that distance gives.
double transfer_error(std::string_view family, double distance);

// What a call takes beside its work (the surface's floor, KernelFamily::setup) on `here`, over that
// on a relative. 1 within a generation.
double latency_ratio(std::string_view family, std::string_view kernel_class, const KernelGpu& here,
                     const KernelGpu& relative);

// What a surface says of another GPU: series without what is not physics.
Surface as_relative(Surface surface);

// For a kernel class that is known to be replaced.
void widen_replaced(ServingSurface& s);

// Time over base on `here` from that on a relative, both for a repeated call. Within a generation
// what is above the kernels' best is latency and stays as long as it is; across generations all of
// it follows the data sheet. Products that are bound by arithmetic follow the power limit, softmax
// the rate of exponentials. `saved`: of the set-up in base, what a later generation does not take.
double carried_over(double there, const Op& op, const KernelPoint& here_point,
                    const KernelGpu& here, const KernelPoint& relative_point,
                    const KernelGpu& relative, Seconds saved = Seconds(0));

// What replaced a kernel class on `here` since the generation of `relative` ("FlashAttention 3 by
// TensorRT-LLM's kernels"); null: nothing that is known.
const char* replacement_of(std::string_view family, std::string_view kernel_class,
                           const KernelGpu& here, const KernelGpu& relative);

// The best of `measured` (nearest first) and of the class's sources: the sum of the errors by
// transfer and by substitution decides. So its own sweep of the class; then the class on a relative
// of the generation; then a substitute on this GPU; then both on any relative. `load` gives the
// file of a GPU's id.
ServingSurface choose_surface(
    std::string_view family, const KernelClass& wanted, std::span<const MeasuredGpu> measured,
    const std::function<const SurfaceFile&(const std::string& gpu)>& load);

}  // namespace orrery
