// The table `power` of sweeps, as texts of the tables of kernel times that its calls belong to.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/validate/energy/call_reader.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {
namespace {

// Columns that the table of an op has and the shapes of a sweep leave out.
constexpr std::string_view kUnstated = ",kv_dtype,window,past";

using ClocksByLine = std::map<std::string, Hertz>;

// Adds the rows of `file` to `texts`, and the clocks that they state to `clocks`.
void add_steady(const std::filesystem::path& file, const Catalog& catalog, TimeTexts& texts,
                std::map<std::string, double>& awake, ClocksByLine& clocks) {
  CsvReader csv(file);
  const int system = csv.column("system"), op = csv.column("op"), dtype = csv.column("dtype"),
            shape = csv.column("shape"), data = csv.column("data"), duty = csv.column("duty"),
            latency = csv.column("latency_us"), power = csv.column("power_w"),
            clock = csv.column("sm_mhz");
  while (csv.next()) {
    const Gpu gpu = catalog.gpu(csv.text(system));
    if (!gpu.power) csv.fail(system, fmt::format("no power of {} is known", gpu.id));
    if (csv.text(op) == "nothing") {
      awake[gpu.id] = csv.number(power) / gpu.power->value();
      continue;
    }
    if (csv.text(op) == "launches" || csv.text(data) != "normal" || csv.number(duty) != 1) continue;
    std::string names = "system,framework,version,kernel_source";
    std::string cells = fmt::format("{},{},{},{}", gpu.id, csv.text(csv.column("framework")),
                                    csv.text(csv.column("version")), "");
    const auto add = [&](std::string_view name, std::string_view cell) {
      names += fmt::format(",{}", name), cells += fmt::format(",{}", cell);
    };
    add("dtype", csv.text(dtype));
    std::string_view left = csv.text(shape);
    while (!left.empty()) {
      const std::string_view pair = left.substr(0, left.find(';'));
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos)
        csv.fail(shape, fmt::format("expected name=size, got '{}'", pair));
      const std::string_view name = pair.substr(0, equals), cell = pair.substr(equals + 1);
      add(name == "which" ? "op" : name, cell);
      left.remove_prefix(std::min(left.size(), pair.size() + 1));
    }
    names += kUnstated;
    cells += fmt::format(",{},0,0", csv.text(dtype));
    // Shapes of one op have their columns in the same order; each order is a text of its own.
    std::string& text = texts[{std::string(csv.text(op)), names}];
    if (text.empty()) text = names + ",latency_us,power_w,limit_w,line\n";
    text += fmt::format("{},{},{},{},{}\n", cells, csv.text(latency), csv.text(power),
                        gpu.power->value(), csv.line());
    if (!csv.text(clock).empty())
      clocks[fmt::format("{}", csv.line())] = Hertz(csv.number(clock) * 1e6);
  }
}

}  // namespace

std::vector<KernelPowerRow> read_steady_power(const std::filesystem::path& dir,
                                              const Catalog& catalog, ValidationReport& report,
                                              std::map<std::string, double>& awake) {
  std::vector<KernelPowerRow> rows;
  if (!std::filesystem::is_directory(dir)) return rows;
  std::vector<std::filesystem::path> files;
  for (const auto& folder : std::filesystem::directory_iterator(dir)) {
    if (std::filesystem::exists(folder.path() / "power.csv"))
      files.push_back(folder.path() / "power.csv");
  }
  std::sort(files.begin(), files.end());
  CallReader reader(catalog);
  for (const std::filesystem::path& file : files) {
    const std::string name = (file.parent_path().filename() / file.filename()).string();
    TimeTexts texts;
    ClocksByLine clocks;
    add_steady(file, catalog, texts, awake, clocks);
    const std::size_t before = rows.size();
    const std::size_t unread = reader.read(texts, name, true, rows);
    for (std::size_t i = before; i < rows.size(); ++i) {
      const auto found = clocks.find(rows[i].name.substr(rows[i].name.rfind(':') + 1));
      if (found != clocks.end()) rows[i].clock = found->second;
    }
    if (unread > 0)
      report.refused.push_back({name, "no fit of kernel times reads calls of this kind", unread});
  }
  return rows;
}

}  // namespace orrery
