#include "orrery/scenario/kinds/service/spot_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/scenario/setup/gpu_price.h"

namespace orrery {

void count_spot_losses(Facts& facts, const Scenario& s, std::span<const SpotEngines> pools,
                       Failures& failures, std::vector<std::string>& notes) {
  if (!s.cost.may_lose()) return;
  double engines = 0, losses = 0;  // a day
  bool stated = false;
  for (const SpotEngines& pool : pools) {
    const Gpu& gpu = pool.served->deployment.gpu;
    const auto price = gpu_price(facts, s.cost, gpu, notes);
    engines += real(pool.engines);
    if (!price || !price->preemptions_per_day) continue;
    stated = true;
    // Another type of GPU is in its usual node.
    const bool first = gpu.id == pools.front().served->deployment.gpu.id;
    const NodeType node = node_of(facts.catalog(), gpu, first ? s.hardware.node : std::string());
    const double machines =
        std::ceil(pool.served->plan.devices() / static_cast<double>(node.gpu_count));
    losses += real(pool.engines) * machines * *price->preemptions_per_day;
  }
  if (!stated) {
    notes.push_back(
        "spot machines that are taken away are not counted: nobody states how often "
        "(cost.preemptions_per_day)");
    return;
  }
  if (losses <= 0) return;
  constexpr double kDay = 86400;
  const double each = losses / engines / kDay;  // a second
  const double own = failures.mean_time > Seconds(0) ? 1 / failures.mean_time.value() : 0;
  if (own + each > 1)
    throw InputError(
        "cost.preemptions_per_day: engines would be lost more often than once a second");
  failures.mean_time = seconds(1 / (own + each));
  notes.push_back(fmt::format(
      "spot machines that are taken away: an engine is lost every {:.3g} h on average, and another "
      "one starts in {:g} s (failures.restart); a shorter load may see no loss",
      1 / (each * 3600), failures.restart.value()));
}

}  // namespace orrery
