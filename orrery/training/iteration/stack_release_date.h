// The release of a training stack as a date. The kernels of a stack, and what it overlaps, change
// from release to release, often by more than the layout of a job: Megatron Bridge trains one
// mixture of experts in one layout in 24.9 s with release 25.11 and in 12.5 s with 25.09
// (docs/data.md, source megatron-bridge).
//
// A version is a date or names one:
//
//   2025, 2025-06, 2025-06-09   a date
//   25.09, 26.04.01             an NVIDIA container (NeMo, PyTorch): year and month
//   0.12, 0.12.1                Megatron Core: its month in catalog/training/releases.yaml
#pragma once

#include <string_view>

namespace orrery {

// The date in years: 2025.5 is the beginning of July 2025. A month counts from its middle, a year
// without a month from its middle. Throws InputError if the version is none of the above.
double stack_release_date(std::string_view version);

// The releases of a stack that a fit has seen. The constants of the stack are those of the release
// `usual`. Each year away from it multiplies them by a fitted factor. Dates before `first` count as
// `first`, dates after `last` as `last`: the factor is not extrapolated.
struct ReleaseSpan {
  double first = 0, last = 0, usual = 0;
  // Years from the usual release to `release`.
  double years(double release) const;
};

}  // namespace orrery
