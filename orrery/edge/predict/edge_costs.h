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

// The standard deviation of the logarithm by which a measured time is taken to differ from all this
// while costs are found. It was chosen with all devices in sight.
inline constexpr double kEdgeNoise = 0.05;

// The costs after the measurements, whose noise has this standard deviation. REQUIRES: above 0.
EdgeCosts calibrated(const EdgeCosts& before, std::span<const MeasuredNetwork> measured,
                     double noise = kEdgeNoise);

// The noise of measurements, from what they differ by from costs that are calibrated on them: the
// most likely one, by MacKay's evidence. It is held between 1 and 15 %.
double noise_of(const EdgeCosts& before, std::span<const MeasuredNetwork> measured);

// The time of a task. Its own error is `residual` and the deviation of an unknown network, the
// shared one that of the costs.
Estimate<Seconds> time_of(const EdgeCosts& costs, const EdgeTask& task, double residual,
                          Origin origin);

// The median time of some work, without what its network differs by and without an interval.
Seconds median_time(const EdgeCosts& costs, const EdgeWork& work);

}  // namespace orrery
