#include "orrery/kernel/families/families.h"

#include <cmath>
#include <vector>

namespace orrery {

std::span<const KernelFamilyEntry> kernel_family_entries() {
#define ORRERY_KERNEL_FAMILY(function, framework) {&function(), &KernelClasses::framework},
  static const KernelFamilyEntry kAll[] = {
#include "orrery/kernel/families/families.def"
  };
#undef ORRERY_KERNEL_FAMILY
  return kAll;
}

std::span<const KernelFamily* const> kernel_families() {
  static const std::vector<const KernelFamily*> kAll = [] {
    std::vector<const KernelFamily*> all;
    for (const KernelFamilyEntry& entry : kernel_family_entries()) all.push_back(entry.family);
    return all;
  }();
  return kAll;
}

const KernelFamily* answering_family(const Op& op, const KernelClasses& classes) {
  const std::size_t kind = kernel_kind(op);
  for (const KernelFamilyEntry& entry : kernel_family_entries()) {
    if (!(classes.*entry.framework).empty() && entry.family->serves(kind)) return entry.family;
  }
  return nullptr;
}

std::vector<double> log2_of(std::span<const int> sizes) {
  std::vector<double> out;
  for (int s : sizes) out.push_back(std::log2(s));
  return out;
}

bool KernelFamily::warm_differs(const Op& op, const KernelGpu& gpu) const {
  return gpu.l2 && bytes(op) <= *gpu.l2 * kBeyondCache;
}

}  // namespace orrery
