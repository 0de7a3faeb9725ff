// An engine simulated a second time, as plainly as its rules can be written: every token of every
// prompt has a name, blocks are compared by the names of all tokens up to their end, every list is
// searched. It shares no code with the engine and knows vLLM V1, vLLM V0, Sarathi and static
// batching.
#pragma once

#include "tests/law/serving_run.h"

namespace orrery::serving_run {

EngineRun reference_run(const Case& c);

}  // namespace orrery::serving_run
