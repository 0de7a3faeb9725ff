// Rows of the table moe_wideep: expert products of wide expert parallelism.
#include <fmt/format.h>

#include <charconv>

#include "orrery/base/random.h"
#include "orrery/kernel/tables/kernel_tables.h"

namespace orrery {
namespace {

class WideEpTables : public KernelTables {
 public:
  WideEpTables() : KernelTables(wide_ep_family()) {}

  std::vector<std::string> tables() const override { return {"moe_wideep"}; }
  bool read(const CsvReader& row, std::string_view, KernelSample& s) const override {
    const std::string_view table = row.text(row.column("table")),
                           dtype = row.text(row.column("dtype")),
                           distribution = row.text(row.column("distribution"));
    if (table == "dsv4_megamoe") return false;  // dispatch and combine are inside the call
    MoeExperts m;
    m.format = dtype == "nvfp4" ? Format::kNvfp4 : Format::kFp8Block;
    m.hidden = static_cast<int>(row.integer(row.column("hidden")));
    m.intermediate = static_cast<int>(row.integer(row.column("inter")));
    m.experts = static_cast<int>(row.integer(row.column("experts")));
    m.top_k = static_cast<int>(row.integer(row.column("topk")));
    m.ep = static_cast<int>(row.integer(row.column("ep")));
    m.tokens = row.integer(row.column("tokens"));
    constexpr std::string_view kPowerLaw = "power_law_";
    if (distribution.starts_with(kPowerLaw) && !distribution.ends_with("_eplb")) {
      const std::string_view exponent = distribution.substr(kPowerLaw.size());
      std::from_chars(exponent.data(), exponent.data() + exponent.size(), m.skew);
    }
    s.framework = row.text(row.column("framework"));
    const bool one_for_both = table == "wideep_moe";
    constexpr std::int64_t kDecodeTokens = 8;  // an expert: where one kernel serves both phases
    const bool decode = one_for_both ? m.tokens * m.top_k < kDecodeTokens * m.experts
                                     : table == "wideep_generation_moe";
    m.dispatched = decode ? MoeExperts::Dispatched::kDecode : MoeExperts::Dispatched::kPrefill;
    s.op = m;
    s.kernel_class = class_name(s.op);
    s.shape = hash_text(fmt::format("{} {} {}", m.hidden, m.ep, m.tokens));
    return true;
  }
};

}  // namespace

const KernelTables& wide_ep_tables() {
  static const WideEpTables tables;
  return tables;
}

}  // namespace orrery
