// Money, plant and emissions of one call: of a kernel on a GPU, or of a collective on a group.
//
//   cost_per_hour             USD for an hour of all GPUs of the call
//   cost_per_million_calls    USD for a million calls, one after the other
//   plant_power               W of the boards in energy.scope; the metric `energy` is of it, too
//   carbon_per_hour           g of CO2e for an hour in which calls follow each other
//   carbon_per_million_calls  g of CO2e for a million calls
//   embodied_carbon_per_hour  g, where energy.embodied asks for it
//
// The mean of an hourly series of emissions counts: a call has no hour of the day.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/estimate.h"
#include "orrery/energy/account/money.h"
#include "orrery/hardware/gpu.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// The choices of a question about a call that concern money and the plant.
struct CallChoice {
  const CostChoice& cost;
  const PlantChoice& plant;
  bool asked() const { return cost.asked() || plant.asked(); }
};

struct AccountedCall {
  const Gpu& gpu;
  std::string node;  // of the GPUs; empty: the usual one
  double gpus = 1;
  Estimate<Seconds> time;
  std::optional<Estimate<Watts>> power;  // of a board; none: not known
  Watts limit;                           // of a board
};

// Adds the metrics that are asked for, and to the notes what they assume. InputError: a preemption
// rate, no such price, region or series, no emissions that the boards embody. NoData: the plant, or
// the electricity of an owned GPU, where no power of the board is known.
void add_call_account(Facts& facts, const CallChoice& choice, const AccountedCall& call,
                      Point& point);

// Adds cost_per_hour and cost_per_million_calls of a call on GPUs that cost `hour` together.
void add_call_cost(const Estimate<Usd>& hour, const Estimate<Seconds>& time, Point& point);

// Refuses a preemption rate: a call has no losses.
void refuse_preemptions(const CostChoice& cost);

}  // namespace orrery
