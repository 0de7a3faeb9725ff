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
struct PlantNodeKey {
  std::string gpu, node;
  bool operator==(const PlantNodeKey&) const = default;
};
struct CarbonKey {
  bool operator==(const CarbonKey&) const = default;
};
struct IntensityKey {
  std::string text;
  bool operator==(const IntensityKey&) const = default;
};

// The metric times a factor whose error, the deviation of its logarithm, is independent of its own.
void scale(Metric& m, double factor, double error, Origin origin) {
  const auto bound = [&](double value, double p) {
    const double own = m.value > 0 && value > 0 ? std::log(value / m.value) : 0;
    const double all = std::hypot(own, normal_quantile(p) * error);
    return m.value * factor * std::exp(p < 0.5 ? -all : all);
  };
  m.low90 = bound(m.low90, 0.05), m.low50 = bound(m.low50, 0.25);
  m.high50 = bound(m.high50, 0.75), m.high90 = bound(m.high90, 0.95);
  m.value *= factor;
  m.origin = std::max(m.origin, origin);
}

}  // namespace

PlantAccount::PlantAccount(Facts& facts, const PlantChoice& choice, const Gpu& gpu,
                           const std::string& node, std::vector<std::string>& notes)
    : scope_(choice.counted()),
      pue_(choice.pue),
      gpu_(gpu),
      node_(facts.latest<NodeType>(PlantNodeKey{gpu.id, node},
                                   [&] { return node_of(facts.catalog(), gpu, node); })),
      plant_(facts.latest<Plant>(PlantKey{}, [&] { return Plant(facts.bundle()); })) {
  // Pools of one service have the same notes.
  const auto note = [&notes](std::string text) {
    if (std::find(notes.begin(), notes.end(), text) == notes.end())
      notes.push_back(std::move(text));
  };
  if (scope_ != "gpu" && !(node_->power.idle && node_->power.loaded))
    note(fmt::format("power of node {} beyond its GPUs: that of measured servers of its size",
                     node_->id));
  if (scope_ == "facility" && !pue_)
    note(fmt::format("PUE {:.3g}: the average of data centres; new ones have less (energy.pue)",
                     plant_->pue().value));
  if (choice.carbon.empty()) return;
  const auto carbon =
      facts.latest<CarbonFacts>(CarbonKey{}, [&] { return CarbonFacts(facts.bundle()); });
  carbon_ = facts.latest<CarbonIntensity>(IntensityKey{choice.carbon},
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
  const Estimate<Watts> wall = plant_->at_wall(gpu_, *node_, boards);
  return scope == "node" ? wall : plant_->at_facility(wall, pue);
}

Estimate<Watts> PlantAccount::power(const Boards& boards) const { return at(scope_, pue_, boards); }

PlantAccount::Parts PlantAccount::parts(const Boards& boards) const {
  Parts parts{at("gpu", {}, boards).value, {}, {}, {}};
  if (scope_ == "gpu") return parts;
  const Watts wall = at("node", {}, boards).value;
  const Watts behind = wall * node_->power.supply_efficiency.value_or(plant_->supply_efficiency());
  parts.rest = behind - parts.boards;
  parts.supplies = wall - behind;
  parts.cooling = power(boards).value - wall;
  return parts;
}

Estimate<Watts> PlantAccount::most_power(double gpus, Watts limit) const {
  return power({{limit, 0, 0, Origin::kExact}, gpus, 0});
}

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

void count_scope(const PlantAccount& account, const ScopedBoards& of,
                 std::vector<Metric>& metrics) {
  if (account.scope() == "gpu") return;
  const Boards& boards = of.boards;
  const double gpus = boards.run + boards.wait;
  const Estimate<Watts> power = account.power(boards);
  const auto widen_scope = [&](const Boards& on, auto counts) {
    const Estimate<Watts> all = account.power(on), own = on.running.scaled(gpus);
    if (own.value <= Watts(0)) return;
    const double beyond =
        std::sqrt(std::max(0.0, std::pow(all.sigma(), 2) - std::pow(own.sigma(), 2)));
    for (Metric& m : metrics) {
      if (counts(m)) scale(m, all.value / own.value, beyond, all.origin);
    }
  };
  widen_scope(boards, [&](const Metric& m) {
    return m.subject == Subject::kEnergy && !(of.in_run && m.name == "energy");
  });
  if (of.in_run)
    widen_scope({*of.in_run, boards.run, boards.wait},
                [](const Metric& m) { return m.name == "energy"; });
  Metric plant = metric("plant_power", power);
  end_at(plant, account.most_power(gpus, of.limit));
  metrics.push_back(std::move(plant));
}

}  // namespace orrery
