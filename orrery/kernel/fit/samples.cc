#include "orrery/kernel/fit/samples.h"

#include <fmt/format.h>

#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/random.h"

namespace orrery {

bool is_left_out(const KernelSample& s) { return s.shape % 100 < 15; }

std::optional<std::filesystem::path> table_file(const std::filesystem::path& dir,
                                                std::string_view table) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    std::filesystem::path path = dir / (std::string(table) + ending);
    if (std::filesystem::is_regular_file(path)) return path;
  }
  return std::nullopt;
}

FamilySamples read_samples(const std::filesystem::path& dir, const KernelTables& tables,
                           const Catalog& catalog, std::vector<std::string>& refused,
                           const std::set<std::string>& gpus) {
  std::map<std::string, std::optional<KernelGpu>> known;
  auto gpu_of = [&](const std::string& system) -> const std::optional<KernelGpu>& {
    const auto [it, is_new] = known.try_emplace(system);
    if (is_new) {
      try {
        it->second.emplace(catalog.gpu(system));
        if (!gpus.empty() && !gpus.contains(it->second->id)) it->second.reset();
      } catch (const InputError& e) {
        refused.push_back(e.what());
      }
    }
    return it->second;
  };
  FamilySamples out;
  for (const std::string& table : tables.tables()) {
    const auto path = table_file(dir, table);
    if (!path) {
      refused.push_back(fmt::format("{}: no such table", (dir / (table + ".csv.gz")).string()));
      continue;
    }
    CsvReader csv(*path);
    const int system = csv.column("system"), latency = csv.column("latency_us"),
              version = csv.column("version"), source = csv.column("kernel_source");
    while (csv.next()) {
      const std::optional<KernelGpu>& gpu = gpu_of(std::string(csv.text(system)));
      KernelSample s;
      // The time of a call that a sweep could not capture in a graph may be that of the host.
      if (!gpu || csv.text(source).ends_with("_eager") || !tables.read(csv, table, s)) continue;
      const Seconds time = microseconds(csv.number(latency));
      if (time <= Seconds(0)) continue;
      const KernelPoint p = tables.family().point(s.op, *gpu, true);
      ClassSamples& c = out[{s.framework, gpu->id}][s.kernel_class];
      if (time < p.least * kImpossible) {
        ++c.impossible;
        continue;
      }
      c.points.push_back({p, p.base.value(), p.least.value(), time.value(), is_left_out(s)});
      c.versions.emplace(csv.text(version));
    }
  }
  return out;
}

}  // namespace orrery
