// Rows of the table quantize: static quantisation of activations to fp8.
#include <fmt/format.h>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

class QuantiseTables : public KernelTables {
 public:
  QuantiseTables() : KernelTables(quantise_family()) {}

  std::vector<std::string> tables() const override { return {"quantize"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    if (row.text(row.column("op")) != "scale_matrix") return false;
    Elementwise e;
    e.kind = Elementwise::Kind::kQuantise;
    e.rows = row.integer(row.column("m"));
    e.width = row.integer(row.column("k"));
    const double elements = real(e.rows) * real(e.width);
    e.read = elements * bytes_per_element(Dtype::kBf16);
    e.written = elements * bytes_per_element(Dtype::kFp8);
    s = sample_of(row, e, hash_text(fmt::format("{} {}", e.rows, e.width)));
    return true;
  }
};

}  // namespace

const KernelTables& quantise_tables() {
  static const QuantiseTables tables;
  return tables;
}

}  // namespace orrery
