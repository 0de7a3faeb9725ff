#include "orrery/kernel/fit/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/random.h"
#include "orrery/kernel/fit/swept_kernel_model.h"
#include "orrery/kernel/tiers/calibration.h"

namespace orrery {
namespace {

// Columns that distinguish the table of a family from the others.
struct TableKind {
  std::string_view family;
  std::vector<std::string_view> columns;
};
const std::vector<TableKind>& table_kinds() {
  static const std::vector<TableKind> kinds = {
      {"moe", {"topk", "experts", "tokens", "hidden", "inter"}},
      {"mla", {"phase", "mla_dtype", "heads", "batch", "isl"}},
      {"attention_decode", {"attn_dtype", "heads", "kv_heads", "head_dim", "kv_len", "batch"}},
      {"attention_prefill", {"attn_dtype", "heads", "kv_heads", "head_dim", "isl", "batch"}},
      {"linear_attention", {"d_conv", "k_heads", "v_heads", "phase", "batch", "seq"}},
      {"mla_bmm", {"op", "dtype", "tokens", "heads"}},
      {"gemm", {"dtype", "m", "n", "k"}},
  };
  return kinds;
}

const KernelTables& tables_of(const CsvReader& csv, const std::filesystem::path& path) {
  for (const TableKind& kind : table_kinds()) {
    if (!std::all_of(kind.columns.begin(), kind.columns.end(),
                     [&](std::string_view c) { return csv.find(c).has_value(); }))
      continue;
    for (const KernelTables* tables : all_kernel_tables()) {
      if (tables->family().name() == kind.family) return *tables;
    }
  }
  std::vector<std::string> known;
  for (const TableKind& kind : table_kinds())
    known.push_back(fmt::format("{} ({})", kind.family, fmt::join(kind.columns, " ")));
  throw InputError(
      fmt::format("{}: no kernel family has these columns; expected latency_us and those of {}",
                  path.string(), fmt::join(known, ", ")));
}

// The value of a column that is absent.
std::string absent_value(std::string_view column, const std::string& framework,
                         const CsvReader& csv) {
  if (column == "framework") return framework.empty() ? "vllm" : framework;
  if (column == "window" || column == "past") return "0";
  if (column == "tp" || column == "ep" || column == "tp_size") return "1";
  if (column == "distribution") return "balanced";
  if (column == "kernel_source") return "default";
  if (column == "kv_dtype") {
    for (const char* name : {"attn_dtype", "mla_dtype"}) {
      if (const auto c = csv.find(name)) return std::string(csv.text(*c));
    }
  }
  if (column == "table" && csv.find("mla_dtype")) {
    return csv.text(csv.column("phase")) == "decode" ? "generation_mla" : "context_mla";
  }
  if (column == "table") return "gdn";
  return "";
}

// The table with every column that a family reads.
std::string completed(const std::filesystem::path& path, const std::string& framework) {
  CsvReader csv(path);
  std::vector<std::string> absent;
  for (const char* name : {"system", "framework", "version", "kernel_source", "kv_dtype", "window",
                           "past", "tp", "ep", "tp_size", "distribution", "table"}) {
    if (!csv.find(name)) absent.push_back(name);
  }
  std::string out = fmt::format("{}", fmt::join(csv.header(), ","));
  for (const std::string& name : absent) out += "," + name;
  out += "\n";
  while (csv.next()) {
    for (std::size_t i = 0; i < csv.header().size(); ++i) {
      const std::string_view cell = csv.text(static_cast<int>(i));
      if (cell.find_first_of(",\"\n") != std::string_view::npos)
        csv.fail(static_cast<int>(i), "expected a word or a number");
      out += (i ? "," : "") + std::string(cell);
    }
    for (const std::string& name : absent) out += "," + absent_value(name, framework, csv);
    out += "\n";
  }
  return out;
}

std::size_t axes_in_use(const KernelFamily& family) { return family.axes().size(); }

}  // namespace

PointFit calibrate(const KernelFamily& family, const KernelGpu& gpu,
                   const std::vector<MeasuredCall>& calls, const Bundle& bundle, TierChoice tier) {
  PointFit fit;
  std::map<std::pair<std::string, std::string>, std::vector<const MeasuredCall*>> sorted;
  for (const MeasuredCall& c : calls)
    sorted[{c.sample.framework, c.sample.kernel_class}].push_back(&c);
  const Bundle uncalibrated = bundle.replacing("calibration", {});
  struct ClassPoints {
    std::string framework, name;
    std::vector<CalibrationSample> samples;
    double error = 0, before = 0;  // stated; in percent, before the calibration
  };
  std::vector<ClassPoints> classes;
  std::map<std::string, std::unique_ptr<SweptKernelModel>> models;
  for (auto& [of, members] : sorted) {
    const auto& [framework, name] = of;
    std::unique_ptr<SweptKernelModel>& model = models[framework];
    if (!model)
      model = std::make_unique<SweptKernelModel>(gpu, kernels_of(framework), uncalibrated, tier);
    if (members.size() > kMostCalibrationPoints) {
      const auto order = [](const MeasuredCall* c) { return hash_text(describe(c->sample.op)); };
      std::stable_sort(members.begin(), members.end(),
                       [&](const auto* a, const auto* b) { return order(a) < order(b); });
      members.resize(kMostCalibrationPoints);
    }
    ClassPoints points{framework, name, {}};
    bool measured = false;
    for (const MeasuredCall* c : members) {
      const KernelPoint p = family.point(c->sample.op, gpu, true);
      const KernelTime t = model->predict(family, c->sample.op);
      measured = measured || t.time.origin == Origin::kMeasured;
      points.error = t.time.sigma();
      points.samples.push_back(
          {calibration_place(t.time.value, p), std::log(c->time.value() / t.time.value.value())});
      points.before +=
          100 * std::abs(t.time.value / c->time - 1) / static_cast<double>(members.size());
    }
    if (measured) {
      fit.refused.push_back(
          fmt::format("{} {} {}: {} has a sweep of it", framework, family.name(), name, gpu.id));
      continue;
    }
    classes.push_back(std::move(points));
  }
  std::map<std::string, CalibrationFile> files;  // by framework
  for (const ClassPoints& its : classes) {
    std::vector<std::span<const CalibrationSample>> others;
    // Kernels of the same engine, and the same format in other engines.
    for (const ClassPoints& other : classes) {
      if (&other != &its && (other.framework == its.framework || other.name == its.name))
        others.emplace_back(other.samples);
    }
    const std::size_t places = axes_in_use(family) + 1;
    Calibration c = fit_calibration(its.name, its.samples, places, its.error,
                                    related_samples(its.samples, others, places, its.error));
    fit.classes.push_back({std::string(family.name()), its.framework, its.name, its.samples.size(),
                           its.before, 100 * c.own * std::sqrt(2 / std::acos(-1.0))});
    files[its.framework].classes.push_back(std::move(c));
  }
  for (auto& [framework, file] : files) {
    file.comment = "# Made by `orrery fit points` from measured calls of this GPU: do not edit.\n";
    fit.files[calibration_path(family.name(), framework, gpu.id)] = to_text(file);
  }
  return fit;
}

PointFit calibrate_from(const std::filesystem::path& table, const Gpu& gpu,
                        const std::string& framework, const Bundle& bundle) {
  require_file(table);
  const KernelTables& tables = tables_of(CsvReader(table), table);
  const KernelFamily& family = tables.family();
  const std::string text = completed(table, framework);
  CsvReader csv(text, table.string());
  const int latency = csv.column("latency_us");
  std::vector<MeasuredCall> calls;
  PointFit fit;
  while (csv.next()) {
    MeasuredCall call;
    const double time = csv.number(latency);
    if (!(time > 0)) csv.fail(latency, "expected a time above 0");
    if (!tables.read(csv, tables.tables().front(), call.sample)) {
      fit.refused.push_back(fmt::format("{}:{}: no kernel class of {}, or known to be unsound",
                                        table.string(), csv.line(), family.name()));
      continue;
    }
    call.time = microseconds(time);
    calls.push_back(std::move(call));
  }
  PointFit made = calibrate(family, gpu, calls, bundle);
  made.refused.insert(made.refused.begin(), fit.refused.begin(), fit.refused.end());
  return made;
}

}  // namespace orrery
