// Physics of calls that only move their operands.
#pragma once

#include "orrery/kernel/families/family.h"

namespace orrery {

// The point of a memory-bound call, without its coordinates. Its base is `setup` and the time to
// move the operands, those that stay in the L2 from there.
inline KernelPoint memory_bound_point(const Op& op, const KernelGpu& gpu, bool warm,
                                      Seconds setup) {
  KernelPoint p;
  p.memory = bytes(op) / gpu.memory.bandwidth;
  const Bytes cached = warm ? gpu.cached_on_repeat(bytes(op)) : gpu.if_cached(bytes(op));
  p.base = setup + gpu.move_time(bytes(op), cached);
  p.least = gpu.least_move_time(bytes(op), cached);
  return p;
}

}  // namespace orrery
