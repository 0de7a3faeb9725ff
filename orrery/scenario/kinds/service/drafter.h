// The drafter of a service with speculative decoding: its layers, its step times, and its memory.
#pragma once

#include <memory>
#include <string>

#include "orrery/scenario/kinds/service/techniques.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

struct Drafter {
  // The drafter's layers in the target's layout, without memory of their own; absent where it has
  // none (n-gram look-up, a draft model given by its cost).
  std::shared_ptr<ServedModel> served;
  double share = 0;  // a pass in plain decode steps of the target, where steps() is absent
  Bytes weights;     // on one GPU, beside the target's
  Bytes block;       // KV cache on one GPU that goes with one block of the target

  const StepModel* steps() const { return served ? served->steps.get() : nullptr; }
};

// The drafter of a scenario with a ServiceQuestion; nullptr where nothing drafts. NoData,
// Infeasible: the drafter does not fit the target or its layout.
std::shared_ptr<const Drafter> make_drafter(Facts& facts, const Scenario& scenario,
                                            const ServedModel& target);

// For the answer's notes: what drafts, and how acceptance is assumed.
std::string drafter_note(const SpeculationChoice& choice, const Drafter& drafter);

}  // namespace orrery
