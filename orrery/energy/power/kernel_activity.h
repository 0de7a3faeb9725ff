// The activity of a GPU under a kernel: the share of the power between an idle and a full board
// that the kernel draws.
//
//   activity = fixed + compute * (C / t)^x + (memory - chips) * (M / t)^x + chips * (O / t)^x
//
// t is the time of the call. C is the time of its FLOPs at the data sheet's peak rate and M that of
// its bytes at the data sheet's bandwidth, so that C / t and M / t are the utilisations of the
// arithmetic units and of the memory, at most 1. O is the part of M that the memory chips serve.
// All operands of a step come from there (O = M), while those of a call that a measuring loop
// repeats may stay in the L2 cache. `fixed` is what the compute units draw by being occupied
// (schedulers, registers, caches).
//
// The three constants belong to a kernel class (kernel/families/family.h) of a framework, and to no
// GPU: the same constants describe H200 and B200 nearly as well as constants of their own. A class
// of a framework with few measured calls is drawn to the class of all frameworks, that to its
// family, and a family to all kernels. An op that no family serves takes the constants of all
// kernels. x below 1 says that the first tenth of a utilisation
// costs more power than the last.
//
// The constants are fitted by `orrery fit energy` on board power readings of repeated kernels
// (catalog/power/kernels.yaml; docs/data.md, energy).
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/kernel/families/families.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

// The activity of the memory chips at their full bandwidth, part of `memory` of every class. HBM2
// takes about 3.9 pJ a bit (O'Connor et al., "Fine-Grained DRAM", MICRO-50, 2017), which is 0.27 of
// what an H200 draws above its awake power, and 0.34 of that of a B200. NVML's power of the memory
// alone on an H100 is 40 W at rest and 185 W at 0.92 of the bandwidth (catalog/measured), 0.25 of
// what the board draws above its awake power.
inline constexpr double kMemoryChips = 0.25;

// The utilisations of a call, each between 0 and 1.
struct Utilisation {
  double compute = 0, memory = 0;
  double off_chip = 0;  // of the memory chips, at most `memory`
};
// The utilisations of a call whose operands come from memory. REQUIRES `time` > 0.
Utilisation utilisation(Seconds compute, Seconds memory, Seconds time);
// The utilisations of a repeated call with `bytes` of operands and results. Those that fit the
// cache stay there, and those of twice its size do not.
Utilisation repeated_utilisation(Seconds compute, Seconds memory, Seconds time, Bytes bytes,
                                 Bytes cache);

struct ActivityShares {
  double fixed = 0, compute = 0, memory = 0;

  // Activity that no limit holds down; above 1 where the board must lower its clock.
  double demanded(const Utilisation& u, double exponent) const {
    return fixed + compute * std::pow(u.compute, exponent) +
           (memory - kMemoryChips) * std::pow(u.memory, exponent) +
           kMemoryChips * std::pow(u.off_chip, exponent);
  }
};

class KernelActivity {
 public:
  // One class of a framework, or of all (framework empty), or a family (class empty, too), or all
  // kernels (all three empty).
  struct Entry {
    std::string family, kernel_class, framework;
    ActivityShares shares;
    // Standard deviation of the logarithm of the power of single calls.
    double error = 0;
    std::int64_t calls = 0;  // that the constants were fitted on
  };

  // Reads catalog/power/kernels.yaml. InputError: it is malformed.
  explicit KernelActivity(const Bundle& bundle);
  // REQUIRES an entry for all kernels.
  KernelActivity(double exponent, double shared_error, std::vector<Entry> entries);

  double exponent() const { return exponent_; }
  // Error that all calls of a class have in common on a GPU without readings of its own.
  double shared_error() const { return shared_error_; }
  const std::vector<Entry>& entries() const { return entries_; }
  // The constants of the op's class, as the framework's kernels are. `family` may be null.
  const Entry& of(const KernelFamily* family, const Op& op, std::string_view framework) const;

 private:
  void index();

  double exponent_ = 1, shared_error_ = 0;
  std::vector<Entry> entries_;
  struct Class {
    std::size_t entry;                       // of all frameworks
    std::vector<std::size_t> of_frameworks;  // entries
  };
  struct Known {
    const KernelFamily* family;
    std::size_t entry;           // of the family
    std::vector<Class> classes;  // by KernelFamily::class_of
  };
  std::vector<Known> known_;
  std::size_t all_ = 0;  // the entry of all kernels
};

}  // namespace orrery
