// The answer to a question about one collective (collective_question.h).
#pragma once

#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/collective_question.h"

namespace orrery {

// The points for `node` (empty: the usual one of `gpu`) with GPUs of kind `gpu` (empty: the first
// that the node is built with). InputError: an algorithm or protocol that NCCL does not offer
// there, and as of make_network_model; Infeasible likewise.
std::vector<Point> answer_collectives(const CollectiveQuestion& question, const std::string& gpu,
                                      const std::string& node, const Bundle& bundle,
                                      bool bounds = false);

}  // namespace orrery
