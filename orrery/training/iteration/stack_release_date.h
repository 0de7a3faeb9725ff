// Releases of training stacks by their date: a stack's kernels and overlap change from release to
// release, and more than its layout says (Megatron Bridge trains one mixture of experts at one
// layout in 24.9 s with 25.11 and in 12.5 s with 25.09, megatron-bridge in data/training).
//
// A version is a date or names one:
//   2025, 2025-06, 2025-06-09   a date
//   25.09, 26.04.01             a container of NVIDIA's (NeMo, PyTorch): year and month
//   0.12, 0.12.1                Megatron Core: when it was tagged
#pragma once

#include <string_view>

namespace orrery {

// In years: 2025.5 is the beginning of July 2025. InputError for what is none of the above.
double stack_release_date(std::string_view version);

// The releases that a fit saw of a stack. Its constants are those of `usual`; each year away from
// it multiplies them by a fitted factor, between `first` and `last`.
struct ReleaseSpan {
  double first = 0, last = 0, usual = 0;
  // Years of a release from the usual one; one outside counts as the nearest that was seen.
  double years(double release) const;
};

}  // namespace orrery
