#include "orrery/validate/edge/judge_mlperf.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "orrery/base/quantile.h"
#include "orrery/edge/engine/engine_answer.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/predict/edge_answer.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace {

// Deviations of the logarithm that are expected before any run is seen: of the common factor, of an
// engine's or an architecture's beyond it, of a run from all of them.
constexpr double kCommonSpread = 1, kEffectSpread = 0.3, kRunSpread = 0.2;
constexpr double kLeastSpread = 0.1;
constexpr int kFactorRounds = 20;
constexpr double kFactorHuber =
    1.345;  // deviations beyond which a run pulls no harder (Huber 1964)

// The runs of one accelerator, network, engine and scenario say one thing together.
struct RunGroup {
  std::string gpu, engine, architecture;
  double logarithm = 0;  // mean of measured over the kernels' time
  std::size_t runs = 0;
};

std::vector<RunGroup> groups_of(std::span<const TimedRun> runs) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, RunGroup> groups;
  for (const TimedRun& t : runs) {
    const MlperfRow& r = *t.row;
    RunGroup& g = groups[{r.gpu, r.engine, r.network, r.single}];
    g.gpu = r.gpu, g.engine = r.engine, g.architecture = t.architecture;
    g.logarithm += std::log(r.time / t.kernels.sum), ++g.runs;
  }
  std::vector<RunGroup> out;
  for (auto& [key, g] : groups) {
    g.logarithm /= double(g.runs);
    out.push_back(g);
  }
  return out;
}

std::vector<RunGroup> without(const std::vector<RunGroup>& groups, const std::string& gpu) {
  std::vector<RunGroup> others;
  std::ranges::copy_if(groups, std::back_inserter(others),
                       [&](const RunGroup& g) { return g.gpu != gpu; });
  return others;
}

// The most likely factors. Groups of one accelerator weigh as the square root of their number.
EngineLaw factors_of(const std::vector<RunGroup>& groups) {
  std::map<std::string, Eigen::Index> effects;
  std::map<std::string, double> of_gpu;
  for (const RunGroup& g : groups) {
    effects.emplace("engine " + g.engine, 0), effects.emplace("architecture " + g.architecture, 0);
    ++of_gpu[g.gpu];
  }
  Eigen::Index size = 1;
  for (auto& [name, at] : effects) at = size++;
  Eigen::VectorXd x = Eigen::VectorXd::Zero(size);
  for (int round = 0; round < kFactorRounds; ++round) {
    Eigen::MatrixXd a = Eigen::MatrixXd::Identity(size, size) / (kEffectSpread * kEffectSpread);
    Eigen::VectorXd b = Eigen::VectorXd::Zero(size);
    a(0, 0) = 1 / (kCommonSpread * kCommonSpread);
    for (const RunGroup& g : groups) {
      const Eigen::Index of[] = {0, effects.at("engine " + g.engine),
                                 effects.at("architecture " + g.architecture)};
      const double off = std::abs(g.logarithm - x[of[0]] - x[of[1]] - x[of[2]]);
      const double pull =
          round == 0 ? 1 : std::min(1.0, kFactorHuber * kRunSpread / std::max(off, 1e-9));
      const double weight = pull / (kRunSpread * kRunSpread * std::sqrt(of_gpu.at(g.gpu)));
      for (const Eigen::Index i : of) {
        b[i] += weight * g.logarithm;
        for (const Eigen::Index j : of) a(i, j) += weight;
      }
    }
    x = a.ldlt().solve(b);
  }
  EngineLaw law;
  law.all = x[0];
  for (const RunGroup& g : groups) {
    law.engines[g.engine] = x[effects.at("engine " + g.engine)];
    law.architectures[g.architecture] = x[effects.at("architecture " + g.architecture)];
  }
  return law;
}

EngineTimes kernels_time(const MlperfRow& row, const Bundle& bundle) {
  const EnginePredictor predictor(EngineLaw{}, Catalog(bundle).gpu(row.gpu), row.engine, bundle);
  const int batch = row.single ? 1 : kOfflineBatch;
  EngineTimes t = predictor.times(edge_model(bundle, row.network), row.precision, batch);
  t.kernels.clear();
  t.sum = t.sum * (1.0 / batch), t.least = t.least * (1.0 / batch);
  return t;
}

Estimate<Seconds> on_cores(const MlperfRow& row, const Bundle& bundle) {
  const EdgeDevices devices(bundle);
  const EdgeProcessor cores;
  const EdgeLaw law = read_edge_law(bundle, EdgePredictor::law_name(cores));
  const EdgePredictor predictor(law, devices.device(row.device), devices, cores, row.engine);
  return predictor.answer(edge_model(bundle, row.network), EdgePrecision::kFloat).latency;
}

ValidationRow row_of(const MlperfRow& row, const Estimate<Seconds>& time) {
  ValidationRow v;
  v.by = {{"table", "mlperf"},
          {"metric", "single stream"},
          {"system", row.gpu.empty() ? row.device : row.gpu},
          {"framework", row.engine},
          {"kind", row.gpu.empty() ? "CPU" : "GPU"}};
  v.row = row.name;
  v.measured = row.time.value() * 1e3, v.predicted = time.value.value() * 1e3;
  const auto at = [&](double p) { return time.quantile(p).value() * 1e3; };
  v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
  v.origin = time.origin;
  v.what = fmt::format("{} on {} with {}", row.network, v.by["system"], row.engine);
  v.source = row.submitter;
  return v;
}

}  // namespace

std::vector<TimedRun> time_runs(const std::vector<MlperfRow>& rows, const Bundle& bundle) {
  std::map<std::tuple<std::string, std::string, std::string, int, bool>, EngineTimes> known;
  const Catalog catalog(bundle);
  std::vector<TimedRun> runs;
  for (const MlperfRow& r : rows) {
    if (r.gpu.empty()) continue;
    EngineTimes& time = known[{r.gpu, r.engine, r.network, int(r.precision), r.single}];
    if (time.sum == Seconds(0)) time = kernels_time(r, bundle);
    runs.push_back({&r, catalog.gpu(r.gpu).architecture.id, time});
  }
  return runs;
}

EngineLaw fit_engine_law(std::span<const TimedRun> runs, const std::string& left_out) {
  const std::vector<RunGroup> groups = without(groups_of(runs), left_out);
  EngineLaw law = factors_of(groups);
  law.unknown = kEffectSpread;
  std::vector<double> off;
  for (const RunGroup& g : groups) {
    const EngineLaw others = factors_of(without(groups, g.gpu));
    // An engine that was never measured says nothing of how well the others are known.
    if (!others.engines.contains(g.engine) || !others.architectures.contains(g.architecture))
      continue;
    off.push_back(std::abs(g.logarithm - std::log(others.factor(g.engine, g.architecture))));
  }
  if (off.empty()) return law;
  std::sort(off.begin(), off.end());
  law.known = std::max(kLeastSpread, quantile(off, 0.68));
  return law;
}

void judge_mlperf_networks(const std::filesystem::path& dir, const Bundle& bundle,
                           ValidationReport& report) {
  if (!has_table(dir / "mlperf_edge.csv", report)) return;
  const std::vector<MlperfRow> rows = read_mlperf_rows(dir, report);
  const std::vector<TimedRun> runs = time_runs(rows, bundle);
  std::map<std::string, EngineLaw> laws;  // by the accelerator that is left out
  for (const TimedRun& t : runs) {
    const MlperfRow& r = *t.row;
    if (!r.single) continue;
    if (!laws.contains(r.gpu)) laws[r.gpu] = fit_engine_law(runs, r.gpu);
    const EngineLaw& law = laws.at(r.gpu);
    report.rows.push_back(
        row_of(r, {t.kernels.with(law.factor(r.engine, t.architecture)),
                   law.deviation(r.engine, t.architecture), 0, Origin::kTransferred}));
  }
  for (const MlperfRow& r : rows) {
    if (r.single && r.gpu.empty() && r.precision == EnginePrecision::kFloat)
      report.rows.push_back(row_of(r, on_cores(r, bundle)));
  }
}

}  // namespace orrery
