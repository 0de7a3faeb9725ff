// Small nests with everything chosen at random, for laws.
#pragma once

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// A number from `least` to `most`. Inside of a property of RapidCheck only.
int pick(int least, int most);
bool flip();

enum Dim { kM, kN, kK, kR };

struct Nest {
  Einsum einsum;
  Chip chip;
  Mapping mapping;
};

// Z[m, n] += A[m, k] * B[k, n], or with A[m + r, k] and B[k, r, n].
Einsum any_einsum(bool sums);
// Main above Buffer above Local, with an array of 64 below each but the first.
Chip any_chip();
// Loops of small sizes in any order, and holders among them. Dimensions get the size that their
// loops cover, less some of it where factors may be imperfect.
Nest any_nest(bool sums, bool imperfect);
// Holders and loops of each level together, as Timeloop has them.
Nest any_even_nest();

// Elements of a tensor.
double volume(const Einsum& e, int tensor);

}  // namespace orrery
