#include "orrery/serving/cluster/simulation_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "orrery/base/error.h"

namespace orrery {
namespace {

void check_load(const RequestLoad& load) {
  const auto late = [](const Request& a, const Request& b) { return a.arrival > b.arrival; };
  const auto at = std::adjacent_find(load.requests.begin(), load.requests.end(), late);
  if (at != load.requests.end()) {
    throw InputError(fmt::format("requests must be in order of arrival: number {} is before {}",
                                 at - load.requests.begin() + 2, at - load.requests.begin() + 1));
  }
  if (load.follow_ups.empty()) return;
  if (load.follow_ups.size() != load.requests.size())
    throw std::logic_error("simulate: follow-ups for some requests only");
}

void check_pool(const PoolConfig& p) {
  if (p.replicas < 1) throw InputError("a service needs at least one replica");
  if (p.replica.plan.dp < 1 || p.replica.plan.pp < 1)
    throw InputError("an engine has at least one rank and one stage");
}

bool has(const SimulationConfig& c, Role role) {
  const auto of_role = [role](const PoolConfig& p) { return p.replica.role == role; };
  return of_role(c) || std::any_of(c.others.begin(), c.others.end(), of_role);
}

}  // namespace

bool disaggregated(const SimulationConfig& c) {
  return has(c, Role::kPrefill) || has(c, Role::kDecode);
}

void check(const SimulationConfig& c, const RequestLoad& load) {
  check_pool(c);
  for (const PoolConfig& p : c.others) check_pool(p);
  check_load(load);
  if (disaggregated(c)) {
    if (has(c, Role::kServe) || !has(c, Role::kPrefill) || !has(c, Role::kDecode))
      throw InputError(
          "disaggregated prefill: expected engines that prefill, engines that decode, and no "
          "others");
    if (c.autoscale.on() && c.others.size() > 1)
      throw InputError(
          "disaggregated prefill: autoscaling is supported for one pool that prefills and one that "
          "decodes");
    if (!c.transfer.time)
      throw InputError("disaggregated prefill: the time of KV transfers is missing");
    if (c.beams.on()) throw InputError("beam search: not simulated with disaggregated prefill");
  }
  if (c.beams.on() && c.replica.speculation.on())
    throw InputError("beam search: not simulated with speculative decoding");
  if (c.beams.on() && !load.follow_ups.empty())
    throw InputError("beam search: not simulated for conversations");
  if (c.autoscale.on() && !c.others.empty() && !disaggregated(c))
    throw InputError("autoscaling is supported for a single pool only");
}

ReplicaCounts SimulationResult::total() const {
  ReplicaCounts sum;
  for (const ReplicaCounts& r : replicas) sum += r;
  return sum;
}

ReplicaCounts SimulationResult::of_pool(std::size_t pool) const {
  ReplicaCounts sum;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    if (pool_of[i] == pool) sum += replicas[i];
  }
  return sum;
}

Seconds SimulationResult::engine_time() const {
  Seconds sum;
  for (Seconds t : engine_times) sum += t;
  return sum;
}

}  // namespace orrery
