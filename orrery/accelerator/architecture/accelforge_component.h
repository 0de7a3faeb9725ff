// A component of AccelForge's architectures: energies, latencies and sizes of a memory, a toll or
// compute units, from their expressions.
#pragma once

#include <optional>
#include <string>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/notation/accelforge_expression.h"
#include "orrery/base/node.h"

namespace orrery {

// The keys that every node of an architecture may have.
std::span<const std::string> accelforge_component_keys();

// InputError with the place: a value that is missing or not read.
StorageLevel read_accelforge_memory(const Node& node, bool toll, double clock_hz,
                                    const ExpressionNames& names);
ComputeArray read_accelforge_compute(const Node& node, double clock_hz,
                                     const ExpressionNames& names);

}  // namespace orrery
