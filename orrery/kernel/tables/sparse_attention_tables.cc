// Rows of the table sparse_attention_module: whole blocks of sparse attention.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

using Block = SparseAttentionBlock;

class SparseAttentionTables : public KernelTables {
 public:
  SparseAttentionTables() : KernelTables(sparse_attention_family()) {}

  std::vector<std::string> tables() const override { return {"sparse_attention_module"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    const std::string_view source = row.text(row.column("kernel_source"));
    // Kernels of older versions, and a backend that is not the default.
    if (source == "dsa_nsa" || source == "FLASHINFER_MLA_SPARSE") return false;
    const std::string_view table = row.text(row.column("table")),
                           model = row.text(row.column("model"));
    // TensorRT-LLM's MSA prefill waits for the host (3.6 ms a call and more a sequence on
    // Blackwell) or runs a reference implementation (Hopper).
    if (table == "msa_context_module" && row.text(row.column("framework")) == "trtllm")
      return false;
    Block b;
    if (table.starts_with("dsa")) {
      const bool reuse = source.find("skip_indexer") != std::string_view::npos;
      b.kind = reuse ? Block::Kind::kDsaReuse : Block::Kind::kDsa;
      if (model.find("GLM") != std::string_view::npos) {
        b.hidden = 6144;
        b.q_rank = 2048;
        b.head_dim = b.value_dim = 256;
        b.index_heads = 32;
      }
      if (reuse) b.index_heads = 0;
    } else if (table.starts_with("dsv4")) {
      // The sizes of the two models' configurations; the table names the heads of a rank.
      const bool flash = model.find("Flash") != std::string_view::npos;
      b.kind = table.find("csa") != std::string_view::npos ? Block::Kind::kCsa : Block::Kind::kHca;
      b.hidden = flash ? 4096 : 7168;
      b.q_rank = flash ? 1024 : 1536;
      b.head_dim = b.value_dim = b.entry = 512;
      b.compress = static_cast<int>(row.number(row.column("compress_ratio")));
      b.window = 128;
      b.top_k = b.kind == Block::Kind::kHca ? 0 : flash ? 512 : 1024;
      b.overlapping = b.kind == Block::Kind::kCsa;
      if (b.kind == Block::Kind::kHca) b.index_heads = 0;
      b.o_rank = 1024;
    } else {
      b.kind = Block::Kind::kMsa;
      b.hidden = 6144;
      b.q_rank = 0;
      b.head_dim = b.value_dim = 128;
      b.block = 128;
    }
    b.decode = row.text(row.column("phase")) == "decode";
    b.batch = row.integer(row.column("batch"));
    b.new_tokens = row.integer(row.column("isl"));
    b.past = row.number(row.column("past"));
    b.heads = static_cast<int>(row.integer(row.column("heads")));
    if (b.o_rank > 0) b.o_groups = std::max(1, b.heads / 8);  // 8 heads a group in both models
    if (b.kind == Block::Kind::kMsa) {  // 16 query heads and one index head for each KV head
      b.kv_heads = b.index_heads = std::max(1, b.heads / 16);
      b.entry = 2 * 128 * b.kv_heads;
    }
    // SGLang runs its dense kernel while the context is no longer than the choice of keys. The
    // sweep also measured each kernel on the other's side of that limit, where it never serves.
    const bool dense_kernel = source.find("dense_mha") != std::string_view::npos;
    const bool is_dense = class_name(b).starts_with("dsa_dense");
    if (source.starts_with("sglang_dsa") && !b.decode && dense_kernel != is_dense) return false;
    const std::string_view gemm = row.text(row.column("gemm_type"));
    b.format = gemm == "nvfp4"       ? Format::kNvfp4
               : gemm == "fp8_block" ? Format::kFp8Block
                                     : Format::kBf16;
    b.kv_dtype = row.text(row.column("kv_dtype")).starts_with("fp8") ? Dtype::kFp8 : Dtype::kBf16;
    s.op = b;
    s.framework = row.text(row.column("framework"));
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", b.heads, b.batch, b.hidden));
    return true;
  }
};

}  // namespace

const KernelTables& sparse_attention_tables() {
  static const SparseAttentionTables tables;
  return tables;
}

}  // namespace orrery
