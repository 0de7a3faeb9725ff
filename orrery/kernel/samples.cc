#include "orrery/kernel/samples.h"

#include <fmt/format.h>

#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/random.h"

namespace orrery {

FamilySamples read_samples(const std::filesystem::path& dir, const KernelFamily& family,
                           const Catalog& catalog, std::vector<std::string>& refused) {
  std::map<std::string, std::optional<Gpu>> gpus;
  auto gpu_of = [&](const std::string& system) -> const std::optional<Gpu>& {
    const auto [it, is_new] = gpus.try_emplace(system);
    if (is_new) {
      try {
        it->second = catalog.gpu(system);
      } catch (const InputError& e) {
        refused.push_back(e.what());
      }
    }
    return it->second;
  };
  FamilySamples out;
  for (const std::string& table : family.tables()) {
    std::filesystem::path path = dir / (table + ".csv.gz");
    if (!std::filesystem::exists(path)) path.replace_extension();  // a sweep's, not packed
    if (!std::filesystem::exists(path)) {
      refused.push_back(fmt::format("{}.csv.gz: no such table", (dir / table).string()));
      continue;
    }
    CsvReader csv(path);
    const int system = csv.column("system"), latency = csv.column("latency_us"),
              version = csv.column("version");
    while (csv.next()) {
      KernelSample s;
      if (!family.read(csv, table, s)) continue;
      const std::optional<Gpu>& gpu = gpu_of(std::string(csv.text(system)));
      const Seconds time = microseconds(csv.number(latency));
      if (!gpu || time <= Seconds(0)) continue;
      const KernelPoint p = family.point(s.op, *gpu, true);
      ClassSamples& c = out[{s.framework, gpu->id}][s.kernel_class];
      if (time < p.least * kImpossible) {
        ++c.impossible;
        continue;
      }
      const bool left_out =
          s.shape % 10 == 0 || hash_text(fmt::format("{} {}", s.shape, describe(s.op))) % 20 == 0;
      c.points.push_back({p.x, p.base.value(), p.least.value(), time.value(), left_out});
      c.versions.emplace(csv.text(version));
    }
  }
  return out;
}

}  // namespace orrery
