// The drafter of a simulated service: its layers, its step times, the memory that it takes.
#pragma once

#include <memory>

#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/techniques.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/scenario/setup/facts.h"
#include "orrery/step/step_model.h"

namespace orrery {

struct Drafter {
  Architecture model;
  Deployment deployment;             // without host work: that of the target's step covers it
  ParallelPlan plan;                 // the target's
  std::unique_ptr<StepModel> steps;  // absent: cost, or n-gram
  double share = 0;                  // where steps is absent (DraftingClock)
  Bytes weights;                     // beside the target's, on one GPU
  Bytes block;                       // KV cache beside that of a block of the target
};

// nullptr: nothing but the target runs.
std::shared_ptr<const Drafter> make_drafter(Facts& facts, const Scenario& scenario,
                                            const Architecture& model, const Deployment& deployment,
                                            const ParallelPlan& plan, const RunOptions& options);

// What `method` drafts with. NoData, Infeasible: the drafter does not fit the target or its layout.
Architecture draft_architecture(const SpeculationChoice& choice, const Architecture& target,
                                const Architecture* draft_model);

// Weights and KV cache of the drafter on one GPU of `plan`.
void set_memory(const SpeculationChoice& choice, const Architecture& target,
                const ParallelPlan& plan, Drafter& drafter);

// For the answer's notes: what drafts, and how acceptance is assumed.
std::string drafter_note(const SpeculationChoice& choice, const Drafter& drafter);

}  // namespace orrery
