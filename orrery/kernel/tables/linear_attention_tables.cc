// Rows of the table linear_attention that time the delta rule, gated (GDN) or with a gate per
// channel (KDA).
#include <fmt/format.h>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/linear_attention_rows.h"

namespace orrery {
namespace {

class LinearAttentionTables : public KernelTables {
 public:
  LinearAttentionTables() : KernelTables(linear_attention_family()) {}

  std::vector<std::string> tables() const override { return {"linear_attention"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    // Speculative verification has no op; the Mamba-2 table holds the convolution alone.
    const std::string_view phase = row.text(row.column("phase")),
                           table = row.text(row.column("table"));
    if (table == "mamba2" || (phase != "context" && phase != "generation")) return false;
    if (row.text(row.column("kernel_source")).starts_with("causal_conv1d"))
      return false;  // causal_convolution.cc
    LinearAttentionCore a;
    if (table == "kda") a.kind = LinearAttentionCore::Kind::kKimiDelta;
    a.decode = phase == "generation";
    a.batch = row.integer(row.column("batch"));
    a.new_tokens = a.decode ? 1 : row.integer(row.column("seq"));
    a.k_heads = static_cast<int>(row.number(row.column("k_heads")));
    a.k_dim = static_cast<int>(row.number(row.column("k_dim")));
    a.v_heads = static_cast<int>(row.number(row.column("v_heads")));
    a.v_dim = static_cast<int>(row.number(row.column("v_dim")));
    a.conv = static_cast<int>(row.integer(row.column("d_conv")));
    const double channels = 2.0 * a.k_heads * a.k_dim + 1.0 * a.v_heads * a.v_dim;
    if (is_disturbed(row, real(a.batch * a.new_tokens) * channels)) return false;
    s.framework = row.text(row.column("framework"));
    s.op = a;
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {} {} {} {} {}", a.decode, a.batch, a.new_tokens,
                                    a.k_heads, a.k_dim, a.v_heads, a.v_dim));
    return true;
  }
};

}  // namespace

// SGLang 0.5.14's prefill on H200, from 128 MiB of values: its convolution takes two to four times
// as long as vLLM's same kernel there, and three times as long as its own on H100; on H100 and B200
// both frameworks agree within 10 % at every size. The delta rule shows the same. Memory shared
// with another process, or throttled: nothing that a user's H200 would repeat.
bool is_disturbed(const CsvReader& row, double values) {
  return values >= 0x1p26 && row.text(row.column("system")) == "h200_sxm" &&
         row.text(row.column("framework")) == "sglang" &&
         row.text(row.column("version")) == "0.5.14" && row.text(row.column("phase")) == "context";
}

const KernelTables& linear_attention_tables() {
  static const LinearAttentionTables tables;
  return tables;
}

}  // namespace orrery
