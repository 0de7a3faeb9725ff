#include "orrery/validate/choices/regret.h"

#include <algorithm>
#include <set>

#include "orrery/scenario/answer/prospect.h"

namespace orrery {
namespace {

Prospect prospect_of(const PredictedPoint& p, double limit) {
  return {p.score, chance_within(p.limited, p.deviation, limit), p.limited <= limit};
}

// The point of the highest expected score; where no median keeps the limit, the nearest to it.
const LayoutPoint& chosen_of(const std::vector<const LayoutPoint*>& points, double limit) {
  const auto better = [limit](const LayoutPoint* a, const LayoutPoint* b) {
    const Prospect x = prospect_of(*a->predicted, limit), y = prospect_of(*b->predicted, limit);
    if (!x.stands && !y.stands) return a->predicted->limited < b->predicted->limited;
    return preferred(x, y);
  };
  return **std::min_element(points.begin(), points.end(), better);
}

}  // namespace

std::optional<LayoutChoice> choose_layout(const std::vector<LayoutPoint>& points, double limit) {
  std::vector<const LayoutPoint*> known;
  const LayoutPoint* best = nullptr;
  for (const LayoutPoint& p : points) {
    if (p.predicted) known.push_back(&p);
    if (p.limited <= limit && (!best || p.score > best->score)) best = &p;
  }
  if (known.empty() || !best) return std::nullopt;
  const LayoutPoint& chosen = chosen_of(known, limit);
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
