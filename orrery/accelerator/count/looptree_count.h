// Accesses of a mapping by the convention of LoopTree (Gilbert et al., LoopTree: Exploring the
// Fused-Layer Dataflow Accelerator Design Space, 2024; as AccelForge computes them): holders stand
// anywhere in the nest, and a tile is reused only where its holder stands above a loop.
//
// Each tensor has a nest of its own: a loop in space stands as high as it can, below every holder
// of the tensor in a memory above the array. From the compute units outwards,
//
//   holder       fetches its tile F once each time that it is reached, and, of an output, writes
//                it back; its own memory reads what the holder inside fetched and what it writes
//                back, and writes what the holder inside wrote and what it fetched. The outermost
//                holder fetches nothing
//   time, n      everything happens n times
//   space, n     accesses happen n times; what is fetched from above happens n times unless the
//                loop does not move the tensor and the axis shares it (ArrayAxis::shared)
//   toll         what passes is read there once
//
// An output's first fetch is left out: partial sums begin at nothing. The fetches left out happen
// again only in the loops that move the tensor. A loop in time that does not move a tensor, above
// its holder, fetches the same tile again: reuse is a matter of where the holder stands.
//
// Counts are exact for perfect factors. Loops in a sum (p + r) share their halo below a holder, and
// fetch it again above.
#pragma once

#include <cstddef>
#include <vector>

#include "orrery/accelerator/architecture/chip.h"
#include "orrery/accelerator/mapping/mapping.h"
#include "orrery/accelerator/problem/einsum.h"

namespace orrery {

// Accesses of one holder, in elements. `reads` and `writes` are of all instances of the memory;
// `unit_reads` and `unit_writes` those of the busiest instance.
struct HolderCounts {
  int level = 0, tensor = 0;
  double reads = 0, writes = 0;
  double unit_reads = 0, unit_writes = 0;
  // Elements that an instance must have room for. A tile that loops in time stream through, each
  // moving to other elements, needs only the part inside of them.
  double tile = 0;
};

struct LooptreeCounts {
  std::vector<HolderCounts> holders;  // in the order of the tensors, and outermost first
  double operations = 0;
  double steps = 1;  // of a compute unit
};

// `fused` is the number of nodes, from the outermost, that the einsum shares with others: their
// holders keep whole tiles. REQUIRES: perfect factors; the loops of each dimension multiply to its
// size; each tensor is held.
void count_looptree(const Einsum& einsum, const Chip& chip, const Mapping& mapping,
                    std::size_t fused, LooptreeCounts& out);

// Bits of an element of a tensor in a memory.
double element_bits(const StorageLevel& level, const EinsumTensor& tensor);

}  // namespace orrery
