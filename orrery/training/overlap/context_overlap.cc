#include "orrery/training/overlap/context_overlap.h"

#include <algorithm>
#include <array>

#include "orrery/training/schedules/schedule.h"

namespace orrery {
namespace {

int hops(const ContextPass& p) { return (p.backward ? 2 : 1) * (p.ranks - 1); }

// The length of a whole block. With consecutive parts the last rank has n-1 whole blocks and half
// of one.
Seconds whole_block(const ContextPass& p) {
  return p.attention / (p.balanced ? p.ranks : p.ranks - 0.5);
}
Seconds first_block(const ContextPass& p) { return (p.balanced ? 1 : 0.5) * whole_block(p); }

}  // namespace

Seconds context_time(const ContextPass& p) {
  if (p.method != ContextMethod::kRing) return p.attention + p.communication;
  const int n = p.ranks;
  const Seconds hop = p.communication / hops(p), block = whole_block(p);
  const Seconds one = side_by_side(block, hop, p.slowdown);
  const Seconds first = side_by_side(first_block(p), hop, p.slowdown);
  if (!p.backward) return first + (n - 2) * one + block;
  if (n == 2) return first + block + hop;
  return first + 2 * one + (n - 3) * side_by_side(block, 2 * hop, p.slowdown) + hop;
}

ContextRun run_context(const ContextPass& p) {
  ContextRun run;
  const auto block = [&](Seconds start, Seconds end) { run.pieces.push_back({false, start, end}); };
  const auto hop = [&](Seconds start, Seconds end) { run.pieces.push_back({true, start, end}); };
  if (p.method != ContextMethod::kRing) {
    // Half of an all-to-all is before attention and half after it. The gathering of keys and values
    // is before attention; in the backward pass the reduction of their gradients is half of the
    // time.
    const bool both = p.method == ContextMethod::kUlysses || p.backward;
    const Seconds before = (both ? 0.5 : 1.0) * p.communication;
    hop(Seconds(0), before);
    block(before, before + p.attention);
    run.total = before + p.attention;
    if (both) hop(run.total, run.total + before), run.total += before;
    return run;
  }
  const Seconds each = p.communication / hops(p);
  Seconds computed, sent;  // end of the last piece of each stream
  for (int i = 0; i < p.ranks; ++i) {
    const Seconds start = std::max(computed, sent);
    // Sends the keys and values of the next block, and the gradients of the block before, except
    // for the gradients of the rank's own block.
    const std::array<bool, 2> sends = {i < p.ranks - 1, p.backward && i >= 2};
    for (const bool send : sends) {
      if (!send) continue;
      const Seconds from = std::max(start, sent);
      sent = from + each;
      hop(from, sent);
    }
    // Computes the block, which takes longer until `sent`.
    const Seconds work = i == 0 ? first_block(p) : whole_block(p);
    const Seconds overlap = std::max(Seconds(0), sent - start);
    const Seconds done = std::min(work, overlap / p.slowdown);  // part of the block by then
    computed = done < work ? start + overlap + (work - done) : start + work * p.slowdown;
    block(start, computed);
  }
  run.total = std::max(computed, sent);
  if (p.backward) hop(run.total, run.total + each), run.total += each;
  return run;
}

Seconds context_exposed(ContextPass all, double layers, Fidelity fidelity) {
  if (layers <= 0) return all.communication;
  all.attention *= 1 / layers;
  all.communication *= 1 / layers;
  const Seconds total = fidelity == Fidelity::kEvents ? run_context(all).total : context_time(all);
  return layers * (total - all.attention);
}

}  // namespace orrery
