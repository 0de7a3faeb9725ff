// Rows of the table gemm: matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

class GemmTables : public KernelTables {
 public:
  GemmTables() : KernelTables(gemm_family()) {}

  std::vector<std::string> tables() const override { return {"gemm"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    static const std::array<std::pair<std::string_view, Format>, 11> kDtypes = {
        {{"bfloat16", Format::kBf16},
         {"float16", Format::kFp16},
         {"float32", Format::kFp32},
         {"fp8", Format::kFp8},
         {"fp8_block", Format::kFp8Block},
         {"sq", Format::kInt8},
         {"int8_wo", Format::kInt8Weight},
         {"int4_wo", Format::kInt4Weight},
         {"nvfp4", Format::kNvfp4},
         {"w4a16_mxfp4", Format::kMxfp4},
         {"w4a8_mxfp4_mxfp8", Format::kMxfp4Fp8}}};
    const std::string_view dtype = row.text(row.column("dtype"));
    const auto known = std::find_if(kDtypes.begin(), kDtypes.end(),
                                    [&](const auto& d) { return d.first == dtype; });
    if (known == kDtypes.end()) return false;  // fp8_static: an old version's, superseded by fp8
    s.framework = row.text(row.column("framework"));
    // vLLM 0.24 timed block-scaled products without a graph: 60 to 300 us of host time in every
    // row.
    if (s.framework == "vllm" && dtype == "fp8_block") return false;
    Gemm g;
    g.m = row.integer(row.column("m"));
    g.n = row.integer(row.column("n"));
    g.k = row.integer(row.column("k"));
    g.format = known->second;
    s.op = g;
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", g.m, g.n, g.k));
    return true;
  }
  std::vector<AxisSmoothness> smoothness() const override {
    return {{0.001, 0.003, 0.1}, {0.001, 0.003, 0.1}, {0.001, 0.003, 0.1}};
  }
  // Libraries change the kernel of a product on lines that are no node's (tiles, waves, split k),
  // and the sweeps are dense: the surface is stiff but free to step. The values give the least
  // error on rows other than those left out (docs/kernels.md).
  SurfaceSolving solving() const override {
    return {
        {{0.0002, 0.009, 0.3}, {0.001, 0.045, 1.5}, {0.001, 0.045, 1.5}}, 0.03, 6, {0.03, 0.01}};
  }
};

}  // namespace

const KernelTables& gemm_tables() {
  static const GemmTables tables;
  return tables;
}

}  // namespace orrery
