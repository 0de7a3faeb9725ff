#include "orrery/scenario/kinds/service/rack_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/scenario/kinds/service/cluster_choice.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/setup/plant_account.h"

namespace orrery {
namespace {

struct BoardsOfPool {
  const Gpu& gpu;
  double number = 0;
  PlantAccount account;
};

Watts drawn(const std::vector<BoardsOfPool>& pools, Watts board) {
  Watts sum;
  for (const BoardsOfPool& p : pools)
    sum += p.account.power({{std::min(board, *p.gpu.power)}, p.number, 0}).value;
  return sum;
}

// Engines that the pool can have at once.
double engines(const Autoscale& a, std::int64_t replicas, std::int64_t most) {
  return real(a.policy == "none" ? replicas : std::max(replicas, most));
}

std::vector<BoardsOfPool> boards_of(Facts& facts, const Scenario& s,
                                    const std::vector<PoolChoice>& further) {
  const ClusterChoice& cluster = s.as<ServiceQuestion>().cluster;
  const ParallelPlan& plan = s.parallel;
  std::vector<BoardsOfPool> pools;
  std::vector<std::string> notes;  // those of the service
  const auto add = [&](const std::string& id, double number) {
    const Gpu& gpu = facts.gpu(id);
    if (!gpu.power || facts.chip(gpu.id) != nullptr)
      throw NoData(
          fmt::format("cluster.power_limit: no power of the boards of {} is known", gpu.id));
    const bool own = gpu.id == facts.gpu(s.hardware.gpu).id;
    pools.push_back(
        {gpu, number,
         PlantAccount(facts, s.plant, gpu, own ? s.hardware.node : std::string(), notes)});
  };
  add(s.hardware.gpu,
      plan.devices() * engines(cluster.autoscale, cluster.replicas, cluster.autoscale.most));
  for (const PoolChoice& p : further) {
    add(p.gpu.empty() ? s.hardware.gpu : p.gpu,
        p.layout(plan).devices() *
            engines(cluster.autoscale, p.replicas(), cluster.autoscale.decode_most));
  }
  return pools;
}

}  // namespace

RackLimit::RackLimit(Facts& facts, const Scenario& s, const std::vector<PoolChoice>& further) {
  const auto& limit = s.as<ServiceQuestion>().cluster.power_limit;
  if (!limit) return;
  const std::vector<BoardsOfPool> pools = boards_of(facts, s, further);
  Watts least, most;
  double number = 0;
  for (const BoardsOfPool& p : pools) most = std::max(most, *p.gpu.power), number += p.number;
  // The power grows with that of the boards: the limit lies between two halves again and again.
  if (drawn(pools, most) <= *limit) {
    least = most;
  } else {
    for (int i = 0; i < 60; ++i) {
      const Watts middle = (least + most) / 2;
      (drawn(pools, middle) <= *limit ? least : most) = middle;
    }
  }
  for (const BoardsOfPool& p : pools) {
    const Watts awake = *p.gpu.power * facts.step_power().board(p.gpu.id).awake;
    const Watts lowest = std::max(awake, p.gpu.least_power_limit.value_or(Watts(0)));
    if (least > lowest || (least == lowest && lowest > awake)) continue;
    const std::string why =
        lowest > awake ? fmt::format("{} can be limited to {:.0f} W", p.gpu.id, lowest.value())
                       : fmt::format("{} draws {:.0f} W awake", p.gpu.id, awake.value());
    throw InputError(
        fmt::format("cluster.power_limit: {:g} W leave {:.0f} W for each of {:.0f} boards, and {}",
                    limit->value(), least.value(), number, why));
  }
  board_ = least;
  note_ = fmt::format("a power limit of {:g} W ({}) leaves {:.0f} W for each of {:.0f} boards",
                      limit->value(), s.plant.counted(), least.value(), number);
}

Scenario RackLimit::of(const Scenario& scenario, const Gpu& gpu) const {
  Scenario out = scenario;
  if (!board_) return out;
  const Watts own = scenario.hardware.power_limit.value_or(*gpu.power);
  if (*board_ < own) out.hardware.power_limit = *board_;
  return out;
}

}  // namespace orrery
