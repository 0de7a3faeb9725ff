// Limits of the latency in one word (--slo, --goodput), which verbs about services and plans take.
#pragma once

#include <vector>

#include "orrery/base/node.h"
#include "orrery/scenario/kind/verb.h"

namespace orrery {

// `slo`: "ttft:p99:500ms,tpot:50ms"; `goodput`: the words of vLLM's flag, in ms: "ttft:500".
std::vector<VerbText> limit_texts();

// Writes them as the keys of `slo`. InputError: malformed.
void lay_limits(const GivenTexts& texts, Node& document);

}  // namespace orrery
