// The answer to a question about one collective (collective_question.h).
#pragma once

#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/collective_question.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// One call over one group; two points where ASTRA-sim's answer is asked for as well. `hardware`:
// the node (empty: the usual one of the GPU) and the kind of GPUs (empty: the first that the node
// is built with). InputError: an algorithm or protocol that NCCL does not offer there, and as of
// make_network_model; Infeasible likewise.
std::vector<Point> answer_collective(Facts& facts, const CollectiveQuestion& question,
                                     const ServingSetup::Hardware& hardware, bool bounds);

}  // namespace orrery
