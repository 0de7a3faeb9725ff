// A nest run element by element: what each holder fetches, keeps and writes back, by walking every
// point of a small problem and remembering sets of elements. Nothing is derived in closed form.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// Accesses in elements of all instances of a holder; the outermost is first.
struct WalkedHolder {
  int level = 0;
  double reads = 0, writes = 0;
};

// The holders of one tensor, by the rules of the convention looptree: a holder drops its tile when
// its body ends. Streams of requests that instances along a shared axis make alike are one stream.
// Loops may be imperfect.
std::vector<WalkedHolder> walk_holders(const Einsum& einsum, const Chip& chip,
                                       const Mapping& mapping, int tensor);

// The same nest where a holder keeps what it has: when its body begins again, it fetches only the
// elements that it does not hold since the last time. Elements fetched by each holder, of all
// instances, the outermost first.
std::vector<double> walk_fetches(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                                 int tensor);

// Time steps in which any unit computes, when units run in lock-step.
double walk_steps(const Einsum& einsum, const Mapping& mapping);

}  // namespace orrery
