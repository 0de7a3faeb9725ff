// The time of kernels at a clock below the one at which they were measured or predicted.
//
//   t(n) = max(t * (1 - s + s * n^3)^(1/3), n * C)
//
// n >= 1 is the slowdown of the clock of the multiprocessors and the L2 cache: the clock that the
// time t stands for over the lower one. The memory and the links have clocks of their own. s, from
// 0 to 1, is the share of the time that a lower clock lengthens at first (dt/t = s dn/n where n is
// 1).
// The exponent says that work of the multiprocessors hides behind that of the memory until it takes
// as long: a kernel that waits for the memory is slowed little by a slightly lower clock and as
// 1/clock by a very low one. t(n) lies between t and n * t, and grows with n.
//
//   s = x + (1 - x) * latency * (1 - u)      x = C^2 / (C^2 + M^2), u = min(1, hypot(C, M) / t)
//
// C is the time of the FLOPs at the peak rate and M that of the bytes at the bandwidth of the data
// sheet. x is the weight by which the step model blends its factors of compute-bound and
// memory-bound kernels. A memory-bound kernel does not depend on the clock as far as it fills the
// bandwidth. What it leaves unused are latencies, a part of which (kLatencyShare) is in clocks of
// the multiprocessors.
//
// Both constants are read off one published sweep of board limits, with tokens/s and the mean clock
// of each: vLLM on an RTX PRO 6000, one and 32 sequences (github.com/Light-Heart-Labs/
// MMBT-Messy-Model-Bench-Tests, hardware-tests/vllm-power-sweep-2026-04-29/findings.md). A single
// sequence of the dense model fills 0.7 of the bandwidth and is slowed by 1.1 %, 5.1 % and 15 % at
// slowdowns of 1.12, 1.34 and 1.77; s = 0.1 gives 1.3 %, 4.5 % and 13.4 %. That of the model of
// experts fills 0.2 of it and is slowed by 0.9 %, 2.7 % and 10 % at 1.03, 1.09 and 1.26; s = 0.29
// gives 0.8 %, 2.6 % and 8.9 %. They are read off one GPU, so that a time at a lower clock is a
// transferred figure with a wider interval: kClockError of what is added to it.
#pragma once

#include <string>

#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

inline constexpr double kLatencyShare = 0.35;
// Standard deviation of the added time, relative to it. An assumption: the sweep's own runs differ
// by 3 % of the whole time where a tenth is added.
inline constexpr double kClockError = 0.3;

// The share s of a kernel that takes `time`, or of several together. 0 for no time.
double clock_share(Seconds compute, Seconds memory, Seconds time);
// t(n) / t, from 1 to `slowdown`. REQUIRES slowdown >= 1.
double clock_factor(Seconds compute, Seconds memory, Seconds time, double slowdown);
// `time` at the clock at which it is `factor` times as long, with the error of the added time.
Estimate<Seconds> clocked(const Estimate<Seconds>& time, double factor);

// Kernels at a lower clock. Borrows `kernels`.
class ClockedKernels : public KernelModel {
 public:
  // REQUIRES slowdown >= 1. 1: the times of `kernels`.
  ClockedKernels(const KernelModel& kernels, double slowdown)
      : kernels_(kernels), slowdown_(slowdown) {}

  KernelTime predict(const Op& op) const override { return at_clock(kernels_.predict(op)); }
  KernelTime predict_repeated(const Op& op) const override {
    return at_clock(kernels_.predict_repeated(op));
  }
  std::string provenance(const Op& op) const override { return kernels_.provenance(op); }

 private:
  KernelTime at_clock(KernelTime t) const;

  const KernelModel& kernels_;
  const double slowdown_;
};

}  // namespace orrery
