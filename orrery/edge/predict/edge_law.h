// A law of latency: what the work of networks costs on a processor that is known by its facts.
//
// The logarithms of the costs (edge_costs.h) are jointly normal. Their mean is a line in the facts
// (EdgeFact) for each kind of work, and what processors of the same design, such as one core, cost
// beyond that. Their covariance is that of the processors that the law was fitted on around this
// mean, so that a processor whose depth-wise convolutions are known tells something of its others.
// It is wider where no processor of the design was measured, or few.
//
// Deviations of the bundled networks have zero mean, and the covariance that they had on the
// processors of the fit. Other networks deviate independently.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/predict/edge_costs.h"

namespace orrery {

// Processors of one design cost this beyond the line of their facts.
struct EdgeDesign {
  std::string name;  // "cortex-a76"
  int devices = 0;   // that were measured
  Eigen::VectorXd beyond;
};

struct EdgeLaw {
  std::string recipe;              // what was fitted
  std::vector<std::string> facts;  // names of the rows of `lines`; the first is "", a constant
  Eigen::MatrixXd lines;           // facts x kinds
  Eigen::MatrixXd covariance;      // kinds x kinds
  std::vector<EdgeDesign> designs;
  Eigen::MatrixXd design_covariance;  // kinds x kinds, of the designs around the lines
  std::vector<std::string> networks;  // with "_int8" behind the names of networks of bytes
  Eigen::MatrixXd deviations;         // covariance, networks x networks
  double residual = 0;                // standard deviation of the logarithm

  // The costs of a processor without measurements. A fact that the law does not know is ignored.
  EdgeCosts costs(const EdgeFacts& of) const;
  // The number of the network's deviation; kNoDeviation for one that the law does not know.
  int deviation_of(std::string_view network) const;
};

// catalog/edge/laws/NAME.yaml. InputError: no such law, or it is malformed.
EdgeLaw read_edge_law(const Bundle& bundle, const std::string& name);
std::string edge_law_text(const EdgeLaw& law);

}  // namespace orrery
