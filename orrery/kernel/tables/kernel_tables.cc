#include "orrery/kernel/tables/kernel_tables.h"

#include <map>

namespace orrery {

bool KernelTables::read(const CsvReader&, std::string_view, KernelSample&) const { return false; }

std::vector<AxisSmoothness> KernelTables::smoothness() const {
  return std::vector<AxisSmoothness>(family_.axes().size());
}

std::vector<AxisSmoothness> KernelTables::series_smoothness() const {
  return std::vector<AxisSmoothness>(family_.series_axes().size());
}

std::string KernelTables::class_name(const Op& op) const {
  return family_.classes()[index(family_.class_of(op))].sources.front().name;
}

KernelSample KernelTables::sample_of(const CsvReader& row, const Op& op,
                                     std::uint64_t shape) const {
  return {op, std::string(row.text(row.column("framework"))), class_name(op), shape};
}

std::span<const KernelTables* const> all_kernel_tables() {
#define ORRERY_KERNEL_TABLES(function) &function(),
  static const KernelTables* const kAll[] = {
#include "orrery/base/index.h"
#include "orrery/kernel/tables/kernel_tables.def"
  };
#undef ORRERY_KERNEL_TABLES
  return kAll;
}

const KernelTables& tables_of(const KernelFamily& family) {
  static const std::map<const KernelFamily*, KernelTables> kWithoutRows = [] {
    std::map<const KernelFamily*, KernelTables> all;
    for (const KernelFamily* f : kernel_families()) all.try_emplace(f, *f);
    return all;
  }();
  for (const KernelTables* tables : all_kernel_tables()) {
    if (&tables->family() == &family) return *tables;
  }
  return kWithoutRows.at(&family);
}

}  // namespace orrery
