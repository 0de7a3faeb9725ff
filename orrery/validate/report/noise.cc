#include "orrery/validate/report/noise.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "orrery/base/quantile.h"
#include "orrery/base/random.h"

namespace orrery {

void NoiseSample::add(std::string_view question, std::string_view source, std::string_view row,
                      double measured, double predicted) {
  measurements_.push_back(
      {hash_text(question), hash_text(source), hash_text(row), measured, predicted});
}

std::vector<NoiseSample::Measurement> NoiseSample::sorted() const {
  std::vector<Measurement> all = measurements_;
  const auto place = [](const Measurement& m) { return std::tie(m.question, m.source, m.row); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Measurement& a, const Measurement& b) { return place(a) < place(b); });
  const auto same = [&](const Measurement& a, const Measurement& b) {
    return place(a) == place(b);
  };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

template <class Same, class Counts>
NoiseFloor NoiseSample::floor(const Same& same, const Counts& counts) const {
  const std::vector<Measurement> all = sorted();
  NoiseFloor out;
  ErrorSample best, ours;
  for (auto begin = all.begin(); begin != all.end();) {
    auto end = begin;
    while (end != all.end() && same(*begin, *end)) ++end;
    const std::span<const Measurement> rows(begin, end);
    begin = end;
    if (!counts(rows)) continue;
    std::vector<double> values;
    for (const Measurement& m : rows) values.push_back(m.measured);
    const double median = quantile(values, 0.5);
    ++out.questions;
    for (const Measurement& m : rows) {
      best.add(m.measured, median, false, false);
      ours.add(m.measured, m.predicted, false, false);
    }
  }
  out.best = best.summary();
  out.ours = ours.summary();
  return out;
}

NoiseFloor NoiseSample::repeats() const {
  return floor(
      [](const Measurement& a, const Measurement& b) {
        return a.question == b.question && a.source == b.source;
      },
      [](std::span<const Measurement> rows) { return rows.size() > 1; });
}

NoiseFloor NoiseSample::sources() const {
  return floor(
      [](const Measurement& a, const Measurement& b) { return a.question == b.question; },
      [](std::span<const Measurement> rows) { return rows.front().source != rows.back().source; });
}

}  // namespace orrery
