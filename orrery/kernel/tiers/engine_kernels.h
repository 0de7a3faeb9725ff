// Kernels that an engine runs on an architecture in place of those that it runs on the measured
// relatives: the fall-back rules of number formats on new GPUs.
//
// A surface of a relative says little if the engine runs another kernel there. Each rule names the
// calls, the GPUs asked about, and what serves instead: the class of another engine that runs the
// same kernel on the relatives, the faster of two kernels, or the physics of the kernel's tiles. A
// sweep of the GPU itself, or of another GPU of its generation, comes before any rule. What an
// engine falls back to is a fact of its source, which the line of the rule names.
#pragma once

#include <optional>
#include <string_view>

#include "orrery/kernel/families/family.h"
#include "orrery/kernel/families/kernel_gpu.h"

namespace orrery {

struct EngineKernel {
  enum class How {
    kInstead,  // the surface of `served_by` and `served_format` serves
    kFaster,   // the faster of the engine's own surface on the relative and that of `served_by`
    kSome,     // as kInstead, for the calls of the class that `applies` names
    kPhysics,  // physics serves, by `physics`
  };
  std::string_view family{}, framework{};
  // Number format with which the names of the classes begin, and what may follow it: "" for the
  // families whose classes are a format with an ending for the loads and the split.
  std::string_view format{}, ending{};
  // The set that the rule belongs to. It holds on GPUs whose architecture names the set
  // (GpuArchitecture::fallback_kernels); empty: on any.
  std::string_view set{};
  // Number format that the GPU asked about lacks. The rule then also comes before other classes of
  // its own sweep.
  std::optional<Dtype> missing{};
  // The rule holds only if the relative that would serve otherwise has slow kernels with an fp8
  // cache (GpuArchitecture::slow_fp8_cache).
  bool from_slow_fp8_cache = false;
  How how = How::kInstead;
  std::string_view served_by{}, served_format{};
  double factor = 1;  // on the time above the floor
  double error = 0;   // shared relative error of the rule
  bool (*applies)(const Op&) = nullptr;
  const KernelFamily& (*physics)() = nullptr;
  const char* what = "";  // runs here, for notes: "Triton kernels"
};

// The rule for a kernel class on `here`; null: none. `relative`: the GPU whose surface serves by
// the ordinary choice, `here` itself if that is another class of its sweep; null: none does.
const EngineKernel* engine_kernel(std::string_view family, std::string_view framework,
                                  std::string_view kernel_class, const KernelGpu& here,
                                  const KernelGpu* relative);

// The class whose surfaces serve by `rule`.
KernelClass served_class(const EngineKernel& rule, const KernelClass& wanted);

}  // namespace orrery
