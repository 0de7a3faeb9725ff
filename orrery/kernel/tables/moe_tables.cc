// Rows of the table moe: routed experts of a MoE layer.
#include <fmt/format.h>

#include <optional>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

// Models whose experts have no gate (Nemotron: squared ReLU), told by the shapes that the tables
// hold. Their rows reach 1.2 to 1.4 times the bandwidth of the data sheet if a third matrix is
// counted.
bool is_gated(int hidden, int intermediate, int top_k) {
  return top_k != 22 && !(hidden == 2688 && intermediate == 1856);
}

// Rows that no sound kernel gives, found by the share of the bandwidth that reading the active
// experts' weights once reaches at 1 to 6 tokens an expert (sound rows: 0.5 to 0.95).
bool is_unsound(std::string_view system, std::string_view framework, std::string_view source,
                std::string_view dtype, const MoeExperts& m) {
  const bool hopper = system == "h100_sxm" || system == "h200_sxm";
  const bool blackwell = system == "b200_sxm" || system == "b300_sxm";
  if (framework == "vllm") {
    // 0.11 to 0.20 on every shape: not the kernel that the engine runs.
    if (hopper && dtype == "fp8") return true;
    // Above 1.3: group-limited routing (DeepSeek V3) of the tables' logits visits half of the
    // experts.
    if (m.hidden == 7168 && m.experts == 256) return true;
  }
  if (framework == "sglang") {
    if (source == "sglang_flashinfer_cutlass_moe") return true;  // 0.13 to 0.20
    // A fallback for some models, which no size of the op tells; the class is TRT-LLM's kernel.
    if (blackwell && source == "sglang_fused_moe_triton") return true;
  }
  if (framework == "trtllm") {
    if (source == "moe_torch_flow_min_latency") return true;  // up to 2.0: does not do all the work
    if (blackwell && dtype == "w4a16_mxfp4")
      return true;  // 0.16 to 0.18; 140 % above served models
    // An untuned fallback: 0.12 to 0.20, where its neighbours reach 0.85.
    if (hopper && m.hidden == 5120 && m.experts == 16 && dtype != "fp8_block") return true;
    if (hopper && m.hidden == 4096 && m.experts == 512 && dtype == "fp8") return true;
  }
  return false;
}

class MoeTables : public KernelTables {
 public:
  MoeTables() : KernelTables(moe_family()) {}

  std::vector<std::string> tables() const override { return {"moe"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    const std::string_view dtype = row.text(row.column("dtype"));
    const std::string_view loads = row.text(row.column("distribution"));
    const std::optional<Format> format = parse_format(dtype);
    if (!format) return false;
    MoeExperts m;
    if (loads == "power_law_1.01")
      m.skew = 1.01;
    else if (loads == "power_law_1.2")
      m.skew = 1.2;
    else if (loads != "balanced")
      return false;
    m.tokens = row.integer(row.column("tokens"));
    m.hidden = static_cast<int>(row.integer(row.column("hidden")));
    m.intermediate = static_cast<int>(row.integer(row.column("inter")));
    m.top_k = static_cast<int>(row.integer(row.column("topk")));
    m.experts = static_cast<int>(row.integer(row.column("experts")));
    m.tp = static_cast<int>(row.integer(row.column("tp")));
    m.ep = static_cast<int>(row.integer(row.column("ep")));
    m.format = *format;
    m.gated = is_gated(m.hidden, m.intermediate, m.top_k);
    s.framework = row.text(row.column("framework"));
    if (is_unsound(row.text(row.column("system")), s.framework,
                   row.text(row.column("kernel_source")), dtype, m)) {
      return false;
    }
    s.op = m;
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {} {} {} {} {}", m.hidden, m.intermediate, m.top_k,
                                    m.experts, m.tp, m.ep, m.tokens));
    return true;
  }
  std::vector<AxisSmoothness> series_smoothness() const override {
    return {{0.003, 0.01, 0.03}, {0.003, 0.01, 0.03}, {0.003, 0.01, 0.03}};
  }
};

}  // namespace

const KernelTables& moe_tables() {
  static const MoeTables tables;
  return tables;
}

}  // namespace orrery
