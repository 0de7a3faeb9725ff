#include "orrery/validate/energy/step_power_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fit.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kTypicalError = 0.1;  // of a row, in the logarithm; the unit of the loss
constexpr double kHuberLimit = 1;      // in units of kTypicalError
constexpr int kNewtonRounds = 40;

// A constant in the fit: where it starts, how far its prior lets it go, and its bounds.
struct Unknown {
  double prior, deviation, least, most;
};

// The constants of the units. Their priors are wide; that of the memory starts at what memory-bound
// batches of one sequence draw.
constexpr Unknown kOfKernels{0.15, 0.1, 0, 1}, kOfCompute{1.4, 0.5, 0, 4},
    kOfMemory{0.45, 0.1, 0.25, 2}, kOfLinks{0.15, 0.1, 0, 1}, kComputeExponent{0.6, 0.1, 0.4, 1},
    kMemoryExponent{0.9, 0.1, 0.4, 1},
    // Boards are idle at 0.1 to 0.15 of their limit (70 of 700 W, 55 of 400 W). An H100 that
    // holds a program and runs nothing is awake at 0.17, and at 0.19 between short kernels
    // (catalog/measured).
    kAwake{0.18, 0.03, 0.11, 0.45}, kLogGain{0, 0.2, -1.5, 1.5}, kLonger{0.5, 0.4, 0, 1};

using Column = Eigen::VectorXd;

// All constants in one row of numbers.
class Layout {
 public:
  explicit Layout(const std::vector<const LlmPowerRow*>& rows) {
    for (const LlmPowerRow* r : rows) boards_.insert(r->gpu.id), engines_.insert(r->engine);
    unknowns_ = {kOfKernels, kOfCompute, kOfMemory, kOfLinks, kComputeExponent, kMemoryExponent};
    for (std::size_t i = 0; i < boards_.size(); ++i)
      unknowns_.insert(unknowns_.end(), {kAwake, kLogGain});
    for (std::size_t i = 0; i < engines_.size(); ++i)
      unknowns_.insert(unknowns_.end(), {kLogGain, kLonger});
  }

  const std::vector<Unknown>& unknowns() const { return unknowns_; }

  StepPowerFit fit_at(const Column& x, double regulated, const InProcessFit& in_process) const {
    StepPowerFit f;
    f.in_process = in_process;
    StepPowerConstants& c = f.constants;
    Eigen::Index i = 0;
    c.regulated = regulated;
    for (double* constant :
         {&c.kernels, &c.compute, &c.memory, &c.links, &c.compute_exponent, &c.memory_exponent})
      *constant = x(i++);
    for (const std::string& id : boards_) {
      c.boards[id] = {x(i), std::exp(x(i + 1))};
      i += 2;
    }
    for (const std::string& id : engines_) {
      c.engines[id] = std::exp(x(i));
      f.longer[id] = x(i + 1);
      i += 2;
    }
    return f;
  }

 private:
  std::set<std::string> boards_, engines_;
  std::vector<Unknown> unknowns_;
};

// Errors of all rows in units of kTypicalError, and those of the priors in their deviations.
Column errors_at(const Column& x, const Layout& layout, const std::vector<const LlmPowerRow*>& rows,
                 double regulated, const InProcessFit& in_process) {
  const StepPowerFit fit = layout.fit_at(x, regulated, in_process);
  Column e(static_cast<Eigen::Index>(rows.size()) + x.size());
  Eigen::Index i = 0;
  for (const LlmPowerRow* r : rows)
    e(i++) = std::log(power_in_measured_time(*r, fit) / r->power) / kTypicalError;
  for (Eigen::Index k = 0; k < x.size(); ++k) {
    const Unknown& u = layout.unknowns()[index(k)];
    e(i++) = (x(k) - u.prior) / u.deviation;
  }
  return e;
}

double loss_of(const Column& errors, std::size_t rows) {
  double sum = 0;
  for (Eigen::Index i = 0; i < errors.size(); ++i) {
    const bool row = i < static_cast<Eigen::Index>(rows);
    sum += row ? huber(errors(i), kHuberLimit) : errors(i) * errors(i);
  }
  return sum;
}

Column solve_steps(const Layout& layout, const std::vector<const LlmPowerRow*>& rows,
                   double regulated, const InProcessFit& in_process) {
  const auto unknowns = static_cast<Eigen::Index>(layout.unknowns().size());
  Column x(unknowns);
  for (Eigen::Index k = 0; k < unknowns; ++k) x(k) = layout.unknowns()[index(k)].prior;
  Column errors = errors_at(x, layout, rows, regulated, in_process);
  double loss = loss_of(errors, rows.size()), damping = 1e-3;
  for (int round = 0; round < kNewtonRounds && damping < 1e6; ++round) {
    Eigen::MatrixXd slope(errors.size(), unknowns);
    constexpr double kStep = 1e-5;
    for (Eigen::Index k = 0; k < unknowns; ++k) {
      Column moved = x;
      moved(k) += kStep;
      slope.col(k) = (errors_at(moved, layout, rows, regulated, in_process) - errors) / kStep;
    }
    Column weights = Column::Ones(errors.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      weights(at) = huber_weight(errors(at), kHuberLimit);
    }
    const Eigen::MatrixXd weighted = weights.asDiagonal() * slope;
    Eigen::MatrixXd normal = slope.transpose() * weighted;
    normal.diagonal() *= 1 + damping;
    Column next = x - normal.ldlt().solve(weighted.transpose() * errors);
    for (Eigen::Index k = 0; k < unknowns; ++k) {
      const Unknown& u = layout.unknowns()[index(k)];
      next(k) = std::clamp(next(k), u.least, u.most);
    }
    const Column there = errors_at(next, layout, rows, regulated, in_process);
    const double less = loss_of(there, rows.size());
    if (less >= loss) {
      damping *= 10;
      continue;
    }
    const bool done = loss - less < 1e-6 * loss;
    x = next, errors = there, loss = less, damping *= 0.3;
    if (done) break;
  }
  return x;
}

// Standard deviation of the logarithms of `values`, and at least what few values cannot tell.
template <typename Values>
double spread_of(const Values& values) {
  constexpr double kLeast = 0.15;
  double mean = 0, square = 0;
  for (const double v : values) mean += v / real(values.size());
  for (const double v : values) square += (v - mean) * (v - mean);
  return std::max(kLeast, std::sqrt(square / std::max(1.0, real(values.size()) - 1)));
}

}  // namespace

Watts power_in_measured_time(const LlmPowerRow& row, const StepPowerFit& fit) {
  const StepPowerConstants& c = fit.constants;
  const auto longer = fit.longer.find(row.engine);
  const StepWork work =
      with_waits(row, fit.in_process)
          .stretched(row.time, longer == fit.longer.end() ? kLonger.prior : longer->second);
  return *row.gpu.power * share_of_limit(c, c.board(row.gpu.id), c.engine(row.engine), work);
}

StepPowerFit fit_step_power(const std::vector<LlmPowerRow>& rows, std::string_view without,
                            double regulated) {
  std::vector<const LlmPowerRow*> used;
  for (const LlmPowerRow& r : rows) {
    if (r.group != without) used.push_back(&r);
  }
  if (used.empty()) throw InputError("fit: the table llm_energy has no rows");
  const Layout layout(used);
  const InProcessFit waits = fit_in_process(rows, without);
  return layout.fit_at(solve_steps(layout, used, regulated, waits), regulated, waits);
}

StepPowerConstants fit_step_power(const std::vector<LlmPowerRow>& rows, double regulated) {
  std::set<std::string> groups;
  for (const LlmPowerRow& r : rows) groups.insert(r.group);
  double size = 0;
  for (const std::string& group : groups) {
    const StepPowerFit fit = fit_step_power(rows, group, regulated);
    for (const LlmPowerRow& r : rows) {
      if (r.group == group)
        size += std::abs(std::log(power_in_measured_time(r, fit) / r.power)) / real(rows.size());
    }
  }
  StepPowerConstants c = fit_step_power(rows, "", regulated).constants;
  c.error = 1.25 * size;  // 1.25 mean absolute errors are a standard deviation
  std::vector<double> boards, engines;
  for (const auto& [id, b] : c.boards) boards.push_back(std::log(b.gain));
  for (const auto& [id, gain] : c.engines) engines.push_back(std::log(gain));
  c.board_error = spread_of(boards), c.engine_error = spread_of(engines);
  return c;
}

}  // namespace orrery
