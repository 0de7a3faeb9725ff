#include "orrery/validate/edge/judge_tiny.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/fit.h"
#include "orrery/base/quantile.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/edge_models.h"

namespace orrery {
namespace {

constexpr const char* kTinyTable = "mlperf_tiny.csv";
// The networks of MLPerf tiny (github.com/mlcommons/tiny, benchmark/training).
constexpr std::pair<std::string_view, std::string_view> kTinyNetworks[] = {
    {"ic", "resnet8"}, {"kws", "ds_cnn"}, {"vww", "mobilenet_025_96"}, {"ad", "autoencoder_640"}};

// Expected before any run is seen: two cycles of a multiply-add, three times as many where a value
// is used once; deviations of these logarithms, of the factors of a core and of a processor, of a
// run from all of them.
constexpr std::array<double, kSmallWorkKinds> kExpectedCycles = {2, 6, 3};
constexpr double kCyclesSpread = 1, kCoreSpread = 1, kProcessorSpread = 0.15, kTinySpread = 0.2;
constexpr double kTinyHuber = 1.345;  // deviations beyond which a run pulls no harder (Huber 1964)
constexpr double kLeastTinySpread = 0.05;
constexpr int kTinyRounds = 20;

SmallWork work_of_network(std::string_view network, const Bundle& bundle) {
  return small_work_of(fuse(edge_model(bundle, network), fusion_rules("tflite")));
}

std::vector<TinyRun> runs_where(std::span<const TinyRun> runs, auto keep) {
  std::vector<TinyRun> out;
  std::ranges::copy_if(runs, std::back_inserter(out), keep);
  return out;
}

// Cycles by kind and factors of cores and processors: Gauss and Newton's method on the logarithms.
SmallLaw factors_of_runs(std::span<const TinyRun> runs) {
  SmallLaw law;
  std::map<std::string, int> of_processor;
  for (const TinyRun& r : runs) {
    law.cores[r.processor->core.name] = 0, law.processors[r.processor->id] = 0;
    ++of_processor[r.processor->id];
  }
  const auto place = [](const LawEffects& effects, const std::string& name) {
    return Eigen::Index(std::distance(effects.begin(), effects.find(name)));
  };
  constexpr auto kKinds = Eigen::Index(kSmallWorkKinds);
  const auto cores = Eigen::Index(law.cores.size()),
             size = kKinds + cores + Eigen::Index(law.processors.size());
  Eigen::VectorXd x = Eigen::VectorXd::Zero(size), drawn = Eigen::VectorXd::Zero(size);
  Eigen::VectorXd stiffness(size);
  for (Eigen::Index k = 0; k < kKinds; ++k)
    x[k] = drawn[k] = std::log(kExpectedCycles[std::size_t(k)]);
  stiffness.head(kKinds).setConstant(1 / (kCyclesSpread * kCyclesSpread));
  stiffness.segment(kKinds, cores).setConstant(1 / (kCoreSpread * kCoreSpread));
  stiffness.tail(size - kKinds - cores).setConstant(1 / (kProcessorSpread * kProcessorSpread));
  for (int round = 0; round < kTinyRounds; ++round) {
    Eigen::MatrixXd a = stiffness.asDiagonal();
    Eigen::VectorXd b = stiffness.cwiseProduct(drawn - x);
    for (const TinyRun& r : runs) {
      Eigen::VectorXd slope = Eigen::VectorXd::Zero(size);
      for (Eigen::Index k = 0; k < kKinds; ++k) slope[k] = r.work[std::size_t(k)] * std::exp(x[k]);
      const double cycles = slope.sum();
      slope /= cycles;
      const Eigen::Index core = kKinds + place(law.cores, r.processor->core.name),
                         own = kKinds + cores + place(law.processors, r.processor->id);
      slope[core] = slope[own] = 1;
      const double off = std::log(r.time * r.processor->clock / cycles) - x[core] - x[own];
      const double weight =
          huber_weight(off / kTinySpread, kTinyHuber) /
          (kTinySpread * kTinySpread * std::sqrt(double(of_processor.at(r.processor->id))));
      a += weight * slope * slope.transpose(), b += weight * off * slope;
    }
    x += a.ldlt().solve(b);
  }
  for (std::size_t k = 0; k < kSmallWorkKinds; ++k) law.cycles[k] = x[Eigen::Index(k)];
  for (auto& [name, value] : law.cores) value = x[kKinds + place(law.cores, name)];
  for (auto& [name, value] : law.processors)
    value = x[kKinds + cores + place(law.processors, name)];
  return law;
}

// The geometric mean of each board's power.
void add_powers(std::span<const TinyRun> runs, SmallLaw& law) {
  std::map<std::string, std::vector<double>> logarithms;
  for (const TinyRun& r : runs)
    if (r.energy) logarithms[r.processor->id].push_back(std::log((*r.energy / r.time).value()));
  for (const auto& [id, all] : logarithms) {
    double mean = 0;
    for (const double l : all) mean += l / double(all.size());
    law.powers[id] = Watts(std::exp(mean));
  }
}

auto same_pair(const TinyRun& of) {
  return [&of](const TinyRun& r) {
    return r.processor == of.processor && r.benchmark == of.benchmark;
  };
}

// The law without the runs of `left_out`, made once for all of them.
template <class SameGroup>
const SmallLaw& law_without(std::map<std::string, SmallLaw>& laws, const std::string& key,
                            std::span<const TinyRun> runs, SameGroup same) {
  const auto found = laws.find(key);
  if (found != laws.end()) return found->second;
  return laws[key] = fit_small_law(runs_where(runs, [&](const TinyRun& r) { return !same(r); }));
}

template <class Q>
ValidationRow tiny_row(const TinyRun& run, const char* metric, Q measured,
                       const Estimate<Q>& predicted, double unit) {
  ValidationRow v;
  v.by = {{"table", "tiny"},
          {"metric", metric},
          {"system", run.processor->id},
          {"framework", "tflite"},
          {"kind", run.processor->core.kind == "npu" ? "NPU" : "MCU"}};
  v.row = run.name;
  v.measured = measured.value() * unit, v.predicted = predicted.value.value() * unit;
  const auto at = [&](double p) { return predicted.quantile(p).value() * unit; };
  v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
  v.origin = predicted.origin;
  v.what = fmt::format("{} on {}", run.benchmark, run.processor->id);
  v.source = run.submitter;
  return v;
}

}  // namespace

std::vector<TinyRun> read_tiny_runs(const std::filesystem::path& dir,
                                    const SmallProcessors& processors, const Bundle& bundle,
                                    ValidationReport& report) {
  std::map<std::string, SmallWork, std::less<>> works;
  for (const auto& [benchmark, network] : kTinyNetworks)
    works[std::string(benchmark)] = work_of_network(network, bundle);
  CsvReader csv(dir / kTinyTable);
  const int system = csv.column("system"), benchmark = csv.column("benchmark"),
            latency = csv.column("latency_ms"), energy = csv.column("energy_uj_per_inf"),
            submitter = csv.column("submitter");
  std::vector<TinyRun> runs;
  std::map<std::string, std::size_t> refused;
  std::set<std::tuple<std::string, std::string, double>> seen;
  while (csv.next()) {
    const std::string name(csv.text(system));
    TinyRun r;
    r.processor = processors.in_text(name);
    if (r.processor == nullptr || name.find("float") != std::string::npos) {
      ++refused[r.processor == nullptr ? fmt::format("no facts of {}", name) : "floats"];
      continue;
    }
    r.benchmark = csv.text(benchmark), r.submitter = csv.text(submitter);
    r.work = works.at(r.benchmark);
    r.time = milliseconds(csv.number(latency));
    if (const auto uj = csv.optional_number(energy)) r.energy = Joules(*uj * 1e-6);
    r.name = fmt::format("{}:{}", kTinyTable, csv.line());
    if (seen.insert({r.processor->id, r.benchmark, r.time.value()}).second)
      runs.push_back(std::move(r));
  }
  for (const auto& [why, number] : refused) report.refused.push_back({kTinyTable, why, number});
  return runs;
}

SmallLaw fit_small_law(std::span<const TinyRun> runs) {
  SmallLaw law = factors_of_runs(runs);
  add_powers(runs, law);
  law.unknown_processor = kProcessorSpread, law.unknown_core = kCoreSpread;
  std::vector<double> off, energies_off;
  for (const TinyRun& r : runs) {
    const std::vector<TinyRun> others =
        runs_where(runs, [same = same_pair(r)](const TinyRun& o) { return !same(o); });
    SmallLaw without = others.empty() ? SmallLaw{} : factors_of_runs(others);
    if (!without.processors.contains(r.processor->id)) continue;
    const Estimate<Seconds> time = without.time(r.work, *r.processor);
    off.push_back(std::abs(std::log(r.time / time.value)));
    if (!r.energy) continue;
    add_powers(others, without);
    if (const auto energy = without.energy(time, *r.processor))
      energies_off.push_back(std::abs(std::log(*r.energy / energy->value)));
  }
  const auto spread = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return std::max(kLeastTinySpread, quantile(all, 0.68));
  };
  if (!off.empty()) law.known = spread(off);
  if (!energies_off.empty()) law.energy_spread = spread(energies_off);
  return law;
}

void judge_tiny(const std::filesystem::path& dir, const Bundle& bundle, ValidationReport& report) {
  if (!has_table(dir / kTinyTable, report)) return;
  const SmallProcessors processors(bundle);
  const std::vector<TinyRun> runs = read_tiny_runs(dir, processors, bundle, report);
  std::map<std::string, SmallLaw> laws;
  for (const TinyRun& r : runs) {
    const std::string& id = r.processor->id;
    const SmallLaw& other =
        law_without(laws, id, runs, [&](const TinyRun& o) { return o.processor == r.processor; });
    report.rows.push_back(
        tiny_row(r, "processor left out", r.time, other.time(r.work, *r.processor), 1e3));
    const SmallLaw& own = law_without(laws, id + " " + r.benchmark, runs, same_pair(r));
    if (!own.processors.contains(id)) continue;
    const Estimate<Seconds> time = own.time(r.work, *r.processor);
    report.rows.push_back(tiny_row(r, "network left out", r.time, time, 1e3));
    const auto energy = own.energy(time, *r.processor);
    if (r.energy && energy)
      report.rows.push_back(tiny_row(r, "energy, network left out", *r.energy, *energy, 1e6));
  }
}

}  // namespace orrery
