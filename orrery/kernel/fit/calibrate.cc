#include "orrery/kernel/fit/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/random.h"
#include "orrery/kernel/fit/point_choice.h"
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

// Keeps `most` members, those whose ops have the smallest hashes.
template <class Member, class OpOf>
void keep_smallest_hashes(std::vector<Member>& members, std::size_t most, const OpOf& op_of) {
  if (members.size() <= most) return;
  std::vector<std::pair<std::uint64_t, Member>> hashed;
  for (const Member& m : members) hashed.emplace_back(hash_text(describe(op_of(m))), m);
  std::stable_sort(hashed.begin(), hashed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  members.clear();
  for (std::size_t i = 0; i < most; ++i) members.push_back(hashed[i].second);
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
    keep_smallest_hashes(members, kMostCalibrationPoints,
                         [](const MeasuredCall* c) -> const Op& { return c->sample.op; });
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

std::vector<std::size_t> calls_to_measure(const KernelFamily& family, const KernelGpu& gpu,
                                          const std::vector<KernelSample>& candidates,
                                          std::size_t count, const Bundle& bundle,
                                          TierChoice tier) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> sorted;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    sorted[{candidates[i].framework, candidates[i].kernel_class}].push_back(i);
  const Bundle uncalibrated = bundle.replacing("calibration", {});
  std::map<std::string, std::unique_ptr<SweptKernelModel>> models;
  std::map<std::string, std::vector<std::vector<CalibrationPlace>>> chosen_places;  // by class
  std::vector<std::size_t> chosen;
  for (auto& [of, members] : sorted) {
    const auto& [framework, name] = of;
    std::unique_ptr<SweptKernelModel>& model = models[framework];
    if (!model)
      model = std::make_unique<SweptKernelModel>(gpu, kernels_of(framework), uncalibrated, tier);
    keep_smallest_hashes(members, kMostCandidates,
                         [&](std::size_t i) -> const Op& { return candidates[i].op; });
    std::vector<CalibrationPlace> places;
    for (const std::size_t i : members) {
      const Op& op = candidates[i].op;
      places.push_back(
          calibration_place(model->predict(family, op).time.value, family.point(op, gpu, true)));
    }
    std::vector<std::vector<CalibrationPlace>>& related = chosen_places[name];
    std::vector<CalibrationPlace>& its = related.emplace_back();
    const std::span before(related.data(), related.size() - 1);
    for (const std::size_t i : choose_points(places, count, axes_in_use(family) + 1, before)) {
      chosen.push_back(members[i]);
      its.push_back(places[i]);
    }
  }
  return chosen;
}

namespace {

// A table with the columns of a family, as calls of it.
struct CallTable {
  const KernelTables* tables = nullptr;
  std::string header;
  std::vector<KernelSample> samples;
  std::vector<std::string> rows;  // of the samples, as the table has them
  std::vector<double> times;      // us; 0: the table has no times
  std::vector<std::string> refused;
};

CallTable read_calls(const std::filesystem::path& table, const std::string& framework, bool timed) {
  require_file(table);
  CallTable out;
  CsvReader given(table);
  out.tables = &tables_of(given, table);
  out.header = fmt::format("{}", fmt::join(given.header(), ","));
  const std::string text = completed(table, framework);
  CsvReader csv(text, table.string());
  const int latency = timed ? csv.column("latency_us") : -1;
  while (csv.next()) {
    given.next();
    const double time = timed ? csv.number(latency) : 0;
    if (timed && !(time > 0)) csv.fail(latency, "expected a time above 0");
    KernelSample sample;
    if (!out.tables->read(csv, out.tables->tables().front(), sample)) {
      out.refused.push_back(fmt::format("{}:{}: no kernel class of {}, or known to be unsound",
                                        table.string(), csv.line(), out.tables->family().name()));
      continue;
    }
    std::string row;
    for (std::size_t i = 0; i < given.header().size(); ++i)
      row.append(i ? "," : "").append(given.text(static_cast<int>(i)));
    out.rows.push_back(std::move(row));
    out.samples.push_back(std::move(sample));
    out.times.push_back(time);
  }
  return out;
}

}  // namespace

PointFit calibrate_from(const std::filesystem::path& table, const Gpu& gpu,
                        const std::string& framework, const Bundle& bundle) {
  const CallTable read = read_calls(table, framework, true);
  std::vector<MeasuredCall> calls;
  for (std::size_t i = 0; i < read.samples.size(); ++i)
    calls.push_back({read.samples[i], microseconds(read.times[i])});
  PointFit made = calibrate(read.tables->family(), gpu, calls, bundle);
  made.refused.insert(made.refused.begin(), read.refused.begin(), read.refused.end());
  return made;
}

std::string table_to_measure(const std::filesystem::path& candidates, const Gpu& gpu,
                             const std::string& framework, std::size_t count,
                             const Bundle& bundle) {
  const CallTable read = read_calls(candidates, framework, false);
  std::string out = read.header + "\n";
  for (const std::size_t i :
       calls_to_measure(read.tables->family(), gpu, read.samples, count, bundle))
    out += read.rows[i] + "\n";
  return out;
}

}  // namespace orrery
