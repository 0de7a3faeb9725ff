// Context-parallel communication beside the core of attention, of one layer in one pass.
//
// Ring (Liu et al. 2023; TransformerEngine's "p2p", PyTorch's ring attention). Each of n ranks
// keeps its queries; keys and values go round. A pass is n blocks of attention. Block i and the
// hop that brings the next block's keys and values start together, when block i-1 and the hop
// before have ended: each stream waits for the other. Backward, the gradients of a block's keys and
// values follow them, one hop later, and go home when the last block is done; a rank's own wait for
// them there. With c a hop, and computation slower by s beside one (schedule.h: side_by_side):
//
//   hops beside block i   forward   [i < n-1]      backward  [i < n-1] + [i >= 2], and one after
//
//   forward   (n-1) |a, c| + a
//   backward  2 |a, c| + (n-3) |a, 2c| + |a, c| + c     n >= 3;     |a, c| + a + c     n = 2
//
// where |a, c| is a block beside a hop. Blocks are equal where ranks take two parts of the sequence
// that mirror each other (zig-zag); with consecutive parts the last rank, which all others wait
// for, has half a block first: the diagonal.
//
// All-gather (Llama 3; TransformerEngine's "all_gather"): keys and values before, backward again,
// and their gradients reduced after. Ulysses (DeepSpeed; "a2a"): all-to-all before and after.
// Nothing hides either. USP (Fang and Zhao 2024) is both: all-to-all within groups of `ulysses`
// ranks, and a ring between groups, whose hops alone hide; with groups of one rank it is the ring,
// with one group Ulysses.
//
// The event level runs blocks and hops; both agree exactly (tests/unit/training).
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct ContextPass {
  ContextMethod method = ContextMethod::kRing;
  int ranks = 2;         // >= 2
  bool balanced = true;  // zig-zag: all blocks of a ring are equal
  bool backward = false;
  Seconds attention;      // all of a rank's blocks, alone
  Seconds communication;  // all of it: of a ring n-1 equal hops, backward 2 (n-1)
  double slowdown = 1;    // of a block beside a hop, >= 1
};

Seconds context_time(const ContextPass& pass);

struct ContextPiece {
  bool communication = false;
  Seconds start, end;
};
// Event by event: blocks and hops, in the order in which they start on their stream.
struct ContextRun {
  Seconds total;
  std::vector<ContextPiece> pieces;
};
ContextRun run_context(const ContextPass& pass);

// What `layers` such passes, with an equal share of attention and communication each, wait for
// communication. `events`: event by event.
Seconds context_exposed(ContextPass all, double layers, bool events);

}  // namespace orrery
