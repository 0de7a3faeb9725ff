#include "orrery/scenario/setup/call_account.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/plant_account.h"

namespace orrery {
namespace {

constexpr double kMillionCalls = 1e6;

// The emissions of an hour of `boards`, the embodied ones among them.
void add_call_carbon(const PlantAccount& account, const Boards& boards,
                     const Estimate<Seconds>& time, Point& p) {
  const double embodied = account.embodied_hour(boards.run).value();
  Estimate<Grams> hour = account.operational_hour(boards);
  const double all = hour.value.value() + embodied;
  if (all > 0) {
    const double share = hour.value.value() / all;
    hour.value = Grams(all), hour.shared *= share, hour.own *= share;
  }
  p.metrics.push_back(metric("carbon_per_hour", hour));
  const Estimate<Grams> call{.value = hour.value * (time.value / kPaidHour),
                             .shared = std::hypot(hour.shared, time.shared),
                             .own = std::hypot(hour.own, time.own),
                             .origin = std::max(hour.origin, time.origin),
                             .tails = time.tails};
  p.metrics.push_back(metric("carbon_per_million_calls", call, 1 / kMillionCalls));
  if (embodied > 0) p.metrics.push_back(exact_metric("embodied_carbon_per_hour", embodied));
}

}  // namespace

void refuse_preemptions(const CostChoice& cost) {
  if (cost.preemptions_per_day)
    throw InputError(
        "cost.preemptions_per_day: a single call has no losses; simulate and train count them");
}

void add_call_cost(const Estimate<Usd>& hour, const Estimate<Seconds>& time, Point& p) {
  p.metrics.push_back(metric("cost_per_hour", hour));
  p.metrics.push_back(metric("cost_per_million_calls", cost_of(hour, time), 1 / kMillionCalls));
}

void add_call_account(Facts& facts, const CallChoice& choice, const AccountedCall& call, Point& p) {
  refuse_preemptions(choice.cost);
  const auto price = gpu_price(facts, choice.cost, call.gpu, p.notes);
  const bool powered = choice.plant.asked() || (price && price->electricity);
  if (powered && !call.power)
    throw NoData(fmt::format("energy: no power of the board of {} is known", call.gpu.id));
  std::optional<PlantAccount> account;
  if (powered) account.emplace(facts, choice.plant, call.gpu, call.node, p.notes);
  const Boards boards{call.power.value_or(Estimate<Watts>()), call.gpus, 0};
  if (choice.plant.asked()) {
    count_scope(*account, {boards, call.limit}, p.metrics);
    if (account->counts_carbon()) add_call_carbon(*account, boards, call.time, p);
  }
  if (!price) return;
  add_call_cost(account ? account->with_electricity(*price, boards) : price->hour.scaled(call.gpus),
                call.time, p);
}

}  // namespace orrery
