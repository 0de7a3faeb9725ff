// The fit of one engine's constants to measured requests and batches.
//
// Loss. The weighted mean of the absolute logarithmic errors of all figures; beyond 50 % an error
// pulls ever less (log_tailed, base/fit.h). The figures of a group together weigh as the square
// root of their number. A pull towards a target, which is the weaker the more figures there are,
// keeps constants in place that the rows do not determine.
//
// Search. The logarithms of the predictions are nearly linear in those of the constants. Each round
// computes them and their slopes at one point (a Tangent), minimises the loss of the linear model
// within a radius, and keeps the result if the loss of the predictions themselves falls. A fit
// without some rows may start from the tangent of all rows, which costs no prediction. The linear
// model ends where predictions bend (one bound of a step takes over from another). A fit of few
// figures therefore continues without it, on the loss of the predictions themselves.
#pragma once

#include <string>
#include <vector>

#include "orrery/scenario/runner/runner.h"
#include "orrery/validate/fit/engine_constants.h"

namespace orrery {

using Logs = std::vector<double>;

class EngineFit {
 public:
  // A figure of a row.
  struct Figure {
    std::size_t row = 0, figure = 0;
    std::string group, family;  // of the row, and of its GPU (engine_gpu_family)
    double weight = 1;
  };
  // Whether a figure takes part, one entry a figure.
  using Subset = std::vector<char>;

  struct Tangent {
    Logs at;                   // constants
    Logs error;                // log(predicted / measured) of each figure; NaN: refused or left out
    std::vector<Logs> slopes;  // of each constant, at each figure
  };

  // The error of a figure, and what its kernels alone explain.
  struct Judged {
    std::string group, family;
    double log = 0;      // log(predicted / measured)
    double squared = 0;  // square of the relative error that the interval has without step_error
  };

  // At most `most_of_group` rows of each group take part, at equal distances in the table.
  EngineFit(Runner& runner, std::vector<MeasuredRow> rows, const EngineProfile& profile,
            std::size_t most_of_group);

  const std::vector<EngineConstant>& constants() const { return constants_; }
  const Logs& start() const { return start_; }
  const std::vector<Figure>& figures() const { return figures_; }

  // Errors at the constants `x` of the figures of `subset`; NaN for the others.
  Logs errors(const Logs& x, const Subset& subset);
  Tangent tangent(const Logs& x, const Subset& subset);
  double loss(const Logs& errors, const Subset& subset) const;

  // The constants of the least loss by the linear model, at most `radius` away from its point.
  Logs linear(const Tangent& t, const Subset& subset, const Logs& target, double radius) const;
  // `rounds` of the search from `x`.
  Logs fit(Logs x, const Subset& subset, const Logs& target, int rounds);

  std::vector<Judged> judge(const Logs& x, const Subset& subset);

 private:
  void set(MeasuredRow& row, const Logs& x) const;
  double pull(const Logs& x, const Logs& target) const;
  // The constants of the least loss of the predictions themselves that is found from `x`.
  Logs polished(Logs x, const Subset& subset, const Logs& target);

  Runner& runner_;
  std::vector<MeasuredRow> rows_;
  std::vector<EngineConstant> constants_;
  std::vector<Figure> figures_;
  Logs start_;
  Bounds bounds_;
};

}  // namespace orrery
