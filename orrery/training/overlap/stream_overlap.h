// A product and a collective on two streams, both cut into pieces of equal size: a piece of the
// product reads what a piece of the collective brought (all-gather before the product), or the
// reverse (reduce-scatter after it). TransformerEngine's user buffers cut into the tp pieces of a
// ring, PyTorch's async TP too.
//
// The communication stream runs its pieces without a gap; the compute stream starts a piece when
// its input is there, and is slower by `slowdown` while communication runs beside it. With c and g
// the lengths of a piece alone, n pieces and slowdown s:
//
//   T = n c + max(g, n g - (n - 1) c / s)
//
// The first piece of communication has nothing to hide behind (or the last, in the mirrored case,
// which takes as long: so does an optimizer's step on the host, whose weights travel back tile by
// tile). The event level runs the pieces; both agree exactly.
#pragma once

#include <vector>

#include "orrery/base/units.h"

namespace orrery {

struct PipedPair {
  Seconds compute, communication;  // whole, each alone
  int pieces = 1;
  double slowdown = 1;  // >= 1
};

Seconds piped_time(const PipedPair& pair);

struct PipedPiece {
  bool communication = false;
  Seconds start, end;
};
// Event by event: `pieces` of each, in the order in which they end on their stream.
struct PipedRun {
  Seconds total;
  std::vector<PipedPiece> pieces;
};
PipedRun run_piped(const PipedPair& pair);

// What a pass of `collectives` equal ones beside its `products` (as many equal shares of them)
// waits for: the communication that the schedule leaves exposed, and what it takes from the
// products.
Seconds piped_exposed(Seconds products, Seconds communication, double collectives, int pieces,
                      double slowdown, bool events);

}  // namespace orrery
