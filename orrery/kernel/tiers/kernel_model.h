// The time of one op on one GPU.
//
// A KernelModel is made for a GPU and for the frameworks whose kernels run (kernel_classes.h). It
// takes the best tier that there is for each op, and names it as the origin of the time:
//
//   measured     a sweep of the kernel class on this GPU: physics times a fitted efficiency
//                surface; or a measurement of the layer in an engine (layer_times.h)
//   transferred  the surface of another GPU for the class, on this GPU's data sheet
//   analytical   physics with cited constants alone
//
// A few points measured on this GPU correct the lower two tiers (calibration.h); both are then
// called transferred. On every tier a time is at least the roofline max(flops/peak,
// bytes/bandwidth) of the op, except for operands that can be resident in the L2 cache.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/families/kernel_classes.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class Bound { kCompute, kMemory, kLaunch, kNetwork };
std::string_view to_text(Bound bound);

struct KernelTime {
  Estimate<Seconds> time;  // of one call replayed from a graph, without a launch gap
  Seconds compute;         // FLOPs over the data sheet's peak rate
  Seconds memory;          // bytes over the data sheet's bandwidth
  Bound bound = Bound::kMemory;
};

class KernelModel {
 public:
  virtual ~KernelModel() = default;
  // The time of any op but a Collective. NoData: the GPU has no peak for the op's number format.
  // Thread-safe; no allocation.
  virtual KernelTime predict(const Op& op) const = 0;
  // The time of the call as a sweep measures it: repeated on the same operands, which stay in the
  // L2 cache where they fit, and without kernels that belong to the op in a step but not to the
  // measured call (KernelPoint::rest). The time of predict in models that know no sweeps.
  virtual KernelTime predict_repeated(const Op& op) const { return predict(op); }
  // The class and the sweep that `op` is predicted from, for notes: "vllm bf16 of gemm measured on
  // h100-sxm".
  virtual std::string provenance(const Op& op) const = 0;
};

// The model takes the strongest tier that there is for each op (tier_choice.h holds one to a tier).
std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle);

}  // namespace orrery
