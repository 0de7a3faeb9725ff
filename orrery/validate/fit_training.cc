#include "orrery/validate/fit_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/network/network_model.h"
#include "orrery/training/stacks.h"
#include "orrery/validate/mlperf_rows.h"

namespace orrery {
namespace {

constexpr double kOutlier = 0.5;  // logarithmic error beyond which a row pulls less
constexpr double kSmooth = 0.01;  // error below which the sum is quadratic
constexpr double kStep = 0.02;    // of the numerical derivatives, of a constant's logarithm
constexpr double kFloor = 1e-3;   // least value of constants that may be zero
constexpr int kIterations = 12, kHalvings = 6;
constexpr double kSettled = 1e-3;  // relative fall of the sum at which a fit ends

using C = TrainingConstant;

// Deviation of the logarithm of a factor.
double deviation(const std::string& group, std::size_t constant, const FitSettings& f) {
  const auto c = static_cast<C>(constant);
  const bool kernel = c <= C::kExperts || c == C::kHead;
  if (group == "own") return kernel ? f.own_kernels : f.own_shares;
  const bool host = c == C::kLaunch || c == C::kHost || c == C::kOptimizer;
  const double base = kernel ? f.kernels : host ? f.host : f.shares;
  if (group == "base") return base;
  if (group.starts_with("format")) return base * f.format;
  if (group.starts_with("gpu")) return base * f.gpu;
  return base * (group.find(" gpu ") == std::string::npos ? f.stack : f.both);
}

// What the least squares are solved in: the logarithms of the factors of groups.
struct Problem {
  double noise = 1;
  std::vector<std::string> groups;
  std::vector<double> theta, mean, sigma;  // [group * constants + constant]
  std::size_t size() const { return groups.size() * kTrainingConstants; }
};

struct Item {
  const TrainingCase* c = nullptr;
  std::vector<std::size_t> groups;
  ConstantValues fixed;  // factors that do not move
  double weight = 1;
};

double log_of(double factor) { return std::log(std::max(factor, kFloor)); }

TrainingConstants constants_at(const Problem& p, const Item& item) {
  TrainingConstants k;
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    double sum = 0;
    for (const std::size_t g : item.groups) sum += p.theta[g * kTrainingConstants + i];
    const TrainingConstantFacts& f = facts(static_cast<C>(i));
    k.value[i] = std::clamp(item.fixed[i] * std::exp(sum), f.least, f.most);
  }
  return k;
}

double loss_of(double error) {
  const double a = std::abs(error);
  if (a > kOutlier) return kOutlier * (1 + std::log(a / kOutlier));
  return a < kSmooth ? a * a / (2 * kSmooth) : a - kSmooth / 2;
}

// The weight under which a square pulls as loss_of does.
double pull_of(double error) {
  const double a = std::abs(error);
  if (a > kOutlier) return kOutlier / (a * a);
  return 1 / std::max(a, kSmooth);
}

double total_loss(const Problem& p, const std::vector<Item>& items) {
  double sum = 0;
  for (const Item& item : items)
    sum += item.weight / p.noise * loss_of(item.c->error(constants_at(p, item)));
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double d = (p.theta[j] - p.mean[j]) / p.sigma[j];
    sum += d * d / 2;
  }
  return sum;
}

// Solves a x = b for a symmetric positive matrix (row by row), in place.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

// The step of Gauss and Newton.
std::vector<double> step_of(const Problem& p, const std::vector<Item>& items) {
  const std::size_t n = p.size();
  std::vector<double> a(n * n, 0), b(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    const double weight = 1 / (p.sigma[j] * p.sigma[j]);
    a[j * n + j] = weight;
    b[j] = -weight * (p.theta[j] - p.mean[j]);
  }
  for (const Item& item : items) {
    const TrainingConstants k = constants_at(p, item);
    const double error = item.c->error(k), w = item.weight / p.noise * pull_of(error);
    std::vector<std::pair<std::size_t, double>> slopes;
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      const TrainingConstantFacts& f = facts(static_cast<C>(i));
      TrainingConstants moved = k;
      moved.value[i] = k.value[i] * std::exp(kStep);
      if (moved.value[i] > f.most) continue;
      const double slope = (item.c->error(moved) - error) / kStep;
      if (slope == 0) continue;
      for (const std::size_t g : item.groups)
        slopes.emplace_back(g * kTrainingConstants + i, slope);
    }
    for (const auto& [j, s] : slopes) {
      b[j] -= w * s * error;
      for (const auto& [l, t] : slopes) a[j * n + l] += w * s * t;
    }
  }
  solve(a, b);
  return b;
}

void minimise(Problem& p, const std::vector<Item>& items) {
  double best = total_loss(p, items);
  for (int round = 0; round < kIterations; ++round) {
    const std::vector<double> step = step_of(p, items);
    const std::vector<double> from = p.theta;
    double scale = 1, loss = best;
    for (int h = 0; h < kHalvings; ++h, scale /= 2) {
      for (std::size_t j = 0; j < p.size(); ++j) p.theta[j] = from[j] + scale * step[j];
      loss = total_loss(p, items);
      if (loss < best) break;
    }
    if (loss >= best) {
      p.theta = from;
      return;
    }
    const bool settled = best - loss < kSettled * best;
    best = loss;
    if (settled) return;
  }
}

Seconds measured(const TrainingCase& c) { return c.row.iteration.value(); }

ConstantValues ones() {
  ConstantValues v;
  v.fill(1);
  return v;
}

}  // namespace

double TrainingCase::error(const TrainingConstants& constants) const {
  return std::log(iteration_time(parts, constants, row.job).total / measured(*this));
}

TrainingCase training_case(TrainingRow row, const Catalog& catalog, const Bundle& bundle) {
  TrainingCase c;
  c.gpu = catalog.gpu(row.gpu);
  const Cluster cluster(catalog, c.gpu, row.gpus, row.node);
  const auto kernels = make_kernel_model(c.gpu, KernelClasses(), bundle);
  const auto network = make_network_model(cluster, {}, collective_library(c.gpu), bundle);
  const auto& kinds = training_stacks();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const auto& k) { return k.name == row.stack.name; });
  const StackTraits of_stack = kind == kinds.end() ? StackTraits() : traits(*kind, row.compiled);
  c.parts = IterationModel(row.model, cluster, *kernels, *network).parts(row.job, of_stack);
  c.row = std::move(row);
  return c;
}

std::vector<TrainingCase> training_cases(const std::filesystem::path& dir, const Bundle& bundle,
                                         std::vector<RefusedRow>& refused) {
  const Catalog catalog(bundle);
  std::vector<TrainingRow> rows = read_training_rows(dir, catalog, bundle);
  if (std::filesystem::exists(dir / "mlperf_training.csv"))
    for (TrainingRow& row : read_mlperf_rows(dir, catalog, bundle)) rows.push_back(std::move(row));
  std::vector<TrainingCase> cases;
  for (TrainingRow& row : rows) {
    const std::string name = row.name();
    if (!row.usable) {
      if (row.iteration || row.table != "iteration.csv")
        refused.push_back({name, row.refused.empty() ? "incomplete configuration" : row.refused});
      continue;
    }
    try {
      cases.push_back(training_case(std::move(row), catalog, bundle));
    } catch (const std::runtime_error& e) {
      refused.push_back({name, e.what()});
    }
  }
  return cases;
}

TrainingConstants constants_of(const ConstantTable& table, const TrainingCase& c) {
  return training_constants(table, c.row.stack.name, c.gpu, c.row.job.precision);
}

TrainingConstants with_own_factors(TrainingConstants constants, const ConstantValues& own) {
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    const TrainingConstantFacts& f = facts(static_cast<C>(i));
    constants.value[i] = std::clamp(constants.value[i] * own[i], f.least, f.most);
  }
  return constants;
}

ConstantTable fit_constants(const std::vector<const TrainingCase*>& cases,
                            const ConstantTable& prior, const FitSettings& settings) {
  Problem p;
  std::vector<Item> items;
  std::map<std::string, double> of_source;
  for (const TrainingCase* c : cases)
    if (c->row.distrusted.empty()) of_source[c->row.source] += 1;
  for (const TrainingCase* c : cases) {
    if (!c->row.distrusted.empty()) continue;
    Item item;
    item.c = c;
    item.fixed = ones();
    item.weight = (c->row.complete ? 1 : settings.assumed) *
                  std::pow(of_source.at(c->row.source), -settings.crowd);
    for (const std::string& name :
         constant_groups(c->row.stack.name, c->gpu, c->row.job.precision)) {
      const auto found = std::find(p.groups.begin(), p.groups.end(), name);
      item.groups.push_back(static_cast<std::size_t>(found - p.groups.begin()));
      if (found == p.groups.end()) p.groups.push_back(name);
    }
    items.push_back(std::move(item));
  }
  for (const std::string& group : p.groups) {
    const auto found = prior.groups.find(group);
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      const double factor = found == prior.groups.end() ? 1 : found->second[i];
      p.mean.push_back(log_of(factor));
      p.sigma.push_back(deviation(group, i, settings));
    }
  }
  p.theta = p.mean;
  p.noise = settings.noise;
  minimise(p, items);
  ConstantTable table = prior;
  for (std::size_t g = 0; g < p.groups.size(); ++g) {
    ConstantValues values;
    for (std::size_t i = 0; i < kTrainingConstants; ++i)
      values[i] = std::exp(p.theta[g * kTrainingConstants + i]);
    table.groups[p.groups[g]] = values;
  }
  return table;
}

ConstantValues fit_own_factors(const std::vector<const TrainingCase*>& cases,
                               const ConstantTable& table, const FitSettings& settings) {
  Problem p;
  p.groups = {"own"};
  for (std::size_t i = 0; i < kTrainingConstants; ++i) {
    p.mean.push_back(0);
    p.sigma.push_back(deviation("own", i, settings));
  }
  p.theta = p.mean;
  p.noise = settings.own_noise;
  std::vector<Item> items;
  for (const TrainingCase* c : cases) items.push_back({c, {0}, constants_of(table, *c).value, 1});
  minimise(p, items);
  ConstantValues own;
  for (std::size_t i = 0; i < kTrainingConstants; ++i) own[i] = std::exp(p.theta[i]);
  return own;
}

}  // namespace orrery
