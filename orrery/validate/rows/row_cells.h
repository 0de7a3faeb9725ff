// The cells of one row of a measured training table, by the names of their columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/base/csv.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The current row of a CsvReader, which must outlive this object. Throws InputError if the table
// has no column of the name.
class RowCells {
 public:
  explicit RowCells(const CsvReader& csv) : csv_(csv) {}
  std::string text(const char* name) const;
  std::optional<double> number(const char* name) const;       // none: the cell is empty
  std::optional<std::int64_t> whole(const char* name) const;  // rounded
  int whole(const char* name, int otherwise) const;

 private:
  const CsvReader& csv_;
};

// Reads tp, pp, vp and cp of a job on `gpus` GPUs, each 1 if the row does not state it, and sets dp
// to the number of GPUs divided by tp, pp and cp. Throws NoData if they do not divide the GPUs.
void read_layout(TrainingPlan& plan, const RowCells& get, int gpus);

}  // namespace orrery
