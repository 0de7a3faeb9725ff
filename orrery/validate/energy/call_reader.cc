#include "orrery/validate/energy/call_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "orrery/kernel/fit/samples.h"

namespace orrery {
namespace {

// Weights through which tools/sweep cycles at most, so that products read them from memory
// (tools/sweep/kernels.py, _copies).
constexpr double kWeights = 6;

}  // namespace

std::size_t CallReader::read(const TimeTexts& texts, const std::string& file, bool steady,
                             std::vector<KernelPowerRow>& rows) {
  std::size_t unread = 0;
  for (const auto& [table, text] : texts) {
    std::size_t read = 0;
    std::set<std::string> seen;  // names of rows
    for (const KernelTables* tables : all_kernel_tables()) {
      const std::vector<std::string> theirs = tables->tables();
      if (std::find(theirs.begin(), theirs.end(), table.first) == theirs.end()) continue;
      CsvReader csv(text, file);
      while (csv.next()) {
        KernelSample sample;
        if (!tables->read(csv, table.first, sample)) continue;
        ++read;
        rows.push_back(row_of(csv, file, *tables, sample, steady));
        rows.back().again = !seen.insert(rows.back().name).second;
      }
    }
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    unread += lines - 1 - std::min(lines - 1, read);
  }
  return unread;
}

KernelPowerRow CallReader::row_of(const CsvReader& csv, const std::string& file,
                                  const KernelTables& tables, const KernelSample& sample,
                                  bool steady) {
  const std::string id(csv.text(csv.column("system")));
  const auto known = gpus_.find(id);
  const KernelGpu& gpu = known != gpus_.end()
                             ? known->second
                             : gpus_.emplace(id, KernelGpu(catalog_.gpu(id))).first->second;
  const KernelPoint point = tables.family().point(sample.op, gpu, true);
  KernelPowerRow row;
  row.op = sample.op;
  row.family = &tables.family();
  row.kernel_class = sample.kernel_class;
  row.gpu = gpu.id;
  row.framework = sample.framework;
  row.name = fmt::format("{}:{}", file, csv.text(csv.column("line")));
  row.time = microseconds(csv.number(csv.column("latency_us")));
  row.used =
      repeated_utilisation(point.compute, point.memory, row.time,
                           point.memory * gpu.memory.bandwidth *
                               (steady && std::holds_alternative<Gemm>(row.op) ? kWeights : 1),
                           gpu.l2.value_or(Bytes(1)));
  row.steady = steady;
  row.sizes = point.x;
  row.power = Watts(csv.number(csv.column("power_w")));
  row.limit = Watts(csv.number(csv.column("limit_w")));
  row.left_out = is_left_out(sample);
  return row;
}

}  // namespace orrery
