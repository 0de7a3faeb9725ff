// Rows of the tables mla_kernel (cores of multi-head latent attention) and mla_bmm (absorbed
// products).
#include <fmt/format.h>

#include <optional>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/latent_rows.h"

namespace orrery {
namespace {

class LatentCoreTables : public KernelTables {
 public:
  LatentCoreTables() : KernelTables(latent_core_family()) {}

  std::vector<std::string> tables() const override { return {"mla_kernel"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    // vLLM: a host floor of 130 to 310 us in every row. The `wideep` tables time projections as
    // well.
    const std::string_view table = row.text(row.column("table"));
    if (row.text(row.column("framework")) == "vllm" ||
        (table != "generation_mla" && table != "context_mla"))
      return false;
    const std::optional<LatentAttentionCore> core = latent_core_of(row);
    if (!core) return false;
    s = sample_of(row, *core, latent_shape(*core));
    return true;
  }
};

class AbsorbedProductTables : public KernelTables {
 public:
  AbsorbedProductTables() : KernelTables(absorbed_product_family()) {}

  std::vector<std::string> tables() const override { return {"mla_bmm"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    const std::string_view dtype = row.text(row.column("dtype")), op = row.text(row.column("op"));
    // A product that dequantises an fp8 weight to bf16 on every call: not what a served model does.
    if (row.text(row.column("kernel_source")) == "trtllm_bmm_out_dequant_bf16") return false;
    Gemm g;
    g.m = row.integer(row.column("tokens"));
    g.batch = row.integer(row.column("heads"));
    g.n = op == "mla_gen_pre" ? 512 : 128;  // query to latent, latent to value (DeepSeek V2, V3)
    g.k = op == "mla_gen_pre" ? 128 : 512;
    g.format = dtype == "fp8" ? Format::kFp8 : Format::kBf16;
    s.framework = row.text(row.column("framework"));
    s.op = g;
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", op, g.batch, g.m));
    return true;
  }
  std::vector<AxisSmoothness> smoothness() const override {
    return {{0.002, 0.1, 0}, {0.002, 0.1, 0}, {0.002, 0.1, 0}};
  }
};

}  // namespace

const KernelTables& latent_core_tables() {
  static const LatentCoreTables tables;
  return tables;
}

const KernelTables& absorbed_product_tables() {
  static const AbsorbedProductTables tables;
  return tables;
}

}  // namespace orrery
