#include "orrery/validate/edge/judge_nas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "orrery/base/quantile.h"
#include "orrery/base/random.h"
#include "orrery/validate/edge/edge_law_fit.h"
#include "orrery/validate/edge/nas_noise.h"
#include "orrery/validate/edge/nas_rows.h"

namespace orrery {
namespace {

constexpr std::size_t kSamples = 10;
constexpr unsigned kFitted = 25;    // one in so many architectures fits the law
constexpr unsigned kReported = 10;  // one in so many rows is a row of the report

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) rank[order[k]] = double(i + end - 1) / 2;
    i = end;
  }
  return rank;
}

std::string kind_of(const EdgeRun& run) {
  for (const EdgeFact& f : run.facts.numbers) {
    if (f.name == "phone") return "phone";
    if (f.name == "gpu") return "GPU";
  }
  return "CPU";
}

// "0.896 (10.3 %)": the rank correlation and the median error.
std::string figures_of(const NasPairs& pairs) {
  constexpr std::size_t kLeastPairs = 20;
  if (pairs.size() < kLeastPairs) return "none";
  std::vector<double> errors;
  for (const auto& [measured, predicted] : pairs)
    errors.push_back(std::abs(predicted / measured - 1) * 100);
  return fmt::format("{:.3f} ({:.1f} %)", rank_correlation(pairs), quantile(errors, 0.5));
}

// The predictions of one column's rows.
NasPairs judge_column(const NasSpace& space, const EdgeRun& run, const EdgeLaw& law,
                      ValidationReport& report) {
  std::vector<const EdgeRow*> rows;
  for (const EdgeRow& r : run.rows) rows.push_back(&r);
  const auto key = [&](const EdgeRow* r) { return hash_text(run.processor + r->architecture); };
  std::sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  std::vector<MeasuredNetwork> measured;
  for (std::size_t i = 0; i < kSamples; ++i)
    measured.push_back({{rows[i]->work, kNoDeviation}, rows[i]->time});
  const EdgeCosts before = law.costs(run.facts);
  const double noise = noise_of(before, measured);
  const EdgeCosts costs = calibrated(before, measured);
  NasPairs out;
  for (std::size_t i = kSamples; i < rows.size(); ++i) {
    const Estimate<Seconds> time = time_of(costs, {rows[i]->work}, noise, Origin::kFitted);
    ValidationRow v;
    v.measured = rows[i]->time.value() * 1e3, v.predicted = time.value.value() * 1e3;
    out.emplace_back(v.measured, v.predicted);
    if (key(rows[i]) % kReported != 0) continue;
    v.by = {{"table", "nas"},
            {"metric", space.name},
            {"system", run.device},
            {"framework", "HELP"},
            {"kind", kind_of(run)}};
    v.row = rows[i]->name;
    const auto at = [&](double p) { return time.quantile(p).value() * 1e3; };
    v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
    v.origin = time.origin;
    v.what = fmt::format("{} {} on {}", space.name, rows[i]->architecture, run.processor);
    v.source = "HELP";
    report.rows.push_back(std::move(v));
  }
  return out;
}

// The runs by which a run is predicted: of GPUs those of GPUs, whose costs differ by launches
// rather than by arithmetic; of cores, which are few, all.
std::vector<EdgeRun> alike(const std::vector<EdgeRun>& runs, const EdgeRun& run) {
  std::vector<EdgeRun> out;
  std::ranges::copy_if(runs, std::back_inserter(out),
                       [&](const EdgeRun& r) { return r.gpu || !run.gpu; });
  return out;
}

void judge_space(const NasSpace& space, ValidationReport& report) {
  std::map<std::string, EdgeLaw> laws;  // by the device that it has not seen
  std::string columns, floors;
  for (const EdgeRun& run : space.runs) {
    if (run.rows.size() <= kSamples) continue;
    auto law = laws.find(run.device);
    if (law == laws.end()) {
      law =
          laws.emplace(run.device, fit_edge_law(alike(space.runs, run),
                                                [&](const EdgeRun& other, const EdgeRow& row) {
                                                  return other.device != run.device &&
                                                         hash_text(row.architecture) % kFitted == 0;
                                                }))
              .first;
    }
    const char* comma = columns.empty() ? "" : ", ";
    columns += fmt::format("{}{} {}", comma, run.processor,
                           figures_of(judge_column(space, run, law->second, report)));
    floors += fmt::format("{}{} {} / {}", comma, run.processor, figures_of(regression_of(run.rows)),
                          figures_of(twins_of(run.rows)));
  }
  report.skipped.push_back(
      fmt::format("{}, ten architectures measured: rank correlation and median error of all others "
                  "by column: {}.",
                  space.name, columns));
  report.skipped.push_back(fmt::format(
      "{}, the table's own noise: the same of the best sum of work that is fitted on all "
      "architectures of the column / of twins, which execute the same work: {}.",
      space.name, floors));
}

}  // namespace

double rank_correlation(const std::vector<std::pair<double, double>>& pairs) {
  std::vector<double> first, second;
  for (const auto& [a, b] : pairs) first.push_back(a), second.push_back(b);
  first = ranks(first), second = ranks(second);
  const double mean = (double(pairs.size()) - 1) / 2;
  double both = 0, one = 0, two = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    both += (first[i] - mean) * (second[i] - mean);
    one += (first[i] - mean) * (first[i] - mean);
    two += (second[i] - mean) * (second[i] - mean);
  }
  return both / std::sqrt(one * two);
}

void judge_nas(const std::filesystem::path& dir, ValidationReport& report) {
  if (!has_table(dir / "cnn_nas.csv.gz", report)) return;
  for (const NasSpace& space : read_nas_runs(dir, report)) judge_space(space, report);
}

}  // namespace orrery
