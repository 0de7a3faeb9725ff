#include "orrery/validate/judge/training_folds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr double kNormal90 = 1.6449;  // half of a 90 % interval, in deviations

}  // namespace

TrainingFolds::TrainingFolds(std::vector<TrainingCase> cases, PartMeter* meter)
    : cases_(std::move(cases)) {
  const ConstantTable prior = prior_constants();
  std::vector<const TrainingCase*> every;
  for (const TrainingCase& c : cases_) {
    every.push_back(&c);
    without_[c.row.source];
    if (c.row.complete) covering_[{c.row.gpu, c.row.dtype}].insert(c.row.source);
  }
  expect_parts(meter, without_.size() + 1);
  all_ = fit_constants(every, prior);
  finish_parts(meter);
  for (auto& [source, table] : without_) {
    std::vector<const TrainingCase*> others;
    for (const TrainingCase& c : cases_)
      if (c.row.source != source) others.push_back(&c);
    table = fit_constants(others, prior);
    finish_parts(meter);
  }
  for (const TrainingCase& c : cases_)
    errors_.push_back(c.error(constants_of(without_.at(c.row.source), c)));
  for (auto& [source, table] : without_) set_errors(table, source);
  set_errors(all_, "");
}

const ConstantTable& TrainingFolds::without(const std::string& source) const {
  const auto found = without_.find(source);
  return found == without_.end() ? all_ : found->second;
}

bool TrainingFolds::covered(const TrainingRow& row) const {
  const auto found = covering_.find({row.gpu, row.dtype});
  if (found == covering_.end()) return false;
  return found->second.size() > (found->second.contains(row.source) ? 1u : 0u);
}

void TrainingFolds::set_errors(ConstantTable& table, std::string_view source) const {
  struct Row {
    double error, apart;  // the part of the error that has a model of its own
    FitCover cover;
    std::string_view source;
    double weight = 0;
  };
  // Groups of rows: dense models by the runs that their fold had, mixtures of experts, and
  // adapters.
  std::vector<Row> dense[3], mixtures, adapters;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const TrainingCase& c = cases_[i];
    if (!c.row.complete || c.row.source == source) continue;
    const TrainingConstants k = constants_of(without_.at(c.row.source), c);
    const IterationTime time = iteration_time(c.parts, k, c.row.job);
    const Row row{std::abs(errors_[i]),
                  std::hypot(network_error(c.parts, time, k, c.row.job), straggler_error(time)),
                  k.cover, c.row.source};
    const bool full = c.row.job.tuning == Tuning::kFull;
    (!full ? adapters : experts_share(time) > 0 ? mixtures : dense[index(k.cover)]).push_back(row);
  }
  // A source of n rows in a group has the same weight as in the fit.
  for (std::vector<Row>* rows : {&dense[0], &dense[1], &dense[2], &mixtures, &adapters}) {
    std::map<std::string_view, double> of_source;
    for (const Row& r : *rows) of_source[r.source] += 1;
    for (Row& r : *rows) r.weight = std::pow(of_source[r.source], -FitSettings().crowd);
  }
  // The deviation below which nine tenths of the weight lie.
  const auto level = [](const std::vector<Row>& rows) {
    std::vector<std::pair<double, double>> weighed;  // deviation, weight
    double all = 0;
    for (const Row& r : rows) {
      // The deviation of the row without the part that its network and its stragglers explain.
      const double beside = std::pow(r.error / kNormal90, 2) - std::pow(r.apart, 2);
      weighed.emplace_back(std::sqrt(std::max(0.0, beside)), r.weight);
      all += r.weight;
    }
    std::sort(weighed.begin(), weighed.end());
    double sum = 0;
    for (const auto& [error, weight] : weighed) {
      sum += weight;
      if (sum >= 0.9 * all) return error;
    }
    return weighed.back().first;
  };
  double* errors[] = {&table.covered_error, &table.related_error, &table.uncovered_error};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!dense[i].empty()) *errors[i] = level(dense[i]);
    if (i > 0) *errors[i] = std::max(*errors[i], *errors[i - 1]);
  }
  // The smallest additional error for which the intervals cover nine tenths.
  const auto on_top = [&](const std::vector<Row>& rows, double& added) {
    if (rows.empty()) return;
    double all = 0;
    for (const Row& r : rows) all += r.weight;
    for (added = 0; added < 2; added += 0.01) {
      double inside = 0;
      for (const Row& r : rows) {
        const double error = *errors[index(r.cover)];
        if (r.error <= kNormal90 * std::hypot(error, added, r.apart)) inside += r.weight;
      }
      if (inside >= 0.9 * all) return;
    }
  };
  on_top(mixtures, table.experts_error);
  on_top(adapters, table.adapters_error);
}

FittedTraining fit_training(const std::filesystem::path& dir, const std::string& date,
                            const Bundle& bundle, PartMeter* meter) {
  std::vector<RefusedRow> refused;
  const TrainingFolds folds(training_cases(dir, bundle, refused), meter);
  FittedTraining f;
  std::set<std::string> sources;
  std::vector<double> inside, left_out;
  double sum = 0, sum_left_out = 0;
  for (std::size_t i = 0; i < folds.cases().size(); ++i) {
    const TrainingCase& c = folds.cases()[i];
    if (c.row.distrusted.empty()) sources.insert(c.row.source), ++f.rows;
    if (!c.row.complete) continue;
    inside.push_back(100 * std::abs(std::expm1(c.error(constants_of(folds.all(), c)))));
    left_out.push_back(100 * std::abs(std::expm1(folds.error(i))));
    sum += inside.back(), sum_left_out += left_out.back();
  }
  if (inside.empty()) throw InputError(fmt::format("{}: no row can be fitted", dir.string()));
  f.sources = sources.size();
  f.mape = sum / static_cast<double>(inside.size());
  f.mape_left_out = sum_left_out / static_cast<double>(left_out.size());
  f.median = quantile(inside, 0.5);
  f.median_left_out = quantile(left_out, 0.5);
  ConstantTable table = folds.all();
  table.provenance =
      fmt::format("data/training iteration.csv and mlperf_training.csv, {} rows of {} sources, {}",
                  f.rows, f.sources, date);
  f.yaml = fmt::format(
               "# Made by `orrery fit training` from data/training/iteration.csv and "
               "mlperf_training.csv on "
               "{}: do not edit.\n"
               "# {} trusted rows of {} sources. Errors on {} complete rows: median {:.1f} %, mean "
               "{:.1f} %; with the\n"
               "# row's source left out {:.1f} % and {:.1f} %.\n",
               date, f.rows, f.sources, inside.size(), f.median, f.mape, f.median_left_out,
               f.mape_left_out) +
           to_yaml(table);
  return f;
}

}  // namespace orrery
