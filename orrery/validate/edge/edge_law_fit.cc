#include "orrery/validate/edge/edge_law_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/base/random.h"

namespace orrery {
namespace {

constexpr int kRounds = 20;
// Processors that a line, or what is beyond it of a design, that is expected weighs as much as.
constexpr double kDrawnToExpected = 1, kDrawnConstant = 0.5;
// The parts of covariances that are drawn to one variance and one correlation of all.
constexpr double kShrunk = 0.1, kShrunkDesigns = 0.3;
// Runs that uncorrelated deviations of one variance weigh as much as.
constexpr double kRunsOfDeviations = 3;
constexpr double kLeastVariance = 1e-3;
constexpr double kFirstDeviation = 0.01;  // variance of a network's before the first round
constexpr double kLeastResidual = 0.05;
constexpr std::size_t kLeastRows = 5;  // of a run
constexpr auto kKinds = static_cast<Eigen::Index>(kEdgeWorkKinds);

struct Taken {
  EdgeFacts facts;
  std::vector<MeasuredNetwork> networks;
  // Runs of one device say little more than one of them: they weigh as its square root.
  double weight = 1;
};

// The expected lines: the logarithm of the expected cost, falling with the rate.
Eigen::MatrixXd expected_lines(const std::vector<std::string>& facts, bool gpu) {
  Eigen::MatrixXd lines = Eigen::MatrixXd::Zero(Eigen::Index(facts.size()), kKinds);
  const auto rate = std::find(facts.begin(), facts.end(), "rate") - facts.begin();
  for (std::size_t k = 0; k < kEdgeWorkKinds; ++k) {
    const EdgeWorkKind& kind = edge_work_kinds()[k];
    lines(0, Eigen::Index(k)) = std::log(gpu ? kind.expected_gpu : kind.expected_cpu);
    lines(rate, Eigen::Index(k)) = -kind.falls_with_rate;
  }
  return lines;
}

// `covariance` with a part of it drawn to one variance and one correlation of all.
Eigen::MatrixXd shrunk(const Eigen::MatrixXd& covariance, double part) {
  const double size = double(covariance.rows());
  const double variance = covariance.trace() / size;
  const double common = (covariance.sum() - covariance.trace()) / (size * (size - 1));
  Eigen::MatrixXd target = Eigen::MatrixXd::Constant(covariance.rows(), covariance.cols(), common);
  target.diagonal().setConstant(variance);
  return (1 - part) * covariance + part * target;
}

// Appends, for every second network of a run, the variance beyond that of the costs by which its
// time would be at the limit of a 90 % interval: the costs are calibrated on the other networks.
void add_variances(const EdgeLaw& law, const EdgeRun& run,
                   const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen,
                   std::vector<double>& variances) {
  const double sure = heavy_quantile(0.95);
  std::vector<MeasuredNetwork> networks;
  for (const EdgeRow& row : run.rows)
    if (seen(run, row)) networks.push_back({{row.work, law.deviation_of(row.network)}, row.time});
  if (networks.size() < kLeastRows) return;
  for (const std::size_t first : {0u, 1u}) {
    std::vector<MeasuredNetwork> half;
    for (std::size_t i = first; i < networks.size(); i += 2) half.push_back(networks[i]);
    const EdgeCosts found = calibrated(law.costs(run.facts), half);
    for (std::size_t i = 1 - first; i < networks.size(); i += 2) {
      const auto time = time_of(found, networks[i].task, 0, Origin::kFitted);
      const double off = std::log(networks[i].time / time.value) / sure;
      variances.push_back(off * off - time.shared * time.shared);
    }
  }
}

// The runs that the fit uses, and in `law` the names of their facts, designs and networks.
std::vector<Taken> taken_of(const std::vector<EdgeRun>& runs,
                            const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen,
                            EdgeLaw& law) {
  std::vector<Taken> taken;
  std::vector<std::string> devices;
  std::map<std::string, int> of_device;
  std::set<std::string> facts, networks;
  std::map<std::string, std::set<std::string>> designs;  // their devices
  for (const EdgeRun& run : runs) {
    for (const EdgeRow& row : run.rows)
      if (!row.network.empty() && seen(run, row)) networks.insert(row.network);
  }
  law.networks.assign(networks.begin(), networks.end());
  for (const EdgeRun& run : runs) {
    Taken t{run.facts, {}};
    for (const EdgeRow& row : run.rows) {
      if (seen(run, row))
        t.networks.push_back({{row.work, law.deviation_of(row.network)}, row.time});
    }
    if (t.networks.size() < kLeastRows) continue;
    for (const EdgeFact& f : run.facts.numbers) facts.insert(f.name);
    if (!run.facts.design.empty()) designs[run.facts.design].insert(run.device);
    ++of_device[run.device];
    devices.push_back(run.device);
    taken.push_back(std::move(t));
  }
  for (std::size_t i = 0; i < taken.size(); ++i)
    taken[i].weight = 1 / std::sqrt(of_device.at(devices[i]));
  law.facts = {""};
  law.facts.insert(law.facts.end(), facts.begin(), facts.end());
  for (const auto& [name, of] : designs)
    law.designs.push_back({name, static_cast<int>(of.size()), Eigen::VectorXd::Zero(kKinds)});
  return taken;
}

// One round: the most likely costs under the law, then the law of these costs.
class Rounds {
 public:
  Rounds(EdgeLaw& law, const std::vector<Taken>& taken, bool gpu)
      : law_(law), taken_(taken), expected_(expected_lines(law.facts, gpu)) {
    const auto facts = Eigen::Index(law.facts.size()), designs = Eigen::Index(law.designs.size());
    at_ = Eigen::MatrixXd::Zero(Eigen::Index(taken.size()), facts + designs);
    for (Eigen::Index i = 0; i < at_.rows(); ++i) {
      at_(i, 0) = 1;
      const EdgeFacts& of = taken[std::size_t(i)].facts;
      for (const EdgeFact& f : of.numbers)
        at_(i, std::find(law.facts.begin(), law.facts.end(), f.name) - law.facts.begin()) = f.value;
      for (Eigen::Index d = 0; d < designs; ++d)
        if (law.designs[std::size_t(d)].name == of.design) at_(i, facts + d) = 1;
    }
    law.lines = expected_;
    law.covariance = Eigen::MatrixXd::Ones(kKinds, kKinds);
    law.covariance.diagonal().array() += 0.5;
    const auto networks = Eigen::Index(law.networks.size());
    law.deviations = Eigen::MatrixXd::Identity(networks, networks) * kFirstDeviation;
    if (designs > 0) law.design_covariance = Eigen::MatrixXd::Zero(kKinds, kKinds);
  }

  void round() {
    const Eigen::Index count = at_.rows(), own = law_.deviations.rows();
    Eigen::MatrixXd costs(count, kKinds), unsure = Eigen::MatrixXd::Zero(kKinds, kKinds),
                                          deviations = Eigen::MatrixXd::Zero(own, own);
    Eigen::VectorXd weights(count);
    // The covariance of designs is for those that the fit has not seen.
    EdgeLaw known = law_;
    if (!known.designs.empty()) known.design_covariance.setZero();
    for (Eigen::Index i = 0; i < count; ++i) {
      const Taken& t = taken_[std::size_t(i)];
      const EdgeCosts found = calibrated(known.costs(t.facts), t.networks);
      weights[i] = t.weight;
      costs.row(i) = found.mean.head(kKinds).transpose();
      unsure += t.weight * found.covariance.topLeftCorner(kKinds, kKinds);
      const auto off = found.mean.tail(own);
      deviations +=
          t.weight * (off * off.transpose() + found.covariance.bottomRightCorner(own, own));
    }
    solve_lines(costs, weights);
    const Eigen::MatrixXd around = costs - at_ * all_lines();
    law_.covariance = shrunk(
        (around.transpose() * weights.asDiagonal() * around + unsure) / weights.sum(), kShrunk);
    law_.covariance.diagonal().array() += kLeastVariance;
    if (own == 0) return;
    const double part = kRunsOfDeviations / (kRunsOfDeviations + weights.sum());
    deviations /= weights.sum();
    law_.deviations = (1 - part) * deviations;
    law_.deviations.diagonal().array() += part * deviations.trace() / double(own);
  }

 private:
  // The lines of facts, and below them what is beyond them of designs.
  Eigen::MatrixXd all_lines() const {
    Eigen::MatrixXd all(at_.cols(), kKinds);
    all.topRows(law_.lines.rows()) = law_.lines;
    for (std::size_t d = 0; d < law_.designs.size(); ++d)
      all.row(law_.lines.rows() + Eigen::Index(d)) = law_.designs[d].beyond.transpose();
    return all;
  }

  void solve_lines(const Eigen::MatrixXd& costs, const Eigen::VectorXd& weights) {
    const Eigen::Index facts = law_.lines.rows();
    const Eigen::MatrixXd above = costs - at_.leftCols(facts) * expected_;
    const Eigen::VectorXd means = above.colwise().mean();
    std::vector<double> sorted(means.begin(), means.end());
    std::sort(sorted.begin(), sorted.end());
    const double factor = quantile(sorted, 0.5);
    Eigen::VectorXd drawn = Eigen::VectorXd::Constant(at_.cols(), kDrawnToExpected);
    drawn[0] = kDrawnConstant;
    const Eigen::MatrixXd weighted = weights.asDiagonal() * at_;
    Eigen::MatrixXd normal = at_.transpose() * weighted;
    normal.diagonal() += drawn;
    const Eigen::MatrixXd found =
        normal.ldlt().solve(weighted.transpose() * (above.array() - factor).matrix());
    law_.lines = expected_ + found.topRows(facts);
    law_.lines.row(0).array() += factor;
    if (law_.designs.empty()) return;
    const Eigen::MatrixXd beyond = found.bottomRows(at_.cols() - facts);
    for (std::size_t d = 0; d < law_.designs.size(); ++d)
      law_.designs[d].beyond = beyond.row(Eigen::Index(d)).transpose();
    law_.design_covariance =
        shrunk(beyond.transpose() * beyond / double(law_.designs.size()), kShrunkDesigns);
  }

  EdgeLaw& law_;
  const std::vector<Taken>& taken_;
  Eigen::MatrixXd expected_, at_;
};

EdgeLaw fit_without_residual(const std::vector<EdgeRun>& runs,
                             const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen,
                             int count) {
  EdgeLaw law;
  const std::vector<Taken> taken = taken_of(runs, seen, law);
  if (taken.empty()) return law;
  Rounds rounds(law, taken, !runs.empty() && runs.front().gpu);
  for (int i = 0; i < count; ++i) rounds.round();
  return law;
}

// The deviation of networks beyond the covariance of the costs, so that 90 % of them lie in their
// intervals: each half of the devices is predicted by a law fitted on the other half.
double residual_of(const std::vector<EdgeRun>& runs,
                   const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen) {
  constexpr unsigned kHalves = 2;
  constexpr int kRoundsOfHalves = 10;
  constexpr double kSure = 0.9;
  const auto half_of = [](const EdgeRun& r) { return hash_text("half " + r.device) % kHalves; };
  std::vector<double> variances;
  for (unsigned half = 0; half < kHalves; ++half) {
    const EdgeLaw law = fit_without_residual(
        runs,
        [&](const EdgeRun& run, const EdgeRow& row) {
          return half_of(run) != half && seen(run, row);
        },
        kRoundsOfHalves);
    if (law.lines.size() == 0) continue;  // the other half has no runs
    for (const EdgeRun& run : runs)
      if (half_of(run) == half) add_variances(law, run, seen, variances);
  }
  std::sort(variances.begin(), variances.end());
  const double least = kLeastResidual * kLeastResidual;
  return std::sqrt(variances.empty() ? least : std::max(least, quantile(variances, kSure)));
}

}  // namespace

EdgeLaw fit_edge_law(const std::vector<EdgeRun>& runs,
                     const std::function<bool(const EdgeRun&, const EdgeRow&)>& seen) {
  EdgeLaw law = fit_without_residual(runs, seen, kRounds);
  law.residual = residual_of(runs, seen);
  return law;
}

}  // namespace orrery
