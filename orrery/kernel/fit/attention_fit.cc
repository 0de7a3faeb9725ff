#include "orrery/kernel/fit/attention_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>
#include <variant>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/samples.h"
#include "orrery/workload/plan/attention_backend.h"

namespace orrery {
namespace {

constexpr std::int64_t kShortest = 1024;  // tokens; shorter calls are mostly their launch

struct RatioKey {
  std::string backend, architecture;
  int head_dim = 0;
  auto operator<=>(const RatioKey&) const = default;
};
using RatioLogs = std::map<RatioKey, std::array<std::vector<double>, 2>>;  // forward, backward

// The same call on one GPU by several libraries.
struct SweptCall {
  std::string architecture;
  int head_dim = 0;
  std::map<std::string, double, std::less<>> logs;  // of the time, by library
};
using SweptCalls = std::map<std::pair<std::string, std::uint64_t>, SweptCall>;

void read_calls(const std::filesystem::path& file, const KernelTables& tables,
                const std::vector<AttentionBackend>& backends, const Catalog& catalog,
                SweptCalls& calls) {
  CsvReader csv(file);
  const int system = csv.column("system"), time = csv.column("latency_us");
  while (csv.next()) {
    KernelSample sample;
    if (!tables.read(csv, tables.tables().front(), sample)) continue;
    const auto known =
        std::find_if(backends.begin(), backends.end(), [&](const AttentionBackend& b) {
          return !b.measured_as.empty() && b.measured_as == sample.framework;
        });
    if (known == backends.end()) continue;
    const auto* backward = std::get_if<AttentionBackward>(&sample.op);
    const PrefillAttention& a =
        backward ? backward->forward : std::get<PrefillAttention>(sample.op);
    if (a.new_tokens < kShortest || a.window > 0 || !a.causal) continue;
    const std::string gpu(csv.text(system));
    SweptCall& call = calls[{gpu, sample.shape}];
    call.architecture = catalog.gpu(gpu).architecture.kernels;
    call.head_dim = a.head_dim;
    call.logs[known->name] = std::log(csv.number(time));
  }
}

// Ratios over the library that `against` names, call by call.
void add_ratios(const SweptCalls& calls, const std::vector<AttentionBackend>& backends,
                std::size_t pass, RatioLogs& logs) {
  for (const auto& [key, call] : calls) {
    for (const AttentionBackend& b : backends) {
      const auto own = call.logs.find(b.name), other = call.logs.find(b.against);
      if (own == call.logs.end() || other == call.logs.end()) continue;
      logs[{b.name, call.architecture, call.head_dim}][pass].push_back(own->second - other->second);
    }
  }
}

double mean_of(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

// Root of the mean square of what both means leave.
double deviation_of(const std::array<std::vector<double>, 2>& passes) {
  double squares = 0, n = 0;
  for (const std::vector<double>& v : passes) {
    const double mean = mean_of(v);
    for (const double x : v) squares += (x - mean) * (x - mean), n += 1;
  }
  return n > 0 ? std::sqrt(squares / n) : 0;
}

}  // namespace

FittedAttention fit_attention(const std::filesystem::path& dir, const std::string& date,
                              const Bundle& bundle) {
  const std::vector<AttentionBackend> backends = load_attention_backends(bundle);
  const Catalog catalog(bundle);
  RatioLogs logs;
  const std::array<const KernelTables*, 2> passes = {&tables_of(prefill_attention_family()),
                                                     &tables_of(attention_backward_family())};
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    const std::string table = passes[pass]->tables().front();
    const auto file = table_file(dir, table);
    if (!file) throw InputError(fmt::format("{}: no table {}", dir.string(), table));
    SweptCalls timed;
    read_calls(*file, *passes[pass], backends, catalog, timed);
    add_ratios(timed, backends, pass, logs);
  }
  FittedAttention out;
  std::string lines;
  int calls = 0;
  for (const auto& [key, of] : logs) {
    if (of[0].empty() || of[1].empty()) continue;  // a library is known by both passes
    FittedAttention::Row row{key.backend, key.architecture, key.head_dim,
                             static_cast<int>(of[0].size() + of[1].size())};
    row.forward = std::exp(mean_of(of[0])), row.backward = std::exp(mean_of(of[1]));
    row.error = deviation_of(of);
    calls += row.calls;
    lines += fmt::format(
        "  - {{backend: {}, architecture: {}, head_dim: {}, forward: {:.3f}, backward: {:.3f}, "
        "error: {:.3f}, rows: {}}}\n",
        row.backend, row.architecture, row.head_dim, row.forward, row.backward, row.error,
        row.calls);
    out.rows.push_back(std::move(row));
  }
  if (out.rows.empty())
    throw InputError(fmt::format(
        "{}: no two libraries of training/attention.yaml timed the same calls", dir.string()));
  out.yaml = fmt::format(
      "# Made by `orrery fit attention`: do not edit.\n"
      "recipe: \"{} calls of {}, {}: times over those of the library that `against` "
      "names\"\nratios:\n{}",
      calls,
      dir.filename().empty() ? dir.parent_path().filename().string() : dir.filename().string(),
      date, lines);
  return out;
}

}  // namespace orrery
