#include "orrery/scenario/setup/plant_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/hardware/cluster.h"

namespace orrery {
namespace {

struct PlantKey {
  bool operator==(const PlantKey&) const = default;
};
struct CarbonKey {
  bool operator==(const CarbonKey&) const = default;
};
struct IntensityKey {
  std::string text;
  bool operator==(const IntensityKey&) const = default;
};

}  // namespace

PlantAccount::PlantAccount(Facts& facts, const PlantChoice& choice, const Gpu& gpu,
                           const std::string& node, std::vector<std::string>& notes)
    : scope_(choice.counted()),
      pue_(choice.pue),
      gpu_(gpu),
      node_(node_of(facts.catalog(), gpu, node)),
      plant_(facts.latest<Plant>(PlantKey{}, [&] { return Plant(facts.bundle()); })) {
  // Pools of one service have the same notes.
  const auto note = [&notes](std::string text) {
    if (std::find(notes.begin(), notes.end(), text) == notes.end())
      notes.push_back(std::move(text));
  };
  if (scope_ != "gpu" && !(node_.power.idle && node_.power.loaded))
    note(fmt::format("power of node {} beyond its GPUs: that of measured servers of its size",
                     node_.id));
  if (scope_ == "facility" && !pue_)
    note(fmt::format("PUE {:.3g}: the average of data centres; new ones have less (energy.pue)",
                     plant_->pue().value));
  if (choice.carbon.empty()) return;
  const auto carbon =
      facts.latest<CarbonFacts>(CarbonKey{}, [&] { return CarbonFacts(facts.bundle()); });
  carbon_ = *facts.latest<CarbonIntensity>(IntensityKey{choice.carbon},
                                           [&] { return carbon->intensity(choice.carbon); });
  if (!carbon_->note.empty()) note(carbon_->note);
  if (!choice.embodied) return;
  embodied_ = carbon->embodied_hour(gpu.id);
  note(fmt::format("boards embody {:.3g} g CO2e for an hour of {:.2g} years each",
                   embodied_.value(), carbon->life_years()));
}

Estimate<Watts> PlantAccount::at(const std::string& scope, std::optional<double> pue,
                                 const Boards& boards) const {
  if (scope == "gpu") return plant_->of_boards(gpu_, boards);
  const Estimate<Watts> wall = plant_->at_wall(gpu_, node_, boards);
  return scope == "node" ? wall : plant_->at_facility(wall, pue);
}

Estimate<Watts> PlantAccount::power(const Boards& boards) const { return at(scope_, pue_, boards); }

Estimate<Grams> PlantAccount::operational_hour(const Boards& boards) const {
  const Estimate<Watts> p = power(boards);
  const Estimate<Joules> hour{p.value * kPaidHour, p.shared, p.own, p.origin, p.tails};
  return operational(hour, carbon_->mean);
}

Estimate<Usd> PlantAccount::with_electricity(const GpuPrice& price, const Boards& boards) const {
  const double gpus = boards.run + boards.wait;
  const Estimate<Usd> bought = price.hour.scaled(gpus);
  if (!price.electricity) return bought;
  const auto pue = pue_ ? pue_ : price.electricity->pue;
  const Estimate<Watts> power = at("facility", pue, boards);
  const double electricity =
      power.value * kPaidHour / kKilowattHour * price.electricity->usd_per_kwh;
  const double all = bought.value.value() + electricity;
  if (all <= 0) return bought;
  const double wa = bought.value.value() / all, wb = electricity / all;
  return {Usd(all), std::hypot(wa * bought.shared, wb * power.shared),
          std::hypot(wa * bought.own, wb * power.own), std::max(bought.origin, power.origin)};
}

}  // namespace orrery
