// The time of a collective as a curve or the library's tuner gives it, with what is known of its
// error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/network/algorithms/cost.h"
#include "orrery/network/collectives/network_model.h"

namespace orrery {

struct JudgedTime {
  CurveTime time;
  std::optional<CollectiveAlgorithm> algorithm;  // empty: the library's own choice
  double error = 0;                              // relative, of a single size
  Origin origin = Origin::kAnalytical;
  // If given, this and `error` are the whole uncertainty, whatever the origin.
  std::optional<double> shared{};
  int most_ranks = 0;  // of the largest measured group of such sizes; 0: not known
  // The versions of the rows, if another one was asked for; else nullptr.
  const std::vector<std::string>* other_versions = nullptr;

  // The origin is `at_least` or a weaker one.
  void weaken(Origin at_least);
};

// Relative errors in addition to that of a curve, standard deviations of the logarithm. Machines
// with one GPU and fabric differ (cables, clocks, library versions): 64 rows of 128 MiB and more
// from four sources other than the tables of kernels (A100, H200, B200, GB200, GB300) miss by a
// root mean square of 0.069, where a curve's own sizes miss by 0.04.
inline constexpr double kMachineShared = 0.055;
// The machine's own part where the error comes from groups that were left out: H100 and H200, or
// B200 and B300, on one fabric differ by about 3 %.
inline constexpr double kMeasuredShared = 0.03;
// The own error of a collective by the data sheet alone.
inline constexpr double kAnalyticalOwn = 0.40;
// The error that all collectives of a machine share, by where their constants come from, where that
// is the whole of it: kMeasuredShared, the spread of latencies and efficiencies between the
// measured fabrics, or that of the data sheet.
double shared_error(Origin origin);

// The time as an Estimate with heavy tails.
Estimate<Seconds> estimate_of(const JudgedTime& judged);

}  // namespace orrery
