#include "orrery/kernel/fit/eager_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/fit.h"
#include "orrery/base/index.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"
#include "orrery/kernel/fit/class_fit.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/kernel/surface/surface.h"
#include "orrery/workload/ops/op.h"

namespace orrery {
namespace {

constexpr std::string_view kFramework = "pytorch";
// Between events and outside the kernel. Pointwise work of 30 to 100 us takes 11 to 23 us more than
// its slope over bytes explains (8 GPUs), of which about 4 are the kernel's own start and end.
constexpr Seconds kLaunch = microseconds(10);
constexpr Seconds kKernelFloor = microseconds(4);
constexpr double kHostBound = 1.25;  // times the fastest call of the op: below, the host decides
constexpr std::size_t kLeastRows = 40;

struct EagerTable {
  std::string_view name;
  const KernelFamily* family;
};

std::array<EagerTable, 5> eager_tables() {
  return {{{"linear", &gemm_family()},
           {"bmm", &batched_gemm_family()},
           {"softmax", &row_kernel_family()},
           {"ln", &row_kernel_family()},
           {"elementwise", &row_kernel_family()}}};
}

Op product(const CsvReader& row) {
  Gemm g;
  g.batch = row.integer(row.column("b"));
  g.m = row.integer(row.column("m"));
  g.n = row.integer(row.column("n"));
  g.k = row.integer(row.column("k"));
  g.format = Format::kFp32;
  g.weight = row.text(row.column("op")) == "linear";
  return g;
}

// add, div, mul and pow of two tensors read both; those that end in `u` and the activations one.
Op row_work(const CsvReader& row, std::string_view table) {
  const std::string_view name = row.text(row.column("op"));
  const bool binary = name == "add" || name == "div" || name == "mul" || name == "pow";
  Elementwise e;
  e.kind = table == "softmax" ? Elementwise::Kind::kSoftmax
           : table == "ln"    ? Elementwise::Kind::kNorm
           : binary           ? Elementwise::Kind::kAdd
                              : Elementwise::Kind::kActivation;
  e.rows = row.integer(row.column("rows"));
  e.width = row.integer(row.column("width"));
  e.written = 4.0 * static_cast<double>(e.rows) * static_cast<double>(e.width) * Bytes(1);
  e.read = e.written * (binary ? 2 : 1);
  return e;
}

std::string class_of(const KernelFamily& family, const Op& op) {
  return family.classes()[index(family.class_of(op))].sources.front().name;
}

// Products whose operands' rows begin on 16 bytes: others run kernels without vector loads, up to
// four times as slow on Pascal. Sizes of models are aligned; only such rows are fitted. A linear
// layer's weight is stored by columns.
bool is_aligned(const Op& op) {
  const auto* g = std::get_if<Gemm>(&op);
  return !g || (g->k % 4 == 0 && (g->weight || g->n % 4 == 0));
}

struct TimedOp {
  Op op;
  std::string name;  // of the operation: its host time is its own
  Seconds time;
};
// By GPU id.
using TimedOps = std::map<std::string, std::vector<TimedOp>>;

TimedOps read_table(const std::filesystem::path& path, std::string_view table,
                    const Catalog& catalog, KernelFit& fit) {
  TimedOps out;
  std::map<std::string, std::string> ids;  // empty: not in the catalog
  // `n` is a size of products and, at the end, in how many files the row was measured.
  CsvReader csv(path, CsvReader::Repeated::kFirst);
  const int gpu = csv.column("gpu"), name = csv.column("op"), dtype = csv.column("dtype"),
            time = csv.column("latency_us");
  while (csv.next()) {
    if (csv.text(dtype) != "fp32") continue;
    const auto [it, is_new] = ids.try_emplace(std::string(csv.text(gpu)));
    if (is_new) {
      try {
        it->second = catalog.gpu(eager_gpu_name(it->first)).id;
      } catch (const InputError& e) {
        fit.refused.push_back(e.what());
      }
    }
    if (it->second.empty()) continue;
    const Op op = table == "linear" || table == "bmm" ? product(csv) : row_work(csv, table);
    // One product of a batch of one is a plain product.
    const auto* g = std::get_if<Gemm>(&op);
    if (table == "bmm" && g->batch < 2) continue;
    if (!is_aligned(op)) continue;
    out[it->second].push_back({op, std::string(csv.text(name)), microseconds(csv.number(time))});
  }
  return out;
}

}  // namespace

std::string eager_gpu_name(std::string_view name) {
  // The catalog says a40g for what the tables call 40gb.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {
      {{"a100_pcie_40gb", "a100-40g-pcie"},
       {"a100_pcie_80gb", "a100-80g-pcie"},
       {"a100_sxm_40gb", "a100-40g-sxm"},
       {"v100_pcie_32gb", "v100-32g-pcie"},
       {"p100_pcie_16gb", "p100-pcie"},
       {"h100_sxm", "h100-sxm"},
       {"mi250", "mi210"}}};  // a process runs on one of its dies, each of which is an MI210
  for (const auto& [from, to] : kNames) {
    if (name == from) return std::string(to);
  }
  return std::string(name);
}

bool has_eager_tables(const std::filesystem::path& dir) {
  const auto tables = eager_tables();
  // A sweep's `elementwise` is another table.
  return !std::filesystem::exists(dir / "device.json") &&
         std::any_of(tables.begin(), tables.end(), [&](const EagerTable& t) {
           return std::filesystem::exists(dir / fmt::format("{}.csv.gz", t.name));
         });
}

void fit_eager(const std::filesystem::path& dir, const std::string& only, const std::string& date,
               const Bundle& bundle, KernelFit& fit) {
  const Catalog catalog(bundle);
  // By family, then GPU, then kernel class.
  std::map<const KernelFamily*, std::map<std::string, std::map<std::string, ClassSamples>>> samples;
  std::map<const KernelFamily*, std::vector<std::string>> tables;
  for (const EagerTable& table : eager_tables()) {
    if (!only.empty() && only != table.family->name()) continue;
    const std::filesystem::path path = dir / fmt::format("{}.csv.gz", table.name);
    if (!std::filesystem::exists(path)) {
      fit.refused.push_back(fmt::format("{}: no such table", path.string()));
      continue;
    }
    tables[table.family].emplace_back(table.name);
    for (const auto& [id, ops] : read_table(path, table.name, catalog, fit)) {
      const KernelGpu gpu = catalog.gpu(id);
      std::map<std::string, Seconds> host;  // the fastest call of each operation
      for (const TimedOp& t : ops) {
        const auto [it, is_new] = host.try_emplace(t.name, t.time);
        if (!is_new) it->second = std::min(it->second, t.time);
      }
      for (const TimedOp& t : ops) {
        if (t.time < host.at(t.name) * kHostBound) continue;
        const KernelPoint p = table.family->point(t.op, gpu, true);
        const Seconds kernel = t.time - kLaunch;
        ClassSamples& c = samples[table.family][id][class_of(*table.family, t.op)];
        if (kernel < p.least * kImpossible) {
          ++c.impossible;
          continue;
        }
        const bool left_out = leave_out_by_hash(describe(t.op), 10);
        c.points.push_back({p, p.base.value(), p.least.value(), kernel.value(), left_out});
      }
    }
  }
  for (auto& [family, gpus] : samples) {
    for (auto& [id, classes] : gpus) {
      SurfaceFile file;
      file.axes.nodes = family->axes();
      std::string errors;
      for (auto& [name, c] : classes) {
        if (c.points.size() < kLeastRows) continue;
        Surface s = fit_surface(name, *family, c.points, kKernelFloor);
        KernelFitRow row = judge_surface(file, s, c.points);
        row.family = family->name();
        row.framework = kFramework;
        row.gpu = id;
        row.kernel_class = name;
        errors += fmt::format("# {}: {}; {} impossibly fast rows not used\n", name, to_text(row),
                              c.impossible);
        file.surfaces.push_back(std::move(s));
        fit.rows.push_back(std::move(row));
      }
      if (file.surfaces.empty()) continue;
      file.comment =
          fmt::format("# Made by `orrery fit kernels --data DIR` from {} on {}: do not edit.\n{}",
                      fmt::join(tables[family], ", "), date, errors);
      fit.files.emplace_back(surface_path(family->name(), kFramework, id),
                             compressed_surfaces(to_text(file)));
    }
  }
}

}  // namespace orrery
