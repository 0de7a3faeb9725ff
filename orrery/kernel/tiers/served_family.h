// The surfaces that serve one kernel family on one GPU.
//
// A class is looked up, and its file read, when it is first asked for: files are large, and most
// questions need few classes.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/families/kernel_gpu.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/kernel/tiers/calibration.h"
#include "orrery/kernel/tiers/engine_kernels.h"
#include "orrery/kernel/tiers/tier_choice.h"
#include "orrery/kernel/tiers/transfer.h"

namespace orrery {

// The framework name of sweeps by tools/sweep, which time PyTorch's own kernels.
inline constexpr const char* kTorch = "pytorch";

// State that the families of one kernel model share: the GPU asked about, parsed files and the
// facts of other GPUs. Thread-safe.
class SurfaceStore {
 public:
  SurfaceStore(const KernelGpu& gpu, const Bundle& bundle, TierChoice tier)
      : gpu_(gpu), bundle_(bundle), tier_(tier) {}

  const KernelGpu& gpu() const { return gpu_; }
  TierChoice tier() const { return tier_; }
  // The facts of another GPU of the catalog.
  const KernelGpu& relative(const std::string& id) const;
  // GPUs of the same vendor with a file of this family and framework, nearest first. `own_alone`:
  // gpu() alone, if it has one; the facts of others are then not read.
  std::vector<MeasuredGpu> measured(const KernelFamily& family, std::string_view framework,
                                    bool own_alone = false) const;
  // The file at `path`; null: there is none. InputError: it is malformed, or its axes are not those
  // of the family.
  const SurfaceFile* surfaces(const KernelFamily& family, const std::string& path) const;
  const CalibrationFile* calibration(const KernelFamily& family, const std::string& path) const;

 private:
  const KernelGpu gpu_;
  const Bundle bundle_;
  const TierChoice tier_;
  mutable std::recursive_mutex mutex_;
  mutable std::map<std::string, KernelGpu> gpus_;
  mutable std::map<std::string, std::unique_ptr<SurfaceFile>> files_;
  mutable std::map<std::string, std::unique_ptr<CalibrationFile>> calibrations_;
};

// The surfaces that serve one kernel class on the GPU asked about; without one physics does.
struct ServedClass {
  ServingSurface served;
  // Surface of TensorRT-LLM's kernel, measured on the relative GPU, where this generation of GPUs
  // replaced the framework's own kernel by it. The faster of the two kernels serves.
  ServingSurface replacing;
  const char* replaced = nullptr;  // name of the replaced kernel, for notes
  // The rule for the kernel that the engine runs on this GPU instead; null: none. `replacing` is
  // then its surface, unless it serves alone.
  const EngineKernel* rule = nullptr;
  bool by_torch = false;  // served by PyTorch's sweep of this GPU, not by the framework's
  const Calibration* points = nullptr;    // measured points of this GPU that correct the surface
  const SurfaceLookup* lookup = nullptr;  // on the family's axes
  // Own error of a prediction, indexed by Surface::regime_of: the surface's own error, times the
  // factor of the regime, and the error of the transfer.
  std::array<double, 4> own{};
};

class ServedFamily {
 public:
  // `framework`: whose kernels run. `scaled`: whose kernels run for the classes with scaled
  // activations (KernelClass::scaled); empty: those of `framework`. Borrows both references.
  ServedFamily(const KernelFamily& family, std::string framework, std::string scaled,
               const SurfaceStore& store);

  const KernelFamily& family() const { return family_; }
  // Whose kernels serve the class of `op`.
  const std::string& framework(const Op& op) const {
    const int index = family_.class_of(op);
    return index < 0 ? framework_
                     : framework_of(family_.classes()[static_cast<std::size_t>(index)]);
  }
  // The surfaces of the class of `op`; null: the op has no class.
  const ServedClass* of(const Op& op) const {
    const int index = family_.class_of(op);
    if (index < 0) return nullptr;
    const Slot& slot = slots_[static_cast<std::size_t>(index)];
    if (!slot.ready.load(std::memory_order_acquire)) look_up(static_cast<std::size_t>(index));
    return &slot.found;
  }

 private:
  struct Slot {
    std::atomic<bool> ready = false;
    ServedClass found;
  };
  void look_up(std::size_t index) const;
  const std::string& framework_of(const KernelClass& c) const {
    return c.scaled && !scaled_.empty() ? scaled_ : framework_;
  }
  ServedClass find(const KernelClass& wanted) const;
  // Serves a class by the rule for what its engine runs on this GPU.
  void by_rule(const KernelClass& wanted, ServedClass& c) const;
  void prepare(ServedClass& c) const;
  // The best surface of a sweep of this GPU by PyTorch; without one, no surface.
  ServingSurface own_of_torch(const KernelClass& wanted) const;
  ServingSurface choose(const KernelClass& wanted, const std::string& framework) const;

  const KernelFamily& family_;
  const std::string framework_, scaled_;
  const SurfaceStore& store_;
  mutable std::mutex mutex_;
  mutable std::vector<Slot> slots_;
  mutable std::optional<SurfaceLookup> lookup_;
  mutable std::deque<Surface> relatives_;  // surfaces of other GPUs, as they serve this one
};

}  // namespace orrery
