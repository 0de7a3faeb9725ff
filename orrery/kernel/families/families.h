// The registry of kernel families (families.def), one file of this folder each.
#pragma once

#include <span>
#include <string>

#include "orrery/kernel/families/family.h"
#include "orrery/kernel/families/kernel_classes.h"

namespace orrery {

#define ORRERY_KERNEL_FAMILY(function, framework) const KernelFamily& function();
#include "orrery/kernel/families/families.def"
#undef ORRERY_KERNEL_FAMILY

// Products by the physics of kernels of one tile shape without a split of k, in every number format
// (gemm.cc). It serves no calls by itself: a rule of tiers/engine_kernels.h names it where an
// engine's kernels of other formats are of this kind.
const KernelFamily& whole_tile_gemm_family();

struct KernelFamilyEntry {
  const KernelFamily* family;
  std::string KernelClasses::* framework;  // whose kernels serve the family
};

// The lines of families.def, in their order.
std::span<const KernelFamilyEntry> kernel_family_entries();
// The families alone, in the same order.
std::span<const KernelFamily* const> kernel_families();

// The family that answers a question about the call where these frameworks' kernels run; null:
// none does, and the roofline answers.
const KernelFamily* answering_family(const Op& op, const KernelClasses& classes);

}  // namespace orrery
