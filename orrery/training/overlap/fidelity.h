// How the overlap of computation and communication is computed.
#pragma once

#include <cstdint>

namespace orrery {

enum class Fidelity : std::uint8_t {
  kClosedForm,  // by a formula, in nanoseconds
  kEvents,      // by running every piece on its stream
};

}  // namespace orrery
