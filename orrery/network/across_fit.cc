#include "orrery/network/across_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlopt.hpp>
#include <set>

#include "orrery/base/estimate.h"

namespace orrery {
namespace {

using Rows = std::vector<const MeasuredAcross*>;

constexpr double kHuber = 0.1;
constexpr double kPrior = 0.002;
constexpr int kEvaluations = 1500;
constexpr Bytes kMiddle(1 << 20), kLarge(128 << 20);

const std::string kRacks = "gb";

std::string class_of(const std::string& gpu) {
  for (const char* beginning : {"gb", "mi35", "mi3"}) {
    if (gpu.starts_with(beginning)) return beginning;
  }
  return "";
}

double residual(const LibraryCurve& curve, const MeasuredAcross& row) {
  return std::log(library_time(curve, row.costs, row.bytes, row.bound).total / row.time);
}

LibraryCurve curve_at(const std::vector<double>& x) {
  const LibraryCurve start;
  return {start.start * std::exp(x[0]), start.width * std::exp(x[1]),
          start.pipelining * std::exp(x[2])};
}

// Every group counts the same, whatever its number of sizes.
LibraryCurve fit_rows(const Rows& rows) {
  std::map<std::string, double> sizes;
  for (const MeasuredAcross* row : rows) ++sizes[row->group];
  const std::function<double(const std::vector<double>&)> loss = [&](const std::vector<double>& x) {
    const LibraryCurve curve = curve_at(x);
    double sum = 0;
    for (const MeasuredAcross* row : rows) {
      const double r = std::abs(residual(curve, *row));
      sum += (r < kHuber ? r * r : kHuber * (2 * r - kHuber)) / sizes[row->group];
    }
    // The width is the surest of the three.
    return sum / static_cast<double>(sizes.size()) +
           kPrior * (0.1 * x[0] * x[0] + 2 * x[1] * x[1] + 0.3 * x[2] * x[2]);
  };
  nlopt::opt search(nlopt::LN_SBPLX, 3);
  search.set_lower_bounds(std::vector<double>{-3, -0.4, -3});
  search.set_upper_bounds(std::vector<double>{3, 0.4, 2.5});
  search.set_initial_step(0.25);
  search.set_maxeval(kEvaluations);
  search.set_min_objective(
      [](const std::vector<double>& x, std::vector<double>&, void* f) {
        return (*static_cast<std::function<double(const std::vector<double>&)>*>(f))(x);
      },
      const_cast<void*>(static_cast<const void*>(&loss)));
  std::vector<double> x(3, 0.0);
  double least = 0;
  search.optimize(x, least);
  return curve_at(x);
}

void add(KeptBackGroup& group, const MeasuredAcross& row, double log_error) {
  auto& c = row.bytes < kMiddle ? group.small : row.bytes < kLarge ? group.middle : group.large;
  c.mape += 100 * std::abs(std::exp(log_error) - 1);
  ++c.n;
}

// Whether the smallest message of the others is at most 16 times that of the group `out`.
bool covered(const Rows& rows, const Rows& others, const std::string& out) {
  constexpr double kReach = 16;
  Bytes least(1e300), least_of_others(1e300);
  for (const MeasuredAcross* row : rows) {
    if (row->group == out) least = std::min(least, row->bytes);
  }
  for (const MeasuredAcross* row : others) least_of_others = std::min(least_of_others, row->bytes);
  return least_of_others <= least * kReach;
}

// The sigma whose 90 % interval holds 90 % of the residuals.
double sigma_of(std::vector<double> residuals) {
  const auto at = residuals.begin() + static_cast<std::ptrdiff_t>(residuals.size() * 9 / 10);
  std::nth_element(residuals.begin(), at, residuals.end());
  return *at / normal_quantile(0.95);
}

}  // namespace

AcrossFit fit_across(const std::string& fabric, const std::vector<MeasuredAcross>& rows,
                     const std::vector<MeasuredAcross>& all) {
  std::map<std::string, Rows> classes;
  std::map<std::string, std::set<std::string>> groups_of;  // of this network
  for (const MeasuredAcross& row : rows) {
    const std::string gpus = class_of(row.gpu);
    groups_of[gpus].insert(row.group);
    if (gpus != kRacks) classes[gpus].push_back(&row);
  }
  if (groups_of.contains(kRacks)) {
    for (const MeasuredAcross& row : all) {
      if (class_of(row.gpu) == kRacks) classes[kRacks].push_back(&row);
    }
  }
  AcrossFit fit;
  for (const auto& [gpus, members] : classes) {
    const std::set<std::string>& groups = groups_of[gpus];
    FittedAcross& fitted = fit.classes.emplace_back();
    fitted.gpus = gpus;
    fitted.rows = static_cast<std::int64_t>(members.size());
    fitted.curve = fit_rows(members);
    std::vector<double> residuals;
    for (const std::string& out : groups) {
      Rows others;
      for (const MeasuredAcross* row : members) {
        if (row->group != out) others.push_back(row);
      }
      const bool alone = !covered(members, others, out);
      const LibraryCurve curve = alone ? LibraryCurve() : fit_rows(others);
      KeptBackGroup& group = fit.kept_back.emplace_back();
      group.fabric = fabric, group.group = out, group.alone = alone;
      for (const MeasuredAcross* row : members) {
        if (row->group != out) continue;
        const double r = residual(curve, *row);
        add(group, *row, r);
        // Of a lone group the interval is that of its own fit: the defaults are for other fabrics.
        residuals.push_back(std::abs(alone ? residual(fitted.curve, *row) : r));
      }
      for (auto* c : {&group.small, &group.middle, &group.large}) {
        if (c->n > 0) c->mape /= static_cast<double>(c->n);
      }
    }
    fitted.left_out_error = sigma_of(std::move(residuals));
  }
  return fit;
}

}  // namespace orrery
