#include "orrery/validate/edge/judge_edge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "orrery/base/error.h"
#include "orrery/base/random.h"
#include "orrery/validate/edge/edge_law_fit.h"
#include "orrery/validate/edge/judge_llm.h"
#include "orrery/validate/edge/judge_mlperf.h"
#include "orrery/validate/edge/judge_nas.h"
#include "orrery/validate/edge/judge_tiny.h"
#include "orrery/validate/edge/llm_noise.h"

namespace orrery {
namespace {

constexpr const char* kNcnn = "ncnn";
constexpr const char* kNas = "nas";
constexpr const char* kMlperf = "mlperf";
constexpr const char* kTiny = "tiny";
constexpr const char* kNcnnNetworks = "ncnn, network left out, too";
constexpr std::array kLaws = {"ncnn-cpu", "ncnn-gpu"};
constexpr unsigned kDeviceFolds = 5, kNetworkFolds = 8;
constexpr std::array<std::size_t, 3> kMeasured = {0, 5, 10};
// Fewer rows than these beside the measured ones say nothing.
constexpr std::size_t kLeastJudged = 3;

unsigned fold_of(std::string_view name, unsigned folds) {
  return static_cast<unsigned>(hash_text(name) % folds);
}

ValidationRow row_of(const EdgeRun& run, const EdgeRow& row, const char* table,
                     const std::string& metric, const Estimate<Seconds>& time) {
  ValidationRow v;
  v.by = {{"table", table},
          {"metric", metric},
          {"system", run.device},
          {"framework", "ncnn"},
          {"kind", run.law == kLaws[0] ? "CPU" : "GPU"}};
  v.row = row.name;
  v.measured = row.time.value() * 1e3, v.predicted = time.value.value() * 1e3;
  const auto at = [&](double p) { return time.quantile(p).value() * 1e3; };
  v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
  v.origin = time.origin;
  v.what = fmt::format("{} on {}, {}", row.network, run.device, run.processor);
  v.source = "ncnn";
  return v;
}

// The rows of a run that are judged, and those that may be measured.
struct Split {
  std::vector<const EdgeRow*> judged, measurable;
};

// Adds the rows of one run by a law that has not seen its device.
void judge_run(const EdgeRun& run, const Split& split, const EdgeLaw& law, const char* table,
               ValidationReport& report) {
  const EdgeCosts before = law.costs(run.facts);
  const auto task = [&](const EdgeRow& r) { return EdgeTask{r.work, law.deviation_of(r.network)}; };
  for (const std::size_t count : kMeasured) {
    if (run.rows.size() < count + kLeastJudged || split.measurable.size() < count) continue;
    std::vector<MeasuredNetwork> measured;
    for (std::size_t i = 0; i < count; ++i)
      measured.push_back({task(*split.measurable[i]), split.measurable[i]->time});
    const EdgeCosts costs = calibrated(before, measured);
    const std::string metric = count == 0 ? "facts alone" : fmt::format("{} measured", count);
    for (const EdgeRow* row : split.judged) {
      const auto end = split.measurable.begin() + std::ptrdiff_t(count);
      if (std::find(split.measurable.begin(), end, row) != end) continue;
      const Origin origin = count == 0 ? Origin::kTransferred : Origin::kFitted;
      report.rows.push_back(
          row_of(run, *row, table, metric, time_of(costs, task(*row), law.residual, origin)));
    }
  }
}

// The rows of a run in an order that does not depend on the table's.
std::vector<const EdgeRow*> by_hash(const EdgeRun& run) {
  std::vector<const EdgeRow*> rows;
  for (const EdgeRow& r : run.rows) rows.push_back(&r);
  const auto key = [&](const EdgeRow* r) {
    return std::pair(hash_text(run.device + run.processor + r->network), r->name);
  };
  std::sort(rows.begin(), rows.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  return rows;
}

void judge_law(const std::vector<EdgeRun>& runs, bool networks, const char* table,
               ValidationReport& report) {
  const unsigned network_folds = networks ? kNetworkFolds : 1;
  for (unsigned d = 0; d < kDeviceFolds; ++d) {
    for (unsigned n = 0; n < network_folds; ++n) {
      const auto left_out = [&](const EdgeRow& row) {
        return networks && fold_of(row.architecture, kNetworkFolds) == n;
      };
      const EdgeLaw law = fit_edge_law(runs, [&](const EdgeRun& run, const EdgeRow& row) {
        return fold_of(run.device, kDeviceFolds) != d && !left_out(row);
      });
      for (const EdgeRun& run : runs) {
        if (fold_of(run.device, kDeviceFolds) != d) continue;
        Split split;
        for (const EdgeRow* row : by_hash(run)) {
          if (!networks || left_out(*row)) split.judged.push_back(row);
          if (!left_out(*row)) split.measurable.push_back(row);
        }
        judge_run(run, split, law, table, report);
      }
    }
  }
}

std::vector<EdgeRun> of_law(const std::vector<EdgeRun>& runs, std::string_view law) {
  std::vector<EdgeRun> out;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(out),
               [&](const EdgeRun& r) { return r.law == law; });
  return out;
}

}  // namespace

ValidationReport validate_edge(const std::filesystem::path& dir, const std::string& table,
                               const Bundle& bundle) {
  const std::vector<std::string> llms = llm_tables();
  const bool llm = std::find(llms.begin(), llms.end(), table) != llms.end();
  if (!table.empty() && !llm && table != kNcnn && table != kNcnnNetworks && table != kNas &&
      table != kMlperf && table != kTiny)
    throw InputError(
        fmt::format("expected the table '{}', '{}', '{}', '{}', '{}' or '{}', got '{}'", kNcnn,
                    kNcnnNetworks, kNas, kMlperf, kTiny, fmt::join(llms, "', '"), table));
  ValidationReport report;
  report.area = "edge";
  if ((llm || table.empty()) && has_table(dir / "llm_edge.csv", report)) {
    const LlmChips chips(bundle);
    const std::vector<LlmRow> rows = read_llm_rows(dir, chips, bundle, report);
    report.note = note_of_llm_noise(rows);
    for (const std::string& t : llms) {
      if (table == t || (table.empty() && !is_slow_llm_table(t))) judge_llm(rows, t, report);
    }
  }
  if (llm) return report;
  if (table.empty() || table == kNas) judge_nas(dir, report);
  if (table.empty() || table == kMlperf) judge_mlperf_networks(dir, bundle, report);
  if (table.empty() || table == kTiny) judge_tiny(dir, bundle, report);
  if (table == kNas || table == kMlperf || table == kTiny) return report;
  const std::vector<EdgeRun> runs = read_edge_runs(dir, EdgeDevices(bundle), report);
  for (const char* law : kLaws) {
    const std::vector<EdgeRun> own = of_law(runs, law);
    if (own.empty()) continue;
    if (table.empty() || table == kNcnn) judge_law(own, false, kNcnn, report);
    if (table.empty() || table == kNcnnNetworks) judge_law(own, true, kNcnnNetworks, report);
  }
  return report;
}

std::vector<std::pair<std::string, std::string>> fit_edge(const std::filesystem::path& dir,
                                                          const std::string& date,
                                                          const Bundle& bundle, PartMeter* meter) {
  constexpr std::size_t kOtherTables = 3;
  expect_parts(meter, kLaws.size() + kOtherTables);
  ValidationReport report;
  std::vector<EdgeRun> runs;
  if (std::filesystem::exists(dir / "cnn_edge.csv"))
    runs = read_edge_runs(dir, EdgeDevices(bundle), report);
  std::vector<std::pair<std::string, std::string>> files;
  for (const char* name : kLaws) {
    const std::vector<EdgeRun> own = of_law(runs, name);
    if (own.empty()) continue;
    EdgeLaw law = fit_edge_law(own, [](const EdgeRun&, const EdgeRow&) { return true; });
    std::size_t rows = 0;
    for (const EdgeRun& r : own) rows += r.rows.size();
    law.recipe =
        fmt::format("data/edge/cnn_edge.csv, {} rows of {} processors, {}", rows, own.size(), date);
    files.emplace_back(fmt::format("edge/laws/{}.yaml", name), edge_law_text(law));
    finish_parts(meter);
  }
  if (std::filesystem::exists(dir / "llm_edge.csv")) {
    const LlmChips chips(bundle);
    const std::vector<LlmRow> rows = read_llm_rows(dir, chips, bundle, report);
    LlmLaws laws = fit_llm_laws(rows);
    laws.recipe = fmt::format("data/edge/llm_edge.csv, {} rates, {}", rows.size(), date);
    files.emplace_back("edge/llm.yaml", llm_laws_text(laws));
    finish_parts(meter);
  }
  if (std::filesystem::exists(dir / "mlperf_edge.csv")) {
    const std::vector<MlperfRow> rows = read_mlperf_rows(dir, report);
    const std::vector<TimedRun> timed = time_runs(rows, bundle);
    EngineLaw law = fit_engine_law(timed, "");
    law.recipe = fmt::format("data/edge/mlperf_edge.csv, {} runs on GPUs, {}", timed.size(), date);
    files.emplace_back("edge/laws/engines.yaml", engine_law_text(law));
    finish_parts(meter);
  }
  if (std::filesystem::exists(dir / "mlperf_tiny.csv")) {
    const SmallProcessors processors(bundle);
    const std::vector<TinyRun> tiny = read_tiny_runs(dir, processors, bundle, report);
    SmallLaw law = fit_small_law(tiny);
    law.recipe = fmt::format("data/edge/mlperf_tiny.csv, {} runs of {} processors, {}", tiny.size(),
                             law.processors.size(), date);
    files.emplace_back("edge/laws/small.yaml", small_law_text(law));
  }
  return files;
}

}  // namespace orrery
