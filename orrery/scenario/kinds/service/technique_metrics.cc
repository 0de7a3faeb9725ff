#include "orrery/scenario/kinds/service/technique_metrics.h"

#include <algorithm>
#include <numeric>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

double mean(const std::vector<double>& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// The sum of `f(pool's engine, pool's counts)` over all pools.
template <class F>
double over_pools(const SimulationConfig& config, const SimulationResult& result, const F& f) {
  double sum = f(config.replica, result.of_pool(0));
  for (std::size_t p = 0; p < config.others.size(); ++p)
    sum += f(config.others[p].replica, result.of_pool(p + 1));
  return sum;
}

// Fragmentation, and traffic of the tiers outside of the GPU.
void add_memory_metrics(const SimulationConfig& config, const SimulationResult& result,
                        std::vector<Metric>& metrics) {
  const ReplicaConfig& r = config.replica;
  const std::int64_t block = r.engine.memory.block_size;
  const ReplicaCounts sum = result.total();
  const auto put = [&](FigureRef figure, double v) { metrics.push_back(exact_metric(figure, v)); };
  if (sum.used_block_seconds > 0) {
    put("kv_waste", 100 * sum.slack_token_seconds / (sum.used_block_seconds * real(block)));
  }
  if (r.kv.reserve != KvOptions::Reserve::kNothing && sum.busy.value() > 0) {
    const double block_seconds =
        over_pools(config, result, [](const ReplicaConfig& e, const ReplicaCounts& c) {
          return c.busy.value() * static_cast<double>(e.kv_blocks);
        });
    put("kv_stranded", 100 * sum.stranded_block_seconds / block_seconds);
  }
  if (r.kv.host_blocks > 0 && sum.busy.value() > 0) {
    put("host_hits", 100 * static_cast<double>(sum.host_fetches * block) /
                         static_cast<double>(sum.prompt_tokens + sum.cached_tokens));
    const double copying =
        over_pools(config, result, [](const ReplicaConfig& e, const ReplicaCounts& c) {
          return e.host_block_copy.seconds() * static_cast<double>(c.host_fetches);
        });
    put("host_copy", 100 * copying / sum.busy.value());
  }
  if (r.kv.disk_blocks > 0 && sum.busy.value() > 0) {
    put("disk_hits", 100 * static_cast<double>(sum.disk_fetches * block) /
                         static_cast<double>(sum.prompt_tokens + sum.cached_tokens));
    put("disk_waits", 100 * sum.disk_waits.value() / sum.busy.value());
  }
}

}  // namespace

void add_technique_metrics(const SimulationConfig& config, const SimulationResult& r,
                           std::vector<Metric>& metrics) {
  const ReplicaCounts sum = r.total();
  const auto put = [&](FigureRef figure, double v) { metrics.push_back(exact_metric(figure, v)); };
  if (config.replica.speculation.on() && sum.verifications > 0) {
    const auto steps = static_cast<double>(sum.verifications);
    put("accepted_length", 1 + static_cast<double>(sum.accepted) / steps);
    put("acceptance_rate",
        100 * static_cast<double>(sum.accepted) / static_cast<double>(sum.drafts));
  }
  if (config.replica.adapters() && sum.steps > 0) {
    const double loading =
        over_pools(config, r, [](const ReplicaConfig& e, const ReplicaCounts& c) {
          return e.adapter_load.seconds() * static_cast<double>(c.adapter_loads);
        });
    put("adapter_loads", static_cast<double>(sum.adapter_loads));
    put("adapter_loading", 100 * loading / sum.busy.value());
  }
  add_memory_metrics(config, r, metrics);
}

void add_comparison(const ServiceQuestion& s, const SimulationResult& plain,
                    const SimulationResult& r, std::vector<Metric>& metrics) {
  std::vector<double> tpot, e2e;
  double plain_tpot = 0, own_tpot = 0;
  const auto n = static_cast<std::int64_t>(r.records.size());
  for (std::int64_t i = s.warmup; i < n - s.cooldown; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const RequestRecord &a = plain.records[index], &b = r.records[index];
    if (a.outcome != Outcome::kDone || b.outcome != Outcome::kDone) continue;
    e2e.push_back(a.e2e() / b.e2e());
    if (b.output < 2 || b.tpot() == Seconds(0)) continue;
    tpot.push_back(a.tpot() / b.tpot());
    plain_tpot += a.tpot().value();
    own_tpot += b.tpot().value();
  }
  const auto put = [&](FigureRef figure, double v) { metrics.push_back(exact_metric(figure, v)); };
  if (!tpot.empty()) {
    std::sort(tpot.begin(), tpot.end());
    put("speedup", mean(tpot));
    for (const double p : {10, 50, 90})
      metrics.push_back(percentile_metric("speedup", p, quantile(tpot, p / 100)));
  }
  if (!e2e.empty()) put("speedup_e2e", mean(e2e));
  if (plain_tpot > 0)
    metrics.push_back(exact_metric("tpot_overhead", 100 * (own_tpot / plain_tpot - 1)));
}

}  // namespace orrery
