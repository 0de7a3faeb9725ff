// Long calls that Ctrl-C ends with KeyboardInterrupt.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "orrery/scenario/answer/answer.h"

namespace orrery::python {

// Set once nobody waits for a call any more.
using Abandoned = std::atomic<bool>;

// Runs `work` on a thread of its own and waits for it; Python's signal handlers run meanwhile. If
// one of them raises, as that of Ctrl-C does, the call ends with its exception at once. Work that
// looks at its flag, as a search for plans does, then ends, too; a simulation goes on until its end
// in the background, and keeps no program from exiting. REQUIRES that this thread does not hold
// Python's lock.
Answer interruptible(std::function<Answer(const Abandoned&)> work);

}  // namespace orrery::python
