// A chip as a hierarchy of memories above an array of compute units.
//
// Levels are listed from the outermost (DRAM) to the innermost (registers). Below each instance of
// a level stands an array of instances of the next level, or of compute units. A level that holds
// nothing only carries an array, or charges what passes through it (a toll: a link, a converter).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

// Energy in picojoules of one access to a block of words; leakage in picojoules a cycle and
// instance.
struct AccessEnergy {
  double read = 0, write = 0, update = 0, leak = 0;
};

// One dimension of an array.
struct ArrayAxis {
  std::string name;       // X, Y or a name of the architecture's own
  std::int64_t size = 1;  // instances along it
  // Names or roles of the tensors of which one word read serves all instances along the axis, and
  // whose partial sums are added along it; absent: every tensor. Used by the convention looptree.
  std::optional<std::vector<std::string>> shared;
};

// Elements of a tensor that are wider or narrower in one memory, such as partial sums in an
// accumulator. The tensor is given by its name or role.
struct TensorWidth {
  std::string tensor;
  double factor = 1;  // of EinsumTensor::bits
};

struct StorageLevel {
  enum class Kind { kMemory, kFanOut, kToll };
  std::string name;
  Kind kind = Kind::kMemory;
  std::vector<ArrayAxis> array;  // below one instance; the first axis is X, the second is Y
  std::optional<double> words;   // capacity of an instance; absent: unbounded
  int word_bits = 16;
  std::vector<TensorWidth> widths;  // used by the convention looptree
  // Roles (input, weight, output) of the tensors that the memory is built for; absent: all. Mappers
  // keep no others there.
  std::optional<std::vector<std::string>> holds;
  double multiple_buffering = 1;  // copies of every tile that the capacity must hold
  int block = 1;                  // words of one access
  int cluster = 1;                // instances that are accessed together
  // Words a cycle and instance; absent: unbounded. Shared is for reads and writes together.
  std::optional<double> read_bandwidth, write_bandwidth, shared_bandwidth;
  AccessEnergy energy;
  double area = 0;  // square millimetres of an instance
  // The network below the level: picojoules for a word over one hop, and through one router.
  double hop_energy = 0, router_energy = 0;
};

struct ComputeArray {
  std::string name;
  double energy = 0;  // picojoules of one operation
  double leak = 0;    // picojoules a cycle and instance
  double area = 0;    // square millimetres of a unit
  double rate = 1;    // operations a cycle and unit
};

// Compute units of a further kind. One stands below each instance of `level`, beside its array.
struct SideCompute {
  ComputeArray units;
  int level = 0;
};

struct Chip {
  std::string name;
  double clock_hz = 1e9;
  std::vector<StorageLevel> levels;  // outermost first
  ComputeArray compute;              // below the last level
  std::vector<SideCompute> beside;   // such as a scalar unit above an array of multipliers
};

// Instances below one instance of the level.
std::int64_t fan_out(const StorageLevel& level);

// Instances of each level of the chip, and of its compute units at the end.
std::vector<std::int64_t> instances(const Chip& chip);

}  // namespace orrery
