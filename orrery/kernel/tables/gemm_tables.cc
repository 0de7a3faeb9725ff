// Rows of the table gemm: matrix products.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

// vLLM's fp8 products of one row on B200, B300, GB200 and GB300 are timed at 2.3 to 2.8 times those
// of two rows (medians over the shapes), which read the same bytes: 13 us more whatever the shape.
// No other engine, format or GPU shows it, and services with one user do not. They are left out, so
// that one row follows two (tests/accuracy/gemm_rows_accuracy_test.cc finds such columns).
bool is_bad_column(std::string_view system, std::string_view framework, std::string_view dtype,
                   std::int64_t m) {
  static constexpr std::array<std::string_view, 4> kSystems = {"b200_sxm", "b300_sxm", "gb200",
                                                               "gb300"};
  return framework == "vllm" && dtype == "fp8" && m == 1 &&
         std::find(kSystems.begin(), kSystems.end(), system) != kSystems.end();
}

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
    const std::optional<int> system = row.find("system");
    if (system && is_bad_column(row.text(*system), s.framework, dtype, g.m)) return false;
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
