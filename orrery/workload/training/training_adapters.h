// The passes of LoRA's adapters: two thin products for each adapted product, and the sum with its
// output. DoRA takes the norms of the columns of the adapted weights.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// Appends the adapters of all layers of the virtual stage. REQUIRES frozen().
void add_adapters(PassWriter& w);

}  // namespace orrery
