// The latency of a network on a processor: a sum over kinds of work (edge_work.h).
//
//   time = sum over kinds of cost * amount
//
// The logarithms of the costs of a processor are jointly normal. Their mean follows from its facts
// (EdgeFact), a line for each kind; their covariance is that of the processors that the law was
// fitted on around these lines, so that a processor whose depth-wise convolutions are known tells
// something of its others. Measured networks of the processor move the costs (calibrated): the most
// likely costs, found by Gauss and Newton's method, with the curvature there as their covariance.
// An outlier pulls as Huber's loss lets it.
//
// Costs are positive, so that the time grows with each amount and with the sum of all. An interval
// holds the covariance of the costs, by the shares of their terms, and `residual`, what a network
// differs by from the sum.
#pragma once

#include <Eigen/Dense>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/predict/edge_work.h"

namespace orrery {

// Logarithms of the microseconds that a unit of each kind takes: a normal distribution.
struct EdgeCosts {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

// A network that was measured on the processor.
struct MeasuredNetwork {
  EdgeWork work{};
  Seconds time;
};

struct EdgeLaw {
  std::string recipe;              // what was fitted
  std::vector<std::string> facts;  // names of the rows of `lines`; the first is "", a constant
  Eigen::MatrixXd lines;           // facts x kinds
  Eigen::MatrixXd covariance;      // kinds x kinds
  double residual = 0;             // standard deviation of the logarithm

  // The costs of a processor without measurements. A fact that the law does not know is ignored.
  EdgeCosts costs(std::span<const EdgeFact> facts) const;
};

// The standard deviation of the logarithm by which a measured network is taken to differ from the
// sum while costs are found. It was chosen with all devices in sight.
inline constexpr double kEdgeNoise = 0.08;

// The costs after the measurements.
EdgeCosts calibrated(const EdgeCosts& before, std::span<const MeasuredNetwork> measured);

// The time of some work. Its own error is `residual`, the shared one that of the costs.
Estimate<Seconds> time_of(const EdgeCosts& costs, const EdgeWork& work, double residual,
                          Origin origin);

// catalog/edge/laws/NAME.yaml. InputError: no such law, or it is malformed.
EdgeLaw read_edge_law(const Bundle& bundle, const std::string& name);
std::string edge_law_text(const EdgeLaw& law);

}  // namespace orrery
