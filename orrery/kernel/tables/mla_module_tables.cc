// Rows of the table mla_module: whole blocks of multi-head latent attention.
#include <optional>

#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tables/latent_rows.h"

namespace orrery {
namespace {

class LatentModuleTables : public KernelTables {
 public:
  LatentModuleTables() : KernelTables(latent_module_family()) {}

  std::vector<std::string> tables() const override { return {"mla_module"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    // The models of the table have one shape. Rows of the model that the newest versions measured
    // are read; those of the others are older versions' kernels. One of the others serves other
    // GPUs: vLLM 0.24 on B200 takes half (small calls) to four fifths of the time of vLLM 0.22
    // there, because its sweep fused kernels that the other sweeps ran separately. No other GPU
    // shows this: 0.22 and 0.24 take the same time on H200, and 0.24 on B300 takes that of 0.22 on
    // B200.
    const std::string_view model = row.text(row.column("model"));
    const bool newest = model == "deepseek-ai/DeepSeek-V3";
    const bool for_others = model == "nvidia/DeepSeek-V3.1-NVFP4" &&
                            row.text(row.column("system")) == "b200_sxm" &&
                            row.text(row.column("framework")) == "vllm";
    if (!newest && !for_others) return false;
    const std::optional<LatentAttentionCore> core = latent_core_of(row);
    const std::optional<Format> format = parse_format(row.text(row.column("gemm_type")));
    if (!core || !format) return false;
    MlaModule m;
    m.format = *format;
    m.core = *core;
    s = sample_of(row, m, latent_shape(*core));
    if (for_others) s.kernel_class += kForOthers;
    return true;
  }
};

}  // namespace

const KernelTables& latent_module_tables() {
  static const LatentModuleTables tables;
  return tables;
}

}  // namespace orrery
