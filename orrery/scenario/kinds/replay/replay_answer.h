// Answers a question about a recorded trace: the times of a traced training iteration as metrics,
// and where its time goes (replay_detail.h).
#pragma once

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/kinds/replay/replay_question.h"
#include "orrery/scenario/question/scenario.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {

// `hardware` names the GPU and the node type to which the measured times are carried over; without
// a GPU they stay as measured. `timeline`: fills ReplayDetail::trace. InputError: no readable
// trace, or values that the trace has nothing for (answer_trace).
Point answer_replay(Facts& facts, const ReplayQuestion& question,
                    const ServingSetup::Hardware& hardware, bool timeline);

// The figures that only replays have.
std::span<const Figure> replay_figures();

}  // namespace orrery
