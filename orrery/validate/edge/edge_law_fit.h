// Fits a law of latency (edge/predict/edge_law.h) on runs: empirical Bayes. Each round finds the
// most likely costs of every run under the law of the round before, then the lines through these
// costs and their covariance around the lines, and the covariance of the networks' deviations.
//
// The lines are drawn to what a unit of work is expected to cost (EdgeWorkKind), so that a kind of
// work of which the runs say nothing has a sane cost; a factor on all kinds is free.
#pragma once

#include <functional>
#include <vector>

#include "orrery/validate/edge/ncnn_rows.h"

namespace orrery {

// `seen` says which rows the fit may use. REQUIRES: runs of one law.
EdgeLaw fit_edge_law(const std::vector<EdgeRun>& runs,
                     const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen);

}  // namespace orrery
