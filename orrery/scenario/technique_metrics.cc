#include "orrery/scenario/technique_metrics.h"

#include <algorithm>
#include <numeric>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

}  // namespace

void add_technique_metrics(const SimulationConfig& config, const SimulationResult& r,
                           std::vector<Metric>& metrics) {
  const ReplicaCounts sum = r.total();
  const auto put = [&](const char* name, const char* unit, double v) {
    metrics.push_back(exact_metric(name, unit, v));
  };
  if (config.replica.speculation.on() && sum.verifications > 0) {
    const auto steps = static_cast<double>(sum.verifications);
    put("accepted_length", "tokens/step", 1 + static_cast<double>(sum.accepted) / steps);
    put("acceptance_rate", "%",
        100 * static_cast<double>(sum.accepted) / static_cast<double>(sum.drafts));
  }
}

void add_comparison(const ServiceScenario& s, const SimulationResult& plain,
                    const SimulationResult& r, std::vector<Metric>& metrics) {
  std::vector<double> tpot, e2e;
  const auto n = static_cast<std::int64_t>(r.records.size());
  for (std::int64_t i = s.warmup; i < n - s.cooldown; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const RequestRecord &a = plain.records[index], &b = r.records[index];
    if (a.outcome != Outcome::kDone || b.outcome != Outcome::kDone) continue;
    e2e.push_back(a.e2e() / b.e2e());
    if (b.output > 1 && b.tpot() > 0) tpot.push_back(a.tpot() / b.tpot());
  }
  const auto put = [&](const char* name, double v) {
    metrics.push_back(exact_metric(name, "x", v));
  };
  if (!tpot.empty()) {
    std::sort(tpot.begin(), tpot.end());
    put("speedup", mean(tpot));
    for (const auto& [name, p] :
         {std::pair{"speedup_p10", 0.1}, {"speedup_p50", 0.5}, {"speedup_p90", 0.9}})
      put(name, quantile(tpot, p));
  }
  if (!e2e.empty()) put("speedup_e2e", mean(e2e));
}

}  // namespace orrery
