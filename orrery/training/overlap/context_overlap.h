// Context-parallel communication that overlaps with the core of attention, for one layer in one
// pass.
//
// Ring (Liu et al. 2023; TransformerEngine's "p2p", PyTorch's ring attention). Each of n ranks
// keeps its queries, and keys and values go round a ring. A pass is n blocks of attention. Block i
// and the hop that brings the keys and values of the next block start together, when block i-1 and
// the hop before have ended: each stream waits for the other. In the backward pass, the gradients
// of a block's keys and values follow them one hop later, and return to their rank when the last
// block is done. With c a hop, a a block, and computation that takes s times as long during a hop
// (side_by_side in schedule.h):
//
//   hops during block i   forward  [i < n-1]
//                         backward [i < n-1] + [i >= 2], and one hop after the last block
//   forward   (n-1) |a, c| + a
//   backward  2 |a, c| + (n-3) |a, 2c| + |a, c| + c     n >= 3
//             |a, c| + a + c                            n = 2
//
// |a, c| is the time of a block during which a hop runs. All blocks are equal if ranks take two
// parts of the sequence that mirror each other (zig-zag). With consecutive parts the last rank, for
// which all others wait, starts with half of a block: the diagonal.
//
// All-gather (Llama 3; TransformerEngine's "all_gather"): keys and values are gathered before the
// pass, again in the backward pass, and their gradients are reduced after it. Ulysses (DeepSpeed;
// "a2a"): all-to-all before and after. No computation hides either of them. USP (Fang and Zhao
// 2024) combines both: all-to-all within groups of `ulysses` ranks and a ring between the groups.
// Only the hops of the ring are hidden. With groups of one rank it is the ring, with one group
// Ulysses.
//
// The event level runs blocks and hops; both agree exactly
// (tests/unit/training/context_overlap_test.cc).
#pragma once

#include <vector>

#include "orrery/base/units.h"
#include "orrery/training/overlap/fidelity.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct ContextPass {
  ContextMethod method = ContextMethod::kRing;
  int ranks = 2;         // >= 2
  bool balanced = true;  // zig-zag: all blocks of a ring are equal
  bool backward = false;
  Seconds attention;      // all blocks of a rank, alone
  Seconds communication;  // all communication; of a ring n-1 equal hops, backward 2 (n-1) hops
  double slowdown = 1;    // of a block during a hop, >= 1
};

Seconds context_time(const ContextPass& pass);

struct ContextPiece {
  bool communication = false;
  Seconds start, end;
};
// The event level: blocks and hops, in the order in which they start on their stream.
struct ContextRun {
  Seconds total;
  std::vector<ContextPiece> pieces;
};
ContextRun run_context(const ContextPass& pass);

// The time by which a pass of `layers` layers is longer than its attention. `all` has the attention
// and communication of all layers, of which each layer has an equal share.
Seconds context_exposed(ContextPass all, double layers, Fidelity fidelity);

}  // namespace orrery
