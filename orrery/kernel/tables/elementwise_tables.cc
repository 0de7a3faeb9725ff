// Rows of a sweep of a user's GPU (sweep_rows.h) that serve every engine: adds, copies, softmax,
// norms, embedding lookups, optimizer steps, and their gradients.
#include <optional>

#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/sweep_rows.h"

namespace orrery {
namespace {

class ElementwiseTables : public KernelTables {
 public:
  ElementwiseTables() : KernelTables(elementwise_family()) {}

  std::vector<std::string> tables() const override {
    return {"elementwise", "elementwise_backward", "optimizer"};
  }
  bool of_sweeps() const override { return true; }
  bool read(const CsvReader& row, std::string_view table, KernelSample& s) const override {
    const std::optional<Op> op = sweep_op(row, table);
    if (!op) return false;
    // Eager PyTorch computes these in several kernels, an engine in one (row_kernels.cc).
    if (const auto* e = std::get_if<Elementwise>(&*op);
        e && (e->kind == Elementwise::Kind::kActivation || e->kind == Elementwise::Kind::kRotary))
      return false;
    s = sample_of(row, *op, sweep_shape(row, table));
    return true;
  }
};

}  // namespace

const KernelTables& elementwise_tables() {
  static const ElementwiseTables tables;
  return tables;
}

}  // namespace orrery
