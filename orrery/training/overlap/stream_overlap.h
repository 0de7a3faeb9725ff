// A product and a collective that overlap piece by piece on two streams.
//
// Both are cut into pieces of equal size. A piece of the product reads what a piece of the
// collective brought (an all-gather before the product), or a piece of the collective sends what a
// piece of the product made (a reduce-scatter after it). TransformerEngine's user buffers and
// PyTorch's async TP cut into the tp pieces of a ring.
//
// The communication stream runs its pieces without a gap. The compute stream starts a piece when
// its input has arrived, and takes `slowdown` times as long while communication runs. With n
// pieces, c the communication and g the computation of one piece alone, and slowdown s:
//
//   T = n c + max(g, n g - (n - 1) c / s)
//
// No computation hides the first piece of communication. The mirrored case, in which nothing hides
// the last piece, takes the same time: a reduce-scatter after a product, or an optimizer step on
// the host whose weights return tile by tile. The event level runs the pieces; both agree exactly
// (tests/unit/training/stream_overlap_test.cc).
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/training/overlap/fidelity.h"

namespace orrery {

struct PipedPair {
  Seconds compute, communication;  // of all pieces, each stream alone
  int pieces = 1;
  double slowdown = 1;  // of computation while communication runs, >= 1
};

// T of the formula above.
Seconds piped_time(const PipedPair& pair);

struct PipedPiece {
  bool communication = false;
  Seconds start, end;
};
// The event level: `pieces` pieces of each stream, in the order in which they end on their stream.
struct PipedRun {
  Seconds total;
  std::vector<PipedPiece> pieces;
};
PipedRun run_piped(const PipedPair& pair);

// The products and the tensor-parallel collectives of a pass.
struct PipedLayers {
  Seconds products, communication;  // of the whole pass, each alone
  double collectives = 0;           // number of equal collectives, each with an equal product
  int pieces = 1;                   // of one product and its collective
  double slowdown = 1;              // of products while communication runs, >= 1
};
// The time by which the pass is longer than its products: communication that stays exposed, and the
// slowdown of the products.
Seconds piped_exposed(const PipedLayers& layers, Fidelity fidelity);

}  // namespace orrery
