// Rows of the table attention_encoder: bidirectional attention of vision towers.
#include <fmt/format.h>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

class EncoderAttentionTables : public KernelTables {
 public:
  EncoderAttentionTables() : KernelTables(encoder_attention_family()) {}

  std::vector<std::string> tables() const override { return {"attention_encoder"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    PrefillAttention a;
    a.causal = false;
    a.batch = row.integer(row.column("batch"));
    a.heads = a.kv_heads = static_cast<int>(row.integer(row.column("heads")));
    a.head_dim = a.value_dim = static_cast<int>(row.integer(row.column("head_dim")));
    a.new_tokens = row.integer(row.column("isl"));
    s.op = a;
    s.framework = row.text(row.column("framework"));
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", a.heads, a.head_dim, a.batch));
    return true;
  }
};

}  // namespace

const KernelTables& encoder_attention_tables() {
  static const EncoderAttentionTables tables;
  return tables;
}

}  // namespace orrery
