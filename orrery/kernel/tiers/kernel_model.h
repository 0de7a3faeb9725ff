// Time of one op on one GPU.
//
// A KernelModel is made for a GPU and a choice of kernel classes (which framework's kernel runs for
// each family). It picks the best tier for each op by itself and names it:
//   measured     this GPU and class have a sweep: physics times a fitted efficiency surface; or the
//                very layer was measured in an engine (layer_times.h)
//   transferred  another GPU's surface for this class, on this GPU's data sheet
//   analytical   physics with cited constants only
// A few points measured on this GPU correct the lower two (calibration.h); both are then called
// transferred.
// Whatever the tier, a time is never below the op's roofline max(flops/peak, bytes/bandwidth),
// except for the part of its operands that can be resident in the L2 cache.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

enum class Bound { kCompute, kMemory, kLaunch, kNetwork };
std::string_view to_text(Bound bound);

struct KernelTime {
  Estimate<Seconds> time;  // of one call replayed from a graph: no launch gap in it
  Seconds compute;         // flops / data-sheet peak
  Seconds memory;          // bytes / data-sheet bandwidth
  Bound bound = Bound::kMemory;
};

// Which measured framework's kernels serve a family ("trtllm", "vllm", "sglang"), and optionally a
// backend.
struct KernelClasses {
  std::string gemm = "vllm", attention = "vllm", moe = "vllm", mla = "vllm",
              linear_attention = "vllm";
  // Norms, softmax and pointwise work of a framework that launches each on its own ("pytorch");
  // empty: the fused kernels of serving engines, one model for all (elementwise.cc).
  std::string rows = "";
  friend auto operator<=>(const KernelClasses&, const KernelClasses&) = default;
};

class KernelModel {
 public:
  virtual ~KernelModel() = default;
  // The time of any op but a Collective. NoData: the GPU has no peak for the op's number format.
  // Thread-safe; no allocation.
  virtual KernelTime predict(const Op& op) const = 0;
  // The same for a call that is repeated on the same operands, as a sweep measures it: what fits
  // stays in the L2, and kernels that the measured call does not contain are no part of the time.
  // `family`: of the table that the call stands in (KernelFamily::name).
  virtual KernelTime predict_repeated(const Op& op, std::string_view family) const {
    return static_cast<void>(family), predict(op);  // of models that know no cache
  }
  // The class and sweep that `op` is predicted from, for notes: "vllm 0.24.0 bf16 on h100-sxm".
  virtual std::string provenance(const Op& op) const = 0;
};

// Forces a tier, for validation; kBest takes the strongest there is.
enum class TierChoice { kBest, kTransferred, kAnalytical };

std::unique_ptr<KernelModel> make_kernel_model(const Gpu& gpu, const KernelClasses& classes,
                                               const Bundle& bundle,
                                               TierChoice tier = TierChoice::kBest);

}  // namespace orrery
