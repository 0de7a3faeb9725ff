#include "orrery/validate/edge/llm_law_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr int kSteps = 100, kHalvings = 10;
constexpr double kLongest = 0.7;
// Steps end where the loss falls by less.
constexpr double kConverged = 1e-3, kRoughlyConverged = 0.02;

// Effect `index` on term `term` with its factor.
struct Pull {
  Eigen::Index index = 0;
  std::size_t term = 0;
  double times = 1;
};

struct Fitted {
  const LlmRow* row = nullptr;
  std::vector<Pull> pulls;
  double weight = 1;
};

struct Rate {
  TokensPerSecond value;
  LlmCosts slopes{};  // of the logarithm, by the costs' logarithms, with the sign turned
};

Rate rate_of(const LlmCosts& costs, const LlmRow& row) {
  Rate rate;
  LlmCosts sums{};  // tokens a second
  for (const LlmTimes& times : row.cases) {
    const LlmTimes terms = llm_terms(costs, times);
    const Seconds whole = total(terms);
    const TokensPerSecond each = token_rate(1, whole);
    rate.value += each;
    for (std::size_t t = 0; t < kLlmTerms; ++t)
      sums[t] += costs[t] * (times[t] / whole) * each.value();
  }
  for (std::size_t t = 0; t < kLlmTerms; ++t) rate.slopes[t] = sums[t] / rate.value.value();
  rate.value /= double(row.cases.size());
  return rate;
}

// Minimizes half the squares of the effects, each over its deviation, and half of Huber's loss of
// the rows. A step takes the rates' logarithms as linear in the effects. There are more effects
// than rows, so that it solves for one number of each row: with D the squared deviations, S the
// slopes of the rows and W their weights over the squared noise, effects = means + D S' a where
// (S D S' + 1 / W) a is what the rows are off by at the means.
class Fitting {
 public:
  explicit Fitting(const LlmFitSettings& settings) : settings_(settings) {}

  void add(const LlmRow& row, LlmPhase phase) {
    Fitted f{&row, {}, 1};
    for (std::size_t t = 0; t < kLlmTerms; ++t) {
      for (const LlmEffect& e :
           llm_effects(phase, static_cast<LlmTerm>(t), row.setting, settings_.strengths)) {
        const auto [at, added] = names_.try_emplace(e.name, Eigen::Index(means_.size()));
        if (added) means_.push_back(e.mean), squares_.push_back(e.deviation * e.deviation);
        f.pulls.push_back({at->second, t, e.times});
      }
    }
    rows_.push_back(std::move(f));
    ++of_group_[row.group];
  }

  LlmEffects most_likely(const LlmEffects& start = {}, double converged = kConverged) {
    for (Fitted& f : rows_)
      f.weight = std::pow(double(of_group_.at(f.row->group)), -settings_.group_power);
    at_ = as_vector(means_);
    for (const auto& [name, index] : names_) {
      if (const auto found = start.find(name); found != start.end()) at_[index] = found->second;
    }
    double now = loss(at_);
    for (int step = 0; step < kSteps; ++step) {
      Eigen::VectorXd move = likeliest_if_linear() - at_;
      const double longest = move.size() > 0 ? move.cwiseAbs().maxCoeff() : 0;
      if (longest > kLongest) move *= kLongest / longest;
      double then = loss(at_ + move);
      for (int halving = 0; then > now && halving < kHalvings; ++halving)
        move *= 0.5, then = loss(at_ + move);
      if (then > now) break;
      at_ += move;
      if (now - then < converged) break;
      now = then;
    }
    LlmEffects effects;
    for (const auto& [name, index] : names_) effects[name] = at_[index];
    return effects;
  }

  // The error of each row without the pull of its block. REQUIRES: most_likely(). With Q the
  // inverse of S D S' + 1 / W, it is the solution of Q_bb x = (Q off)_b for a block b.
  std::vector<double> off_without(const std::function<unsigned(const LlmRow&)>& block) const {
    const auto n = Eigen::Index(rows_.size());
    const Linear l = linear();
    // The inverse of the lower half of Cholesky's factors, and Q as its square.
    const Eigen::LLT<Eigen::MatrixXd> factors = l.between.selfadjointView<Eigen::Lower>().llt();
    const Eigen::MatrixXd root = factors.matrixL().solve(Eigen::MatrixXd::Identity(n, n));
    const Eigen::VectorXd numbers = factors.solve(l.off);
    std::map<unsigned, std::vector<Eigen::Index>> blocks;
    for (Eigen::Index i = 0; i < n; ++i) blocks[block(*rows_[std::size_t(i)].row)].push_back(i);
    std::vector<double> off(rows_.size());
    for (const auto& [number, own] : blocks) {
      const Eigen::MatrixXd columns = root(Eigen::all, own);
      const Eigen::MatrixXd of_block = columns.transpose() * columns;
      const Eigen::VectorXd of_rows = of_block.llt().solve(numbers(own).eval());
      for (std::size_t i = 0; i < own.size(); ++i)
        off[std::size_t(own[i])] = of_rows[Eigen::Index(i)];
    }
    return off;
  }

 private:
  static Eigen::Map<const Eigen::VectorXd> as_vector(const std::vector<double>& values) {
    return {values.data(), Eigen::Index(values.size())};
  }

  static LlmCosts costs(const Fitted& f, const Eigen::VectorXd& effects) {
    LlmCosts costs{};
    std::array<bool, kLlmTerms> there{};
    for (const Pull& p : f.pulls) costs[p.term] += p.times * effects[p.index], there[p.term] = true;
    for (std::size_t t = 0; t < kLlmTerms; ++t) costs[t] = there[t] ? std::exp(costs[t]) : 0;
    return costs;
  }

  double loss(const Eigen::VectorXd& effects) const {
    const auto squares = as_vector(squares_).array();
    double sum = ((effects - as_vector(means_)).array().square() / squares).sum() / 2;
    for (const Fitted& f : rows_) {
      const double off = std::log(rate_of(costs(f, effects), *f.row).value / f.row->measured);
      sum += f.weight * huber(off / settings_.noise, settings_.huber) / 2;
    }
    return sum;
  }

  // The linear problem around the effects `at_`.
  struct Linear {
    Eigen::MatrixXd between;  // S D S' + 1 / W, the lower half
    Eigen::VectorXd off;      // at the means
    std::vector<std::vector<std::pair<Eigen::Index, double>>> slopes;
  };

  Linear linear() const {
    const auto n = Eigen::Index(rows_.size());
    Linear l{Eigen::MatrixXd(n, n), Eigen::VectorXd(n), {}};
    l.slopes.resize(rows_.size());
    Eigen::VectorXd spread = Eigen::VectorXd::Zero(at_.size());
    for (Eigen::Index i = 0; i < n; ++i) {
      const Fitted& f = rows_[std::size_t(i)];
      const Rate rate = rate_of(costs(f, at_), *f.row);
      const double here = std::log(rate.value / f.row->measured);
      l.off[i] = here;
      auto& own = l.slopes[std::size_t(i)];
      for (const Pull& p : f.pulls) {
        const double slope = p.times * rate.slopes[p.term];
        own.emplace_back(p.index, slope);
        l.off[i] += slope * (at_[p.index] - means_[std::size_t(p.index)]);
        spread[p.index] += squares_[std::size_t(p.index)] * slope;
      }
      for (Eigen::Index j = 0; j <= i; ++j) {
        double sum = 0;
        for (const auto& [index, slope] : l.slopes[std::size_t(j)]) sum += slope * spread[index];
        l.between(i, j) = sum;
      }
      for (const auto& [index, slope] : own) spread[index] = 0;
      l.between(i, i) += settings_.noise * settings_.noise /
                         (f.weight * huber_weight(here / settings_.noise, settings_.huber));
    }
    return l;
  }

  Eigen::VectorXd likeliest_if_linear() const {
    const Linear l = linear();
    const Eigen::VectorXd numbers = l.between.selfadjointView<Eigen::Lower>().llt().solve(l.off);
    Eigen::VectorXd effects = as_vector(means_);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      for (const auto& [index, slope] : l.slopes[i])
        effects[index] += squares_[std::size_t(index)] * slope * numbers[Eigen::Index(i)];
    }
    return effects;
  }

  LlmFitSettings settings_;
  std::vector<Fitted> rows_;
  std::map<std::string, Eigen::Index> names_;
  std::map<std::string, int> of_group_;  // rows
  std::vector<double> means_, squares_;
  Eigen::VectorXd at_;
};

Fitting fitting_of(const std::vector<LlmRow>& rows, LlmPhase phase,
                   const std::function<bool(const LlmRow&)>& seen, const LlmFitSettings& settings) {
  Fitting fitting(settings);
  for (const LlmRow& row : rows) {
    if (row.prefill == (phase == LlmPhase::kPrefill) && row.fit.fits() && seen(row))
      fitting.add(row, phase);
  }
  return fitting;
}

}  // namespace

TokensPerSecond llm_rate(const LlmLaw& law, const LlmRow& row) {
  return rate_of(law.costs(row.setting), row).value;
}

LlmLaw fit_llm_law(const std::vector<LlmRow>& rows, LlmPhase phase,
                   const std::function<bool(const LlmRow&)>& seen, const LlmFitSettings& settings) {
  Fitting fitting = fitting_of(rows, phase, seen, settings);
  return {.phase = phase, .effects = fitting.most_likely(), .strengths = settings.strengths};
}

LlmLeftOut fit_llm_blocks(const std::vector<LlmRow>& rows, LlmPhase phase,
                          const std::function<bool(const LlmRow&)>& seen,
                          const LlmFitSettings& settings,
                          const std::function<unsigned(const LlmRow&)>& block,
                          const LlmEffects& start) {
  Fitting fitting = fitting_of(rows, phase, seen, settings);
  LlmLaw law{.phase = phase,
             .effects = fitting.most_likely(start, kRoughlyConverged),
             .strengths = settings.strengths};
  return {std::move(law), fitting.off_without(block)};
}

double llm_deviation(std::vector<double> logarithms) {
  constexpr double kLeast = 0.03, kOneDeviation = 0.6827;
  if (logarithms.empty()) return kLeast;
  for (double& x : logarithms) x = std::abs(x);
  std::sort(logarithms.begin(), logarithms.end());
  return std::max(kLeast, quantile(logarithms, kOneDeviation));
}

}  // namespace orrery
