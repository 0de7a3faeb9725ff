// The exchange of keys and values between context-parallel ranks, as ContextMethod says: twice in
// the backward pass, and again wherever attention is recomputed.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// Appends the exchanges of all layers of the virtual stage. REQUIRES plan().cp > 1.
void add_context_exchanges(PassWriter& w);

}  // namespace orrery
