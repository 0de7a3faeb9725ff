#include "orrery/validate/fit/fit_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/training/iteration/training_kernels.h"
#include "orrery/validate/rows/mlperf_rows.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {
namespace {

using C = TrainingConstant;

// A deviation that leaves a factor where it is.
constexpr double kFixed = 1e-6;

// Standard deviation of the logarithm of a factor.
double deviation(const std::string& group, std::size_t constant, const FitSettings& f) {
  const auto c = static_cast<C>(constant);
  const bool kernel = c <= C::kExperts || c == C::kHead;
  const bool host = c == C::kLaunch || c == C::kHost || c == C::kOptimizer;
  const double base = c == C::kExperts ? f.experts : kernel ? f.kernels : host ? f.host : f.shares;
  if (group == "base") return base;
  if (c == C::kJitter) return kFixed;
  if (group.starts_with("format")) return base * f.format;
  if (group.starts_with("gpu")) return base * f.gpu;
  if (group.ends_with(" year")) return base * f.year;
  return base * (group.find(" gpu ") == std::string::npos ? f.stack : f.both);
}

}  // namespace

MeasuredIteration TrainingCase::measured() const {
  MeasuredIteration m;
  m.parts = &parts, m.job = &row.job, m.time = row.iteration.value();
  return m;
}

double TrainingCase::error(const TrainingConstants& constants) const {
  return measured().error(constants);
}

TrainingCase training_case(TrainingRow row, const Catalog& catalog, const Bundle& bundle) {
  TrainingCase c;
  c.gpu = catalog.gpu(row.gpu);
  const Cluster cluster(catalog, c.gpu, row.gpus, row.node);
  const auto kernels = make_kernel_model(c.gpu, training_kernels(c.gpu, bundle), bundle);
  const auto network = make_network_model(cluster, {}, collective_library(c.gpu), bundle);
  const TrainingStackProfile& stack = training_stack(row.stack.name);
  StackTraits of_stack = stack_traits(stack, row.compiled, row.software());
  of_stack.attention = attention_kernels(attention_of(row, c.gpu), c.gpu);
  of_stack.fused_experts = row.fused_experts;
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
  return training_constants(table, c.row.stack.name, c.gpu, c.row.job.precision, c.row.release);
}

namespace {

// Earliest, latest and usual release of each stack, from the rows that state one. The usual release
// is the mean of the sources' means, so that a source with many rows does not outweigh the others.
std::map<std::string, ReleaseSpan, std::less<>> release_spans(
    const std::vector<const TrainingCase*>& cases) {
  std::map<std::string, std::map<std::string, std::vector<double>>> dates;
  for (const TrainingCase* c : cases)
    if (c->row.distrusted.empty() && c->row.release)
      dates[c->row.stack.name][c->row.source].push_back(*c->row.release);
  std::map<std::string, ReleaseSpan, std::less<>> spans;
  for (const auto& [stack, sources] : dates) {
    ReleaseSpan span{1e9, 0, 0};
    for (const auto& [source, all] : sources) {
      double sum = 0;
      for (const double d : all)
        sum += d, span.first = std::min(span.first, d), span.last = std::max(span.last, d);
      span.usual += sum / static_cast<double>(all.size() * sources.size());
    }
    spans[stack] = span;
  }
  return spans;
}

}  // namespace

ConstantTable fit_constants(const std::vector<const TrainingCase*>& cases,
                            const ConstantTable& prior, const FitSettings& settings) {
  std::map<std::string, double> of_source;
  for (const TrainingCase* c : cases)
    if (c->row.distrusted.empty()) of_source[c->row.source] += 1;
  const std::map<std::string, ReleaseSpan, std::less<>> releases = release_spans(cases);
  std::vector<std::string> names;
  std::vector<MeasuredIteration> iterations;
  for (const TrainingCase* c : cases) {
    if (!c->row.distrusted.empty()) continue;
    MeasuredIteration m = c->measured();
    m.fixed.fill(1);
    m.weight = (c->row.complete ? 1 : settings.assumed) *
               std::pow(of_source.at(c->row.source), -settings.crowd);
    const double years = c->row.release ? releases.at(c->row.stack.name).years(*c->row.release) : 0;
    for (const auto& [name, power] :
         constant_groups(c->row.stack.name, c->gpu, c->row.job.precision, years)) {
      const auto found = std::find(names.begin(), names.end(), name);
      m.groups.push_back({static_cast<std::size_t>(found - names.begin()), power});
      if (found == names.end()) names.push_back(name);
    }
    iterations.push_back(std::move(m));
  }
  std::vector<FactorGroup> groups;
  for (const std::string& name : names) {
    FactorGroup group;
    const auto found = prior.groups.find(name);
    for (std::size_t i = 0; i < kTrainingConstants; ++i) {
      group.mean[i] = found == prior.groups.end() ? 1 : found->second[i];
      group.sigma[i] = deviation(name, i, settings);
    }
    groups.push_back(group);
  }
  const std::vector<ConstantValues> factors = fit_factors(iterations, groups, settings.noise);
  ConstantTable table = prior;
  table.releases = releases;
  for (const TrainingCase* c : cases)
    if (c->row.complete && c->row.distrusted.empty())
      table.covers.insert(coverage_name(c->row.stack.name, c->gpu, c->row.job.precision));
  for (std::size_t g = 0; g < names.size(); ++g) table.groups[names[g]] = factors[g];
  return table;
}

}  // namespace orrery
