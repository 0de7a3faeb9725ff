#include "orrery/network/fit/across_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "orrery/base/estimate.h"
#include "orrery/base/fit.h"

namespace orrery {
namespace {

using Rows = std::vector<const MeasuredAcross*>;
using Factors = std::array<double, 3>;  // logarithms of start, width, pipelining

constexpr double kHuber = 0.1;
// The errors of a group's rows are correlated, about 0.08. A factor that differs by t between
// networks is held by (0.08 / t)^2 over the number of groups. t is 1, 0.25 and 0.8: upper bounds,
// since the width of one network is 0.25 off.
constexpr Factors kPrior = {0.007, 0.1, 0.01};
constexpr int kEvaluations = 1500;
constexpr Bytes kMiddle(1 << 20), kLarge(128 << 20);

const std::string kRacks = "gb";

std::string class_of(const std::string& gpu) {
  for (const char* beginning : {"gb", "mi35", "mi3", "a100"}) {
    if (gpu.starts_with(beginning)) return beginning;
  }
  return "";
}

CurveTime time_of(const LibraryCurve& curve, const MeasuredAcross& row) {
  return library_time(curve, row.costs, row.bytes, row.bound);
}

double residual(const LibraryCurve& curve, const MeasuredAcross& row) {
  return std::log(time_of(curve, row).total / row.time);
}

Factors logs(const LibraryCurve& c) {
  return {std::log(c.start), std::log(c.width), std::log(c.pipelining)};
}

LibraryCurve curve_at(const Factors& x) { return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2])}; }

bool sees_start(const LibraryCurve& curve, const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const MeasuredAcross* row) {
    const CurveTime t = time_of(curve, *row);
    return t.latency > 0.5 * t.total;
  });
}
bool sees_width(const LibraryCurve& curve, const Rows& rows) {
  return std::any_of(rows.begin(), rows.end(), [&](const MeasuredAcross* row) {
    return start_share(time_of(curve, *row)) < 0.5;
  });
}

// Fits the factors of a class. Every group has the same weight, whatever its number of sizes. The
// start is not fitted if no row shows it.
LibraryCurve fit_rows(const Rows& rows, const LibraryCurve& most) {
  std::map<std::string, double> sizes;
  for (const MeasuredAcross* row : rows) ++sizes[row->group];
  const Factors from = logs(most);
  const auto curve_of = [&](const std::vector<double>& x) {
    return curve_at({from[0] + x[0], from[1] + x[1], from[2] + x[2]});
  };
  const Loss loss = [&](const std::vector<double>& x) {
    const LibraryCurve curve = curve_of(x);
    double sum = 0;
    for (const MeasuredAcross* row : rows) {
      sum += huber(residual(curve, *row), kHuber) / sizes[row->group];
    }
    sum /= static_cast<double>(sizes.size());
    for (std::size_t i = 0; i < kPrior.size(); ++i)
      sum += kPrior[i] * x[i] * x[i] / static_cast<double>(sizes.size());
    return sum;
  };
  const double start = sees_start(most, rows) ? 3 : 0;
  return curve_of(minimise(loss, {0, 0, 0}, {{-start, -0.4, -3}, {start, 0.4, 2.5}},
                           {.step = 0.25, .evaluations = kEvaluations}));
}

// Mean and standard deviation of the densest half of some numbers.
struct Half {
  double mean = 0, deviation = 0;
};
Half densest_half(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size() / 2 + 1;
  std::size_t first = 0;
  for (std::size_t i = 0; i + n <= values.size(); ++i) {
    if (values[i + n - 1] - values[i] < values[first + n - 1] - values[first]) first = i;
  }
  Half half;
  for (std::size_t i = first; i < first + n; ++i) half.mean += values[i] / static_cast<double>(n);
  for (std::size_t i = first; i < first + n; ++i)
    half.deviation += (values[i] - half.mean) * (values[i] - half.mean);
  half.deviation = std::sqrt(half.deviation / static_cast<double>(std::max<std::size_t>(n - 1, 1)));
  return half;
}

class RootMeanSquare {
 public:
  void add(double x) { sum_ += x * x, ++n_; }
  double value() const { return n_ == 0 ? 0 : std::sqrt(sum_ / n_); }
  // The standard deviation of the next number, by its 90 % interval. With few numbers the next one
  // lies further out (Student's t, to first order in 1/n).
  double of_next() const {
    if (n_ == 0) return 0;
    const double z = normal_quantile(0.95);
    return value() * std::sqrt(1 + 1 / n_) * z * (1 + (z * z + 1) / (4 * n_)) /
           heavy_quantile(0.95);
  }

 private:
  double sum_ = 0, n_ = 0;
};

// Rows that are fitted together: a class of GPUs on one network, or all racks.
struct ClassRows {
  std::string gpus;
  Rows rows;
  std::set<std::tuple<std::string, std::string>> groups;  // fabric, group
  LibraryCurve curve;                                     // fitted to all rows
};
struct Group {
  const ClassRows* of;
  std::string fabric, name;
  Rows rows, others;   // its own; those of the class's other groups
  LibraryCurve curve;  // fitted without its own rows
};

class Fit {
 public:
  explicit Fit(const std::map<std::string, std::vector<MeasuredAcross>>& rows) {
    for (const auto& [fabric, table] : rows) {
      for (const MeasuredAcross& row : table) {
        const std::string gpus = class_of(row.gpu);
        ClassRows& c = classes_[gpus == kRacks ? gpus : fabric + "|" + gpus];
        c.gpus = gpus;
        c.rows.push_back(&row);
        c.groups.insert({fabric, row.group});
        fabric_of_[&row] = fabric;
      }
    }
    for (auto& [key, c] : classes_) c.curve = fit_rows(c.rows, LibraryCurve());
    for (const auto& [key, c] : classes_) {
      for (const auto& [fabric, name] : c.groups) groups_.push_back(group(c, fabric, name));
    }
  }

  AcrossFit result() const {
    AcrossFit fit;
    fit.most = most(nullptr);
    const PartErrors elsewhere = elsewhere_errors(nullptr), seen = seen_errors(nullptr);
    fit.elsewhere = elsewhere;
    RootMeanSquare single_sizes;
    std::map<const ClassRows*, std::set<std::string>> fabrics;
    for (const Group& g : groups_) fabrics[g.of].insert(g.fabric);
    for (const auto& [key, c] : classes_) {
      FittedAcross fitted;
      fitted.gpus = c.gpus;
      fitted.curve = c.curve;
      fitted.rows = static_cast<std::int64_t>(c.rows.size());
      std::set<std::string> versions;
      for (const MeasuredAcross* row : c.rows) {
        fitted.most_ranks = std::max(fitted.most_ranks, row->ranks);
        if (!row->version.empty()) versions.insert(row->version);
      }
      fitted.versions.assign(versions.begin(), versions.end());
      fitted.errors = errors(c.curve, c.rows, elsewhere, seen);
      fitted.elsewhere = elsewhere;
      for (const std::string& fabric : fabrics[&c]) fit.classes[fabric].push_back(fitted);
    }
    for (const auto& [fabric, classes] : fit.classes) {
      for (const FittedAcross& a : classes) single_sizes.add(a.errors.curve);
    }
    fit.elsewhere.curve = single_sizes.value();
    for (const Group& g : groups_) fit.kept_back.push_back(judge(g));
    std::stable_sort(fit.kept_back.begin(), fit.kept_back.end(),
                     [](const auto& a, const auto& b) { return a.fabric < b.fabric; });
    return fit;
  }

 private:
  // The factors around which all classes but `without` lie.
  LibraryCurve most(const ClassRows* without) const {
    std::array<std::vector<double>, 3> factors;
    for (const auto& [key, c] : classes_) {
      if (&c == without) continue;
      const Factors x = logs(c.curve);
      for (std::size_t i = 0; i < x.size(); ++i) factors[i].push_back(x[i]);
    }
    if (factors[0].empty()) return {};
    return curve_at({densest_half(factors[0]).mean, densest_half(factors[1]).mean,
                     densest_half(factors[2]).mean});
  }

  Group group(const ClassRows& c, const std::string& fabric, const std::string& name) const {
    Group g{&c, fabric, name, {}, {}, most(&c)};
    for (const MeasuredAcross* row : c.rows) {
      const bool own = row->group == name && fabric_of_.at(row) == fabric;
      (own ? g.rows : g.others).push_back(row);
    }
    if (!g.others.empty()) g.curve = fit_rows(g.others, g.curve);
    return g;
  }

  // Adds the mean error of a group's transfers by a curve that was fitted without it.
  static void add_transfers(const Group& g, const LibraryCurve& curve, RootMeanSquare& errors) {
    double sum = 0, n = 0;
    for (const MeasuredAcross* row : g.rows) {
      if (start_share(time_of(curve, *row)) < 0.5) sum += std::abs(residual(curve, *row)), ++n;
    }
    if (n > 0) errors.add(sum / n);
  }

  PartErrors elsewhere_errors(const ClassRows* without) const {
    RootMeanSquare start, width;
    for (const auto& [key, c] : classes_) {
      if (&c != without) start.add(std::log(c.curve.start / most(&c).start));
    }
    for (const Group& g : groups_) {
      if (g.of != without) add_transfers(g, most(g.of), width);
    }
    return {start.of_next(), width.of_next(), 0};
  }

  PartErrors seen_errors(const ClassRows* without) const {
    std::vector<double> starts;
    for (const auto& [key, c] : classes_) {
      if (&c != without) starts.push_back(std::log(c.curve.start));
    }
    RootMeanSquare width;
    for (const Group& g : groups_) {
      if (g.of != without && !g.others.empty()) add_transfers(g, g.curve, width);
    }
    return {starts.empty() ? 0 : densest_half(starts).deviation, width.of_next(), 0};
  }

  static PartErrors errors(const LibraryCurve& curve, const Rows& rows, const PartErrors& elsewhere,
                           const PartErrors& seen) {
    PartErrors e = elsewhere;
    if (sees_start(curve, rows)) e.start = seen.start;
    if (sees_width(curve, rows)) e.width = seen.width;
    std::vector<double> own;
    for (const MeasuredAcross* row : rows) own.push_back(std::abs(residual(curve, *row)));
    if (!own.empty()) e.curve = sigma_of(std::move(own));
    return e;
  }

  KeptBackGroup judge(const Group& g) const {
    KeptBackGroup result;
    result.fabric = g.fabric, result.group = g.name, result.alone = g.others.empty();
    const PartErrors e = errors(g.curve, g.others, elsewhere_errors(g.of), seen_errors(g.of));
    for (const MeasuredAcross* row : g.rows) {
      const double r = residual(g.curve, *row);
      const double sigma = e.sigma(time_of(g.curve, *row));
      auto& c = row->bytes < kMiddle  ? result.small
                : row->bytes < kLarge ? result.middle
                                      : result.large;
      c.mape += 100 * std::abs(std::exp(r) - 1);
      ++c.n;
      if (std::abs(r) < sigma * heavy_quantile(0.75)) ++c.in50;
      if (std::abs(r) < sigma * heavy_quantile(0.95)) ++c.in90;
    }
    for (auto* c : {&result.small, &result.middle, &result.large}) {
      if (c->n > 0) c->mape /= static_cast<double>(c->n);
    }
    return result;
  }

  std::map<std::string, ClassRows> classes_;
  std::map<const MeasuredAcross*, std::string> fabric_of_;
  std::vector<Group> groups_;
};

}  // namespace

const std::array<const char*, 4> kAcrossClasses = {"", "a100", "mi3", "mi35"};

double sigma_of(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  const double half = residuals[residuals.size() / 2] / normal_quantile(0.75);
  const double most = residuals[residuals.size() * 9 / 10] / normal_quantile(0.95);
  return (half + most) / 2;
}

AcrossFit fit_across(const std::map<std::string, std::vector<MeasuredAcross>>& rows) {
  return Fit(rows).result();
}

}  // namespace orrery
