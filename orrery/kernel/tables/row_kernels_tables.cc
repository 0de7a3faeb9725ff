// Rows of a sweep of a user's GPU (sweep_rows.h) as eager PyTorch runs them. eager_fit.h reads the
// tables of NeuSight for the same family.
#include <optional>

#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/sweep_rows.h"

namespace orrery {
namespace {

class RowKernelTables : public KernelTables {
 public:
  RowKernelTables() : KernelTables(row_kernel_family()) {}

  std::vector<std::string> tables() const override {
    return {"elementwise", "elementwise_backward"};
  }
  bool of_sweeps() const override { return true; }
  bool read(const CsvReader& row, std::string_view table, KernelSample& s) const override {
    const std::optional<Op> op = sweep_op(row, table);
    if (!op || !std::holds_alternative<Elementwise>(*op)) return false;
    s = sample_of(row, *op, sweep_shape(row, table));
    return true;
  }
};

}  // namespace

const KernelTables& row_kernel_tables() {
  static const RowKernelTables tables;
  return tables;
}

}  // namespace orrery
