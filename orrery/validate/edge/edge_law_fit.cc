#include "orrery/validate/edge/edge_law_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr int kRounds = 10;
constexpr double kDrawnToExpected = 1;  // runs that the expected lines weigh as much as
constexpr double kDrawnConstant = 0.5;
// The part of the covariance that is drawn to one variance and one correlation of all kinds.
constexpr double kShrunk = 0.3;
constexpr double kLeastVariance = 1e-3;
constexpr std::size_t kLeastRows = 5;  // of a run

struct Taken {
  std::vector<EdgeFact> facts;
  std::vector<MeasuredNetwork> networks;
};

// The expected lines: the logarithm of the expected cost, falling with the rate.
Eigen::MatrixXd expected_lines(const std::vector<std::string>& facts, bool gpu) {
  Eigen::MatrixXd lines = Eigen::MatrixXd::Zero(Eigen::Index(facts.size()), kEdgeWorkKinds);
  const auto rate = std::find(facts.begin(), facts.end(), "rate") - facts.begin();
  for (std::size_t k = 0; k < kEdgeWorkKinds; ++k) {
    const EdgeWorkKind& kind = edge_work_kinds()[k];
    lines(0, Eigen::Index(k)) = std::log(gpu ? kind.expected_gpu : kind.expected_cpu);
    lines(rate, Eigen::Index(k)) = -kind.falls_with_rate;
  }
  return lines;
}

// `covariance` with a part of it drawn to one variance and one correlation of all kinds.
Eigen::MatrixXd shrunk(const Eigen::MatrixXd& covariance) {
  const double kinds = double(covariance.rows());
  const double variance = covariance.trace() / kinds;
  const double common = (covariance.sum() - covariance.trace()) / (kinds * (kinds - 1));
  Eigen::MatrixXd target = Eigen::MatrixXd::Constant(covariance.rows(), covariance.cols(), common);
  target.diagonal().setConstant(variance);
  Eigen::MatrixXd out = (1 - kShrunk) * covariance + kShrunk * target;
  out.diagonal().array() += kLeastVariance;
  return out;
}

// The deviation of a network from the sum beyond the covariance of the costs: every second network
// of a run is predicted by costs calibrated on the others. 68 % of them lie within one deviation.
double residual_of(const EdgeLaw& law, const std::vector<Taken>& taken) {
  std::vector<double> squares;
  for (const Taken& t : taken) {
    for (const std::size_t first : {0u, 1u}) {
      std::vector<MeasuredNetwork> half;
      for (std::size_t i = first; i < t.networks.size(); i += 2) half.push_back(t.networks[i]);
      const EdgeCosts found = calibrated(law.costs(t.facts), half);
      for (std::size_t i = 1 - first; i < t.networks.size(); i += 2) {
        const auto time = time_of(found, t.networks[i].work, 0, Origin::kFitted);
        const double off = std::log(t.networks[i].time / time.value);
        squares.push_back(off * off - time.shared * time.shared);
      }
    }
  }
  std::sort(squares.begin(), squares.end());
  return std::sqrt(std::max(kEdgeNoise * kEdgeNoise, quantile(squares, 0.68)));
}

}  // namespace

EdgeLaw fit_edge_law(const std::vector<EdgeRun>& runs,
                     const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen) {
  std::vector<Taken> taken;
  std::set<std::string> names;
  bool gpu = false;
  for (const EdgeRun& run : runs) {
    Taken t{run.facts, {}};
    for (const EdgeRow& row : run.rows) {
      if (seen(run, row)) t.networks.push_back({row.work, row.time});
    }
    if (t.networks.size() < kLeastRows) continue;
    gpu = run.law == "ncnn-gpu";
    for (const EdgeFact& f : run.facts) names.insert(f.name);
    taken.push_back(std::move(t));
  }
  EdgeLaw law;
  law.facts = {""};
  law.facts.insert(law.facts.end(), names.begin(), names.end());
  const Eigen::MatrixXd expected = expected_lines(law.facts, gpu);
  law.lines = expected;
  law.covariance = Eigen::MatrixXd::Ones(kEdgeWorkKinds, kEdgeWorkKinds);
  law.covariance.diagonal().array() += 0.5;
  const Eigen::Index facts = expected.rows(), count = Eigen::Index(taken.size());
  Eigen::MatrixXd at = Eigen::MatrixXd::Zero(count, facts);
  for (Eigen::Index i = 0; i < count; ++i) {
    at(i, 0) = 1;
    for (const EdgeFact& f : taken[std::size_t(i)].facts)
      at(i, std::find(law.facts.begin(), law.facts.end(), f.name) - law.facts.begin()) = f.value;
  }
  Eigen::MatrixXd drawn = Eigen::MatrixXd::Identity(facts, facts) * kDrawnToExpected;
  drawn(0, 0) = kDrawnConstant;
  for (int round = 0; round < kRounds; ++round) {
    Eigen::MatrixXd costs(count, Eigen::Index(kEdgeWorkKinds));
    Eigen::MatrixXd unsure = Eigen::MatrixXd::Zero(kEdgeWorkKinds, kEdgeWorkKinds);
    for (Eigen::Index i = 0; i < count; ++i) {
      const Taken& t = taken[std::size_t(i)];
      const EdgeCosts found = calibrated(law.costs(t.facts), t.networks);
      costs.row(i) = found.mean.transpose();
      unsure += found.covariance / double(count);
    }
    const Eigen::MatrixXd above = costs - at * expected;
    Eigen::VectorXd means = above.colwise().mean();
    std::vector<double> sorted(means.begin(), means.end());
    std::sort(sorted.begin(), sorted.end());
    const double factor = quantile(sorted, 0.5);
    law.lines = (at.transpose() * at + drawn)
                    .ldlt()
                    .solve(at.transpose() * (above.array() - factor).matrix());
    law.lines += expected;
    law.lines.row(0).array() += factor;
    const Eigen::MatrixXd around = costs - at * law.lines;
    law.covariance = shrunk(around.transpose() * around / double(count) + unsure);
  }
  law.residual = residual_of(law, taken);
  return law;
}

}  // namespace orrery
