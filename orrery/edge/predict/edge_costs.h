// The costs of the work of networks on one processor, as far as they are known.
//
// The latency is a sum over kinds of work (edge_work.h), times what the network itself differs by:
//
//   time = exp(deviation of the network) * sum over kinds of cost * amount
//
// The logarithms of the costs and the deviations are jointly normal. Measured networks move them
// (calibrated): the most likely values, found by Gauss and Newton's method, with the curvature
// there as their covariance. An outlier pulls as Huber's loss lets it. Deviations of two networks
// go together where they did on other processors: two networks of one family, say.
#pragma once

#include <Eigen/Dense>
#include <span>

#include "orrery/base/estimate.h"
#include "orrery/edge/predict/edge_work.h"

namespace orrery {

// A normal distribution of the logarithms of the microseconds that a unit of each kind takes, and,
// behind them, of the deviations of the networks that are known to the law.
struct EdgeCosts {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
  double unknown = 0;  // variance of the deviation of any other network
};

inline constexpr int kNoDeviation = -1;

// Some work, and which of the deviations is that of its network.
struct EdgeTask {
  EdgeWork work{};
  int deviation = kNoDeviation;
};

// A network that was measured on the processor.
struct MeasuredNetwork {
  EdgeTask task;
  Seconds time;
};

// The loss of a measured time while costs are found. A difference of logarithms pulls by its square
// up to a limit, and beyond it by its absolute value (Huber's loss), so that costs are rather
// medians of networks than means. The values were chosen by inner folds of devices
// (docs/lab/2026-11-edge.md).
struct EdgeLoss {
  double noise = 0.03;  // standard deviation of the logarithm, above 0
  double limit = 0.3;   // in units of the noise
};

// The costs after the measurements.
EdgeCosts calibrated(const EdgeCosts& before, std::span<const MeasuredNetwork> measured,
                     const EdgeLoss& loss = {});

// The noise of measurements, from what they differ by from costs that are calibrated on them: the
// most likely one, by MacKay's evidence, which takes it as normal with outliers beyond two
// deviations. It is held between 1 and 15 %.
double noise_of(const EdgeCosts& before, std::span<const MeasuredNetwork> measured);

// The time of a task, whose error has heavy tails. Its own error is `residual` and the deviation of
// an unknown network, the shared one that of the costs.
Estimate<Seconds> time_of(const EdgeCosts& costs, const EdgeTask& task, double residual,
                          Origin origin);

// The median time of some work, without what its network differs by and without an interval.
Seconds median_time(const EdgeCosts& costs, const EdgeWork& work);

}  // namespace orrery
