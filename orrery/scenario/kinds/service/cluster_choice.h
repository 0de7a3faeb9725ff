// The parts of a Scenario that describe the engines of a simulated service.
//
//   cluster: {replicas: 4, router: prefix, pools: ["2*a100-80g-sxm:tp4"]}
//   disaggregation: {decode: "4:tp2", transfer: layerwise}
//   autoscale: {policy: outstanding, target: 16, most: 8, start_up: 90 s}
//
// The scenario's own GPU and layout are the first pool, of cluster.replicas engines. Further pools
// are written as text: [REPLICAS*][GPU], then what differs from the first pool, each after a colon:
//
//   2*a100-80g-sxm:tp4     two engines of four A100
//   4:tp2                  four of the scenario's own GPU, two each
//   h100-sxm:pp2:seqs64    one; seqs and tokens are max_num_seqs and max_num_batched_tokens
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/base/units.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/serving/cluster/autoscaler.h"
#include "orrery/serving/cluster/failures.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// A further pool: the number of its engines, and how they differ from those of the first pool.
struct PoolChoice {
  std::optional<std::int64_t> engines;  // none: 1
  std::string gpu;                      // empty: the first pool's
  std::optional<int> tp, pp, dp, ep;    // none: the first pool's
  std::optional<std::int64_t> seqs, tokens;

  // Parses the text of a pool. InputError that states the fault of the text.
  static PoolChoice parse(std::string_view text);
  // The text that parses to this pool; the sizes are in the order of the members.
  std::string text() const;

  std::int64_t replicas() const { return engines.value_or(1); }
  // The layout of an engine of the pool. KV caches are not divided (ParallelPlan::cp).
  ParallelPlan layout(const ParallelPlan& first) const;
  bool operator==(const PoolChoice&) const = default;
};

struct ClusterChoice {
  std::int64_t replicas = 1;
  std::string router = "round-robin";
  Seconds router_refresh;  // 0: it sees loads as they are
  std::vector<PoolChoice> pools;
  std::optional<Watts> power_limit;  // of all engines; absent: none

  struct Disaggregation {
    std::optional<PoolChoice> decode;  // none: prefill and decode together
    std::string transfer = "whole";
    std::string router = "least-outstanding";
    bool on() const { return decode.has_value(); }
  } disaggregation;

  Autoscale autoscale;
  Failures failures;
};

// The groups `cluster`, `disaggregation`, `autoscale` and `failures`. `cost`: whose spot machines
// are taken away.
void declare(Fields& fields, ClusterChoice& cluster, const CostChoice& cost);

}  // namespace orrery
