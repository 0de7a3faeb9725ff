// Rows of the tables attention_prefill and attention_decode: softmax attention.
#include <fmt/format.h>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

Dtype read_dtype(std::string_view text) { return text == "fp8" ? Dtype::kFp8 : Dtype::kBf16; }

// A kernel that runs only for want of a better one: SGLang's Triton attention on GPUs where FA3 or
// FA2 is the default, and FlashInfer's on B200 and B300 where TensorRT-LLM's, the default there,
// was timed on the same calls (FlashInfer takes 1.3 times as long). `sole`: no other kernel serves
// the row's formats.
bool is_fallback(const CsvReader& row, bool sole) {
  const std::string_view source = row.text(row.column("kernel_source")),
                         system = row.text(row.column("system"));
  return source == "triton" ||
         (source == "flashinfer" && !sole && (system == "b200_sxm" || system == "b300_sxm"));
}

// The columns that both tables have.
template <class Attention>
Attention attention_of(const CsvReader& row) {
  Attention a;
  a.batch = row.integer(row.column("batch"));
  a.heads = static_cast<int>(row.integer(row.column("heads")));
  a.kv_heads = static_cast<int>(row.integer(row.column("kv_heads")));
  a.head_dim = a.value_dim = static_cast<int>(row.integer(row.column("head_dim")));
  a.window = row.integer(row.column("window"));
  a.dtype = read_dtype(row.text(row.column("attn_dtype")));
  a.kv_dtype = read_dtype(row.text(row.column("kv_dtype")));
  return a;
}

class PrefillTables : public KernelTables {
 public:
  PrefillTables() : KernelTables(prefill_attention_family()) {}

  std::vector<std::string> tables() const override { return {"attention_prefill"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    // FlashInfer's alone reads an fp8 cache with 16-bit queries.
    if (is_fallback(row, row.text(row.column("kv_dtype")) != row.text(row.column("attn_dtype"))))
      return false;
    auto a = attention_of<PrefillAttention>(row);
    a.new_tokens = row.integer(row.column("isl"));
    a.past = row.integer(row.column("past"));
    s = sample_of(row, a,
                  hash_text(fmt::format("{} {} {} {} {} {} {}", a.batch, a.heads, a.kv_heads,
                                        a.head_dim, a.window, a.new_tokens, a.past)));
    return true;
  }
  std::vector<AxisSmoothness> smoothness() const override {
    return {{0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}};
  }
  EquivalentAxes equivalent_axes() const override { return {0, 2, 0.1}; }
  bool edges() const override { return true; }
};

class DecodeTables : public KernelTables {
 public:
  DecodeTables() : KernelTables(decode_attention_family()) {}

  std::vector<std::string> tables() const override { return {"attention_decode"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    if (is_fallback(row, false)) return false;
    auto a = attention_of<DecodeAttention>(row);
    a.context = row.number(row.column("kv_len"));
    s = sample_of(row, a,
                  hash_text(fmt::format("{} {} {} {} {} {}", a.batch, a.heads, a.kv_heads,
                                        a.head_dim, a.window, a.context)));
    return true;
  }
  std::vector<AxisSmoothness> smoothness() const override {
    return {{0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}, {0.001, 0.003, 0.15}};
  }
  bool edges() const override { return true; }
};

}  // namespace

const KernelTables& prefill_attention_tables() {
  static const PrefillTables tables;
  return tables;
}

const KernelTables& decode_attention_tables() {
  static const DecodeTables tables;
  return tables;
}

}  // namespace orrery
