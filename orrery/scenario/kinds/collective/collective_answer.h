// The answer to a question about one collective (collective_question.h).
#pragma once

#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/collective/collective_question.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/call_account.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// One call over one group; two points where ASTRA-sim's answer is asked for as well. `hardware`:
// the node (empty: the usual one of the GPU) and the kind of GPUs (empty: the first that the node
// is built with). `accounts`: the money and the plant of the call. InputError: an algorithm or
// protocol that NCCL does not offer there; money or a plant of a trace or at flow level; and as of
// make_network_model and add_call_account. Infeasible as of make_network_model.
std::vector<Point> answer_collective(Facts& facts, const CollectiveQuestion& question,
                                     const ServingSetup::Hardware& hardware,
                                     const CallChoice& accounts, bool bounds);

}  // namespace orrery
