#include "orrery/scenario/kinds/service/service_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/scenario/bounds/serving_bounds.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/techniques.h"
#include "orrery/serving/requests/lengths.h"

namespace orrery {
namespace {

// The cache of the shortest prompt over the links of all its GPUs.
void add_transfer(const ServedModel& s, const LeastRequests& least, Point& p) {
  const BytesPerSecond link = s.deployment.gpu.scale_up.bandwidth;
  if (link == BytesPerSecond(0)) return;
  const Bytes cache = s.memory->kv_of_model(std::llround(least.isl));
  const Seconds time = cache / s.plan.devices() / link;
  for (const char* metric : {"kv_transfer", "kv_transfer_alone", "kv_transfer_p50",
                             "kv_transfer_p90", "kv_transfer_p99"})
    bound_below(p, metric, time.value() * 1e3,
                fmt::format("{:.4g} GB of KV cache over {} links of {:.4g} GB/s",
                            cache.value() / 1e9, s.plan.devices(), link.value() / 1e9));
}

// The shortest length of a distribution that Lengths reads.
double shortest(const std::string& lengths) {
  const Lengths l = Lengths::parse(lengths);
  constexpr int kLooks = 64;  // `a | b | c` is in any order
  double least = l.at(0);
  for (int i = 1; i < kLooks; ++i) least = std::min(least, 1.0 * l.at(1.0 * i / kLooks));
  return least;
}

}  // namespace

void bound_service(const ServedModel& s, const ServiceQuestion& service, Point& p) {
  LeastRequests least;
  const bool known = service.trace.empty() && service.turns == "1";
  if (known) least.isl = shortest(service.isl), least.osl = shortest(service.osl);
  const bool shares = !known || service.shared_prefix > 0 || service.samples > 1;
  const bool all_cached = !known || service.samples > 1;
  if (shares) {
    least.cached = all_cached ? least.isl - 1
                              : std::min(least.isl - 1, static_cast<double>(service.shared_prefix));
  }
  const SpeculationChoice& drafts = service.speculation;
  if (drafts.on()) least.a_step = static_cast<double>(drafts.tokens) + 1;
  const ClusterChoice& cluster = service.cluster;
  double engines = static_cast<double>(cluster.replicas);
  if (cluster.autoscale.policy != "none")
    engines = std::max(engines, static_cast<double>(cluster.autoscale.most));
  std::vector<PoolChoice> pools = cluster.pools;
  if (cluster.disaggregation.on()) pools.push_back(*cluster.disaggregation.decode);
  for (const PoolChoice& pool : pools) {
    engines += static_cast<double>(pool.replicas());
    const auto same = [](const auto& own, int first) { return !own || *own == first; };
    least.same_layout &= (pool.gpu.empty() || pool.gpu == s.deployment.gpu.id) && !pool.seqs &&
                         same(pool.tp, s.plan.tp) && same(pool.pp, s.plan.pp) &&
                         same(pool.dp, s.plan.dp) && same(pool.ep, s.plan.ep);
  }
  least.replicas = engines;
  // Schedulers may keep a batch for each stage.
  least.together = engines * s.plan.dp * s.plan.pp *
                   static_cast<double>(s.deployment.engine.scheduler.max_num_seqs);
  if (service.max_concurrency > 0)
    least.together = std::min(least.together, static_cast<double>(service.max_concurrency));
  bound_requests(s, least, p);

  bound_above(p, "running", least.together,
              fmt::format("at most {} sequences under way", least.together));
  if (const std::int64_t requests = service.sent(); requests > 0) {
    for (const char* part : {"waiting_q1", "waiting_q2", "waiting_q3", "waiting_q4"})
      bound_above(p, part, static_cast<double>(requests),
                  fmt::format("{} requests in all", requests));
  }
  if (cluster.disaggregation.on() && cluster.disaggregation.transfer == "whole")
    add_transfer(s, least, p);
  if (known && !shares) {
    bound_above(p, "prefix_hits", 0, "no two prompts share a prefix");
  } else if (known && !all_cached) {
    bound_above(
        p, "prefix_hits", 100 * static_cast<double>(service.shared_prefix) / least.isl,
        fmt::format("{} of at least {} tokens are shared", service.shared_prefix, least.isl));
  }
  if (!drafts.on()) return;
  const std::string why = fmt::format("all {} drafts and one token more", drafts.tokens);
  for (const char* gain :
       {"accepted_length", "speedup", "speedup_e2e", "speedup_p10", "speedup_p50", "speedup_p90"})
    bound_above(p, gain, least.a_step, why);
  bound_below(p, "accepted_length", 1, "one token a step without drafts");
  bound_below(p, "tpot_overhead", -100 * (1 - 1 / least.a_step), why);
}

}  // namespace orrery
