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

namespace orrery {

struct PoolChoice {
  std::int64_t replicas = 1;
  std::string gpu;  // empty: the first pool's
  std::optional<int> tp, pp, dp, ep;
  std::optional<std::int64_t> seqs, tokens;

  // Parses the text of a pool. InputError that states the fault of the text.
  static PoolChoice parse(std::string_view text);
};

struct ClusterChoice {
  std::int64_t replicas = 1;
  std::string router = "round-robin";
  Seconds router_refresh;  // 0: it sees loads as they are
  std::vector<std::string> pools;
  std::optional<Watts> power_limit;  // of all engines; absent: none

  struct Disaggregation {
    std::string decode;  // a pool; empty: prefill and decode together
    std::string transfer = "whole";
    std::string router = "least-outstanding";
    bool on() const { return !decode.empty(); }
  } disaggregation;

  Autoscale autoscale;
  Failures failures;
};

// The groups `cluster`, `disaggregation`, `autoscale` and `failures`. `cost`: whose spot machines
// are taken away.
void declare(Fields& fields, ClusterChoice& cluster, const CostChoice& cost);

}  // namespace orrery
