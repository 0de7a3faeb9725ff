#include "orrery/validate/choices/regret.h"

#include <algorithm>
#include <map>
#include <set>

#include "orrery/scenario/answer/prospect.h"

namespace orrery {
namespace {

// The median score within the limit first, then the smallest figure.
bool median_before(const LayoutPoint* a, const LayoutPoint* b, double limit) {
  const bool keeps_a = a->predicted->limited <= limit, keeps_b = b->predicted->limited <= limit;
  if (keeps_a != keeps_b) return keeps_a;
  return keeps_a ? a->predicted->score > b->predicted->score
                 : a->predicted->limited < b->predicted->limited;
}

// The best median point of the layout with the highest expected score; where no median keeps the
// limit, the point that is nearest to it.
const LayoutPoint& chosen_of(const std::vector<const LayoutPoint*>& points, double limit) {
  std::map<std::string, std::vector<Prospect>> layouts;
  for (const LayoutPoint* p : points) {
    const PredictedPoint& own = *p->predicted;
    layouts[p->layout].push_back({own.score, levels_within(own.limited, own.deviation, limit)});
  }
  const auto better = [&](const LayoutPoint* a, const LayoutPoint* b) {
    if (a->layout != b->layout) {
      const double x = expected_score(layouts[a->layout]), y = expected_score(layouts[b->layout]);
      if (x != y) return x > y;
    }
    return median_before(a, b, limit);
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
