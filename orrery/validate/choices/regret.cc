#include "orrery/validate/choices/regret.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

// Quantiles at which the expected score is taken.
constexpr int kQuantiles = 41;

// The measured point that is chosen by the predictions as they are.
const LayoutPoint& by_prediction(const std::vector<const LayoutPoint*>& points, double limit) {
  const auto better = [&](const LayoutPoint* a, const LayoutPoint* b) {
    const bool keeps_a = a->predicted->limited <= limit, keeps_b = b->predicted->limited <= limit;
    if (keeps_a != keeps_b) return keeps_a;
    return keeps_a ? a->predicted->score > b->predicted->score
                   : a->predicted->limited < b->predicted->limited;
  };
  return **std::min_element(points.begin(), points.end(), better);
}

// The expected score of a layout with these points.
double expected_score(const std::vector<const LayoutPoint*>& points, double limit) {
  double sum = 0;
  for (int i = 0; i < kQuantiles; ++i) {
    const double z = normal_quantile((i + 0.5) / kQuantiles);
    double best = 0;
    for (const LayoutPoint* p : points) {
      const double factor = std::exp(z * p->predicted->deviation);
      if (p->predicted->limited * factor <= limit)
        best = std::max(best, p->predicted->score / factor);
    }
    sum += best;
  }
  return sum / kQuantiles;
}

const LayoutPoint& by_expectation(const std::vector<const LayoutPoint*>& points, double limit) {
  std::map<std::string, std::vector<const LayoutPoint*>> layouts;
  for (const LayoutPoint* p : points) layouts[p->layout].push_back(p);
  const std::vector<const LayoutPoint*>* best = nullptr;
  double most = 0;
  for (const auto& [layout, own] : layouts) {
    if (const double score = expected_score(own, limit); score > most) most = score, best = &own;
  }
  return by_prediction(best ? *best : points, limit);
}

}  // namespace

std::optional<LayoutChoice> choose_layout(const std::vector<LayoutPoint>& points, double limit,
                                          ChoiceRule rule) {
  std::vector<const LayoutPoint*> known;
  const LayoutPoint* best = nullptr;
  for (const LayoutPoint& p : points) {
    if (p.predicted) known.push_back(&p);
    if (p.limited <= limit && (!best || p.score > best->score)) best = &p;
  }
  if (known.empty() || !best) return std::nullopt;
  const LayoutPoint& chosen =
      rule == ChoiceRule::kPrediction ? by_prediction(known, limit) : by_expectation(known, limit);
  LayoutChoice out;
  out.layout = chosen.layout, out.best_layout = best->layout, out.best = best->score;
  out.of_point = chosen.limited <= limit ? chosen.score : 0;
  for (const LayoutPoint& p : points) {
    if (p.layout == chosen.layout && p.limited <= limit)
      out.of_layout = std::max(out.of_layout, p.score);
  }
  return out;
}

std::size_t layout_count(const std::vector<LayoutPoint>& points) {
  std::set<std::string> layouts;
  for (const LayoutPoint& p : points) layouts.insert(p.layout);
  return layouts.size();
}

double Regrets::mean() const {
  double sum = 0;
  for (const double r : all_) sum += r;
  return all_.empty() ? 0 : 100 * sum / static_cast<double>(all_.size());
}

double Regrets::within(double most) const {
  // A regret that is `most` but for rounding is within it.
  const auto near =
      std::count_if(all_.begin(), all_.end(), [&](double r) { return r <= most + 1e-9; });
  return all_.empty() ? 0 : 100.0 * static_cast<double>(near) / static_cast<double>(all_.size());
}

}  // namespace orrery
