// Tools of the tests of published figures: they ask the question of a row, and write its answer as
// the laboratory pages have it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery {

// A prediction and its 90 % interval, in the unit of the published figure.
struct PublishedRange {
  double low = 0, value = 0, high = 0;

  bool holds(double figure) const { return low <= figure && figure <= high; }
  PublishedRange times(double factor) const {
    return {low * factor, value * factor, high * factor};
  }
};

inline double number_in(const Node& row, std::string_view key, double otherwise) {
  const Node* n = row.find(key);
  return n == nullptr ? otherwise : n->as_double();
}

// The prediction of a row: its `metric` (times in ms are given in s where `seconds`), or `rate_of`
// divided by it. NoData: the metric is not in the answer, or the question does not fit.
inline PublishedRange predicted(Runner& runner, const Node& row, bool seconds) {
  RunOptions options;
  options.breakdown = false;
  const Answer answer = runner.run(read_scenario(all_kinds(), row.at("scenario")), options);
  const std::string name = row.at("metric").as_string();
  const Metric* m = answer.points.at(0).find(name);
  if (m == nullptr) throw NoData(answer.points.at(0).feasibility.reason + " has no " + name);
  const PublishedRange r =
      PublishedRange{m->low90, m->value, m->high90}.times(seconds && m->unit == "ms" ? 1e-3 : 1);
  const Node* work = row.find("rate_of");
  if (work == nullptr) return r;
  return {work->as_double() / r.high, work->as_double() / r.value, work->as_double() / r.low};
}

// Three digits or more.
inline std::string digits(double x) {
  return x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
}

}  // namespace orrery
