#include "orrery/kernel/samples.h"

#include <fmt/format.h>

#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/random.h"

namespace orrery {

bool is_left_out(std::uint64_t shape) { return shape % 100 < 15; }

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
    const std::filesystem::path path = dir / (table + ".csv.gz");
    if (!std::filesystem::exists(path)) {
      refused.push_back(fmt::format("{}: no such table", path.string()));
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
      c.points.push_back({p, p.base.value(), p.least.value(), time.value(), is_left_out(s.shape)});
      c.versions.emplace(csv.text(version));
    }
  }
  return out;
}

}  // namespace orrery
