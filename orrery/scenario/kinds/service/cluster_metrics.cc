#include "orrery/scenario/kinds/service/cluster_metrics.h"

#include <algorithm>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

// The counts of the engines of each pool, in order.
struct PoolSum {
  const PoolConfig* pool;
  double busy = 0, used_block_seconds = 0;
};

std::vector<PoolSum> sums(const SimulationConfig& config, const SimulationResult& r) {
  std::vector<PoolSum> out = {{&config}};
  for (const PoolConfig& p : config.others) out.push_back({&p});
  for (std::size_t i = 0; i < r.replicas.size(); ++i) {
    PoolSum& s = out[r.pool_of[i]];
    s.busy += r.replicas[i].busy.value();
    s.used_block_seconds += r.replicas[i].used_block_seconds;
  }
  return out;
}

}  // namespace

double kv_use(const SimulationConfig& config, const SimulationResult& r) {
  double used = 0, all = 0;
  for (const PoolSum& s : sums(config, r)) {
    used += s.used_block_seconds;
    all += s.busy * static_cast<double>(s.pool->replica.kv_blocks);
  }
  return all > 0 ? used / all : 0;
}

void add_cluster_metrics(const SimulationConfig& config, const SimulationResult& r,
                         std::vector<Metric>& metrics) {
  const auto put = [&](FigureRef figure, double v) { metrics.push_back(exact_metric(figure, v)); };
  if (r.transfers > 0) {
    std::vector<double> ms;
    double sum = 0;
    for (const RequestRecord& q : r.records) {
      if (q.outcome != Outcome::kDone || q.prefill_replica < 0 || q.output < 2) continue;
      ms.push_back(q.transfer.seconds() * 1e3);
      sum += ms.back();
    }
    std::sort(ms.begin(), ms.end());
    put("kv_transfer", sum / static_cast<double>(ms.size()));
    for (const double p : {50, 90, 99})
      metrics.push_back(percentile_metric("kv_transfer", p, quantile(ms, p / 100)));
    put("kv_transfer_alone", 1e3 * r.link_time.value() / static_cast<double>(r.transfers));
    const std::vector<PoolSum> pools = sums(config, r);
    for (std::size_t p = 0; p < pools.size(); ++p) {
      const bool prefills = pools[p].pool->replica.role == Role::kPrefill;
      put(prefills ? FigureRef("prefill_busy") : FigureRef("decode_busy"),
          100 * pools[p].busy / r.engine_times[p].value());
      if (config.autoscale.on())
        put(prefills ? FigureRef("prefill_engines") : FigureRef("decode_engines"),
            r.engine_times[p] / r.end.time());
    }
  }
  if (config.autoscale.on() && r.end > SimTime{}) {
    put("engines", r.engine_time() / r.end.time());
    put("most_engines", static_cast<double>(r.most_engines));
    put("engine_starts", static_cast<double>(r.starts));
    put("gpu_hours", r.gpu_time.value() / 3600);
  }
  if (config.failures.any()) {
    double retries = 0;
    for (const RequestRecord& q : r.records) retries += q.retries;
    put("failures", static_cast<double>(r.failures));
    put("retries", retries);
  }
}

bool compared_with_collocated(const SimulationConfig& config) {
  return config.replica.role == Role::kPrefill && !config.autoscale.on();
}

SimulationConfig collocated(SimulationConfig config) {
  config.replica.role = Role::kServe;
  for (PoolConfig& p : config.others) p.replica.role = Role::kServe;
  config.router = config.decode_router;
  return config;
}

}  // namespace orrery
