// The launch command that a user has already, as the plan to beat.
//
//   orrery plan ... --from-command "vllm serve meta-llama/Llama-3.1-8B-Instruct -tp 2"
//
// In a scenario, in Python and over HTTP it is the key plan.from_command.
//
// The command tells the engine, its layout and the format of its weights (launch_reader.h). It does
// not tell the GPU or the number of engines: it is taken on each type of GPU of the plan, with the
// number of engines that is ranked first there, as the race finds it for every other option
// (verify/race.h), beyond the stock and the money of the plan where it needs more.
#pragma once

#include <string>
#include <vector>

#include "orrery/planner/answer/planner.h"

namespace orrery {

// Sentences without their full stops: what `command` brings under the load of the question on
// each type of GPU, how it is ranked beside the best plan, what the plan changes, and which flags
// were not read. REQUIRES a PlanQuestion about a service. InputError: the command is not read
// (read_launch()), it starts an engine that prefills or decodes alone, it serves another model, or
// the plan divides GPUs.
std::vector<std::string> beside_command(Runner& runner, const Scenario& question,
                                        const std::string& command, const Plans& plans);

// find_plans(), with these sentences after the first note where the question has
// PlanChoice::from_command.
Plans find_plans_beside(Runner& runner, const Scenario& question, SearchContext& context);
// The answer to a plan of a service or of a run.
Answer answer_plan(Runner& runner, const Scenario& question, SearchContext& context);

}  // namespace orrery
