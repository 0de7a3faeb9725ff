// Rows of the table linear_attention that time the short convolution in front of a recurrent mixer.
#include <fmt/format.h>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/linear_attention_rows.h"

namespace orrery {
namespace {

class CausalConvolutionTables : public KernelTables {
 public:
  CausalConvolutionTables() : KernelTables(causal_convolution_family()) {}

  std::vector<std::string> tables() const override { return {"linear_attention"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    const std::string_view source = row.text(row.column("kernel_source")),
                           phase = row.text(row.column("phase"));
    if (!source.starts_with("causal_conv1d") || (phase != "context" && phase != "generation"))
      return false;  // `verify`: several tokens of a draft, another kernel
    CausalConvolution c;
    c.decode = phase == "generation";
    const std::string_view table = row.text(row.column("table"));
    c.mixer = table == "mamba2" ? LinearAttentionCore::Kind::kMamba2
              : table == "kda"  ? LinearAttentionCore::Kind::kKimiDelta
                                : LinearAttentionCore::Kind::kGatedDeltaNet;
    c.batch = row.integer(row.column("batch"));
    c.new_tokens = c.decode ? 1 : row.integer(row.column("seq"));
    c.window = static_cast<int>(row.integer(row.column("d_conv")));
    const double values = row.number(row.column("v_heads")) * row.number(row.column("v_dim"));
    const double keys = table == "mamba2"
                            ? row.number(row.column("n_groups")) * row.number(row.column("d_state"))
                            : row.number(row.column("k_heads")) * row.number(row.column("k_dim"));
    c.channels = static_cast<std::int64_t>(2 * keys + values);
    if (is_disturbed(row, real(c.batch * c.new_tokens * c.channels))) return false;
    s.op = c;
    s.framework = row.text(row.column("framework"));
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", c.decode, c.batch, c.channels));
    return true;
  }
};

}  // namespace

const KernelTables& causal_convolution_tables() {
  static const CausalConvolutionTables tables;
  return tables;
}

}  // namespace orrery
