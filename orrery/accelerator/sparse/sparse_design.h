// A sparse design: where the zeros of the tensors stand, how memories store tensors with zeros, and
// which accesses and operations their zeros leave out.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/accelerator/sparse/density.h"

namespace orrery {

// How one rank of a tensor's fiber tree is stored. A fiber has one coordinate for each subtree.
// Metadata and payloads of a rank, with F fibers of s coordinates, F' the fibers and s' the
// coordinates that are not empty (expected):
//
//   U    uncompressed           none
//   UB   uncompressed, bitmask  F s bits                      F s payloads
//   UOP  offset pairs           none                          F' (s + 1) payloads
//   B    bitmask                F' s bits                     F' ceil(s') payloads
//   CP   coordinates            F' ceil(s') coordinates       as many payloads
//   RLE  run lengths            F' s' runs                    as many payloads
//
// The payload of the innermost rank is the data itself. A rank of one coordinate has nothing.
// Source: the format models of timeloop-model (src/workload/format-models).
enum class RankFormat : std::uint8_t {
  kUncompressed,
  kUncompressedBitmask,
  kOffsetPairs,
  kBitmask,
  kCoordinates,
  kRunLength
};

inline bool compresses(RankFormat f) {
  return f == RankFormat::kBitmask || f == RankFormat::kCoordinates || f == RankFormat::kRunLength;
}

struct RankStorage {
  RankFormat format = RankFormat::kUncompressed;
  std::vector<std::vector<int>> flattened;  // dimensions that may share the rank; empty: one loop
  double metadata_bits = 0, payload_bits = 0;  // of one of each
};

// A tensor in one memory.
struct TensorStorage {
  std::vector<RankStorage> ranks;  // innermost first; empty: stored dense
  bool inner_to_outer = false;     // ranks are given to loops from the innermost
  bool metadata() const { return !ranks.empty(); }
  bool compressed() const {
    for (const RankStorage& r : ranks) {
      if (compresses(r.format)) return true;
    }
    return false;
  }
};

// Accesses of a target are left out where the tile of a tensor they are conditioned on is empty.
struct SparseOption {
  int target = 0;
  std::vector<int> conditions;
};

// Gated accesses take their cycle, skipped ones take neither cycle nor energy of a real access. Of
// several options the one that saves most energy is taken.
struct SparseAction {
  enum class Kind : std::uint8_t { kGate, kSkip };
  Kind kind = Kind::kGate;
  int level = 0;  // index into Chip::levels
  std::vector<SparseOption> options;
};

// Picojoules of an access that is made, gated or skipped.
struct SparseEnergy {
  double random = 0, gated = 0, skipped = 0;
};

struct MemoryEnergies {
  SparseEnergy read, fill, update, metadata_read, metadata_fill, metadata_update;
  double decompression = 0, compression = 0;  // of a word
};

struct MetadataStorage {
  double width = 0;                                       // bits of an access; 0: not counted
  double bits = std::numeric_limits<double>::infinity();  // capacity of an instance
  double word_bits = 0;                                   // where a rank has no width of its own
};

// Orders of the loops of a level, those of one iteration included; dimensions innermost first.
struct LoopOrder {
  std::vector<int> time, space;
};

struct SparseDesign {
  std::vector<Density> densities;                   // of each tensor
  std::vector<std::vector<TensorStorage>> storage;  // by level and tensor
  std::vector<SparseAction> actions;
  bool gate_compute = false;             // where an operand is zero
  bool skip_compute = false;             // where an operand is not there
  std::vector<MemoryEnergies> energies;  // of each level
  SparseEnergy compute;
  std::vector<MetadataStorage> metadata;  // of each level
  std::vector<LoopOrder> orders;          // of each level; empty: not known
};

}  // namespace orrery
