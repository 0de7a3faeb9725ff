// The regret of a choice among measured layouts.
//
// A question has measured points (a layout at a number of users, or a training layout), each with a
// score, of which more is better, and a figure that a limit bounds. Whoever predicts the points
// chooses a layout by the rule by which plans are ranked, the highest expected score
// (scenario/answer/prospect.h), and of it the point with the highest score at the median. The
// points of a layout are the settings that can be taken when it runs; they keep the limit at the
// levels that the stated error of their figure gives. Where no median keeps the limit, the point is
// chosen that is predicted to be nearest to it. The regret of a choice is 1 - its measured score /
// the best measured score within the limit.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

struct PredictedPoint {
  double score = 0;
  double limited = 0;    // the figure that the limit bounds
  double deviation = 0;  // of the logarithm of `limited`
};

struct LayoutPoint {
  std::string layout;
  double score = 0, limited = 0;
  std::optional<PredictedPoint> predicted;  // none: refused, or not known
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct LayoutChoice {
  std::string layout, best_layout;
  double best = 0;  // measured, within the limit
  // The best measured score of the chosen layout within the limit; 0: it has none.
  double of_layout = 0;
  // The measured score of the chosen point itself; 0: it breaks the limit when measured.
  double of_point = 0;

  double regret() const { return 1 - of_layout / best; }
  double strict_regret() const { return 1 - of_point / best; }
};

// Nothing if no measured point keeps the limit, or none is predicted.
std::optional<LayoutChoice> choose_layout(const std::vector<LayoutPoint>& points, double limit);

// Number of different layouts of the points.
std::size_t layout_count(const std::vector<LayoutPoint>& points);

// The regrets of many questions.
class Regrets {
 public:
  void add(double regret) { all_.push_back(regret); }
  std::size_t questions() const { return all_.size(); }
  double mean() const;  // percent
  // Percent of the questions whose regret is at most `most`.
  double within(double most) const;

 private:
  std::vector<double> all_;
};

inline constexpr double kNear = 0.05;  // a choice this near to the best is a good one
inline constexpr double kTie = 0.03;   // measurements that differ by less are ties

}  // namespace orrery
