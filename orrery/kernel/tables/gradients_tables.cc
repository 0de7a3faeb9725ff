// Rows of a sweep of a user's GPU that time gradients: the products of a linear layer's backward
// pass, and attention's backward pass.
#include <fmt/format.h>

#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

class GemmGradientTables : public KernelTables {
 public:
  GemmGradientTables() : KernelTables(gemm_gradient_family()) {}

  std::vector<std::string> tables() const override { return {"gemm_backward"}; }
  bool of_sweeps() const override { return true; }
  bool read(const CsvReader& row, std::string_view table, KernelSample& s) const override {
    // The forward product's sizes.
    if (!gemm_tables().read(row, table, s)) return false;
    const auto forward = std::get<Gemm>(s.op);
    const int column = row.column("gradient");
    const std::string_view gradient = row.text(column);
    if (gradient == "input") {
      s.op = gradients(forward).first;
    } else if (gradient == "weight") {
      s.op = gradients(forward).second;
    } else {
      row.fail(column, fmt::format("expected input or weight, got '{}'", gradient));
    }
    if (family().class_of(s.op) < 0) return false;
    s.kernel_class = class_name(s.op);
    return true;
  }
};

class AttentionBackwardTables : public KernelTables {
 public:
  AttentionBackwardTables() : KernelTables(attention_backward_family()) {}

  std::vector<std::string> tables() const override { return {"attention_backward"}; }
  bool of_sweeps() const override { return true; }
  bool read(const CsvReader& row, std::string_view table, KernelSample& s) const override {
    if (!prefill_attention_tables().read(row, table, s)) return false;
    s.op = AttentionBackward{std::get<PrefillAttention>(s.op)};
    s.kernel_class = class_name(s.op);
    return true;
  }
};

}  // namespace

const KernelTables& gemm_gradient_tables() {
  static const GemmGradientTables tables;
  return tables;
}

const KernelTables& attention_backward_tables() {
  static const AttentionBackwardTables tables;
  return tables;
}

}  // namespace orrery
