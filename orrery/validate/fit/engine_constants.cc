#include "orrery/validate/fit/engine_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "orrery/base/fields.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace {

constexpr EngineConstant kMemoryFactor{"kernels.memory_factor", "", 1, 0.7, 20};
// Products at a quarter of the rate of measured ones, at most. Without this limit the fit of MI300X
// takes 14, for batches whose prompts it cannot tell from their decoding.
constexpr EngineConstant kComputeFactor{"kernels.compute_factor", "", 1, 0.7, 4};
constexpr EngineConstant kPrefillAttention{"kernels.prefill_attention_factor", "", 1, 0.7, 3};
constexpr EngineConstant kDecodeAttention{"kernels.decode_attention_factor", "", 1, 0.5, 20};
constexpr EngineConstant kUnsplit{"kernels.unsplit_decode_factor", "", 1, 0.5, 10};
constexpr EngineConstant kLaterStage{"kernels.later_stage_factor", "", 1, 1, 50};
constexpr EngineConstant kUnitBandwidth{"kernels.unit_bandwidth", "GB/s", 1e9, 2, 100};
constexpr EngineConstant kHostPerStep{"execution.host_per_step", "us", 1e-6, 10, 20000, 500};
constexpr EngineConstant kHostPerSequence{"execution.host_per_sequence", "us", 1e-6, 0.1, 1000, 10};
constexpr EngineConstant kHostPerLayer{"execution.host_per_layer", "us", 1e-6, 1, 1000, 20};
constexpr EngineConstant kKernelGap{"execution.kernel_gap", "us", 1e-6, 0.05, 100, 3};
constexpr EngineConstant kOlderHost{"execution.older_host_factor", "", 1, 0.7, 3};
constexpr EngineConstant kCollective{"execution.collective_latency", "us", 1e-6, 0.01, 100, 1};
constexpr EngineConstant kStartUp{"execution.start_up", "us", 1e-6, 1e4, 1e8, 1e7};

}  // namespace

double EngineConstant::start(const EngineProfile& profile) const {
  EngineProfile copy = profile;
  Fields fields;
  declare(fields, copy);
  const auto json = fields.find(key)->json();
  const double value = json.is_string()
                           ? *parse_quantity(fields.find(key)->dimension(), json.get<std::string>())
                           : json.get<double>();
  return std::log(value > 0 ? std::clamp(value / scale, least, most) : usual);
}

std::string EngineConstant::text(double x) const {
  return *unit ? fmt::format("{:.4g} {}", std::exp(x), unit) : fmt::format("{:.4g}", std::exp(x));
}

std::vector<EngineConstant> constants_of(std::span<const MeasuredRow> rows,
                                         const EngineProfile& profile, const Catalog& catalog) {
  bool batches = false, older = false, newer = false, several = false, cold = false;
  for (const MeasuredRow& r : rows) {
    batches |= r.keys.number("workload.batch") > 4;
    several |= r.keys.number("parallel.tp") > 1;
    cold |= r.keys.engine_text("execution.cold") == "true";
    (catalog.gpu(r.keys.text("hardware.gpu")).architecture.older_host ? older : newer) = true;
  }
  const auto& k = profile.kernels;
  std::vector<EngineConstant> c = {kMemoryFactor, kComputeFactor, kDecodeAttention, kHostPerStep};
  if (k.unit_bandwidth > BytesPerSecond(0)) c.push_back(kUnitBandwidth);
  if (k.split_decode_queries > 0) c.push_back(kUnsplit);
  if (k.later_stage_factor > 1) c.push_back(kLaterStage);
  if (batches) c.push_back(kHostPerSequence);
  c.push_back(kKernelGap);
  if (!profile.execution.decode_graphs) c.push_back(kHostPerLayer);
  if (older && newer) c.push_back(kOlderHost);
  if (several) c.push_back(kCollective);
  if (cold) c.push_back(kStartUp);
  c.push_back(kPrefillAttention);
  return c;
}

Bounds bounds_of(std::span<const EngineConstant> constants) {
  Bounds bounds;
  for (const EngineConstant& c : constants) {
    bounds.lower.push_back(std::log(c.least));
    bounds.upper.push_back(std::log(c.most));
  }
  return bounds;
}

std::string constants_text(std::span<const EngineConstant> constants, std::span<const double> x) {
  std::map<std::string, std::string> sections;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string key = constants[i].key;
    const std::size_t dot = key.find('.');
    sections[key.substr(0, dot)] +=
        fmt::format("  {}: {}\n", key.substr(dot + 1), constants[i].text(x[i]));
  }
  std::string out;
  for (const auto& [section, lines] : sections) out += fmt::format("{}:\n{}", section, lines);
  return out;
}

}  // namespace orrery
