// Reads readings of power as calls of kernel families: rows that are written as those of the tables
// of kernel times (kernel/tables) are read by the code that reads those tables.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {

// CSV texts by the name of the table that their rows belong to, and a second name where texts of
// one table have other columns. A text has the columns of its table, and latency_us, power_w,
// limit_w and line.
using TimeTexts = std::map<std::pair<std::string, std::string>, std::string>;

class CallReader {
 public:
  // Borrows `catalog`.
  explicit CallReader(const Catalog& catalog) : catalog_(catalog) {}

  // Adds the calls of `texts` to `rows`, and returns how many rows no fit of kernel times reads.
  // `file` stands in the names of the rows. InputError: a malformed row, a GPU that the catalog
  // does not know.
  std::size_t read(const TimeTexts& texts, const std::string& file, bool steady,
                   std::vector<KernelPowerRow>& rows);

 private:
  KernelPowerRow row_of(const CsvReader& csv, const std::string& file, const KernelTables& tables,
                        const KernelSample& sample, bool steady);

  const Catalog& catalog_;
  std::map<std::string, KernelGpu> gpus_;
};

}  // namespace orrery
