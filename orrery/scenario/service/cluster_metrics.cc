#include "orrery/scenario/service/cluster_metrics.h"

#include <algorithm>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

// The counts of the engines of each pool, in order.
struct PoolSum {
  const PoolConfig* pool;
  double engines = 0, busy = 0, used_block_seconds = 0;
};

std::vector<PoolSum> sums(const SimulationConfig& config, const SimulationResult& r) {
  std::vector<PoolSum> out = {{&config}};
  for (const PoolConfig& p : config.others) out.push_back({&p});
  std::size_t next = 0;
  for (PoolSum& s : out) {
    // An elastic fleet has room for more engines than it begins with; it is one pool.
    const std::size_t last = config.others.empty()
                                 ? r.replicas.size()
                                 : next + static_cast<std::size_t>(s.pool->replicas);
    for (; next < last; ++next) {
      s.engines += 1;
      s.busy += r.replicas[next].busy.value();
      s.used_block_seconds += r.replicas[next].used_block_seconds;
    }
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
  const auto put = [&](const char* name, const char* unit, double v) {
    metrics.push_back(exact_metric(name, unit, v));
  };
  if (r.transfers > 0) {
    std::vector<double> ms;
    double sum = 0;
    for (const RequestRecord& q : r.records) {
      if (q.outcome != Outcome::kDone || q.prefill_replica < 0 || q.output < 2) continue;
      ms.push_back(q.transfer.seconds() * 1e3);
      sum += ms.back();
    }
    std::sort(ms.begin(), ms.end());
    put("kv_transfer", "ms", sum / static_cast<double>(ms.size()));
    for (const auto& [name, p] :
         {std::pair{"kv_transfer_p50", 0.5}, {"kv_transfer_p90", 0.9}, {"kv_transfer_p99", 0.99}})
      put(name, "ms", quantile(ms, p));
    put("kv_transfer_alone", "ms", 1e3 * r.link_time.value() / static_cast<double>(r.transfers));
    for (const PoolSum& s : sums(config, r)) {
      put(s.pool->replica.role == Role::kPrefill ? "prefill_busy" : "decode_busy", "%",
          100 * s.busy / (s.engines * r.end.seconds()));
    }
  }
  if (config.autoscale.on() && r.end > SimTime{}) {
    put("engines", "", r.engine_time / r.end.time());
    put("most_engines", "", static_cast<double>(r.most_engines));
    put("engine_starts", "", static_cast<double>(r.starts));
    put("gpu_hours", "h", r.gpu_time.value() / 3600);
  }
  if (config.failures.any()) {
    double retries = 0;
    for (const RequestRecord& q : r.records) retries += q.retries;
    put("failures", "", static_cast<double>(r.failures));
    put("retries", "", retries);
  }
}

SimulationConfig collocated(SimulationConfig config) {
  config.replica.role = Role::kServe;
  for (PoolConfig& p : config.others) p.replica.role = Role::kServe;
  config.router = config.decode_router;
  return config;
}

}  // namespace orrery
