// A chip of cores, as GPUs and TPUs are: a device memory, a global buffer (L2), cores with a local
// memory (L1), lanes with a systolic array and a vector unit each.
//
//   device memory -> L2 -> [ cores: L1 -> [ lanes: systolic array, vector unit ] ]
//
// The description follows the hardware template of LLMCompass (Zhang et al., "LLMCompass: Enabling
// Efficient Hardware Design for Large Language Model Inference", ISCA 2024). A chip is a YAML file
// with the key `kind: cores` in catalog/accelerators, or one of the user's; every number carries
// its unit and every file its sources (docs/custom-chips.md).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/dtype.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu.h"

namespace orrery {

struct CoreChipMemory {
  std::string kind = "HBM2e";
  Bytes capacity{};
  BytesPerSecond bandwidth{};  // peak of the data sheet
  double sustained = 0.87;     // share of the peak that a kernel which streams reaches
  Seconds latency{400e-9};     // from the request of a core to the data
  int stacks = 0;              // memory stacks on the die's edge, for its area
};

// The systolic array of a lane, or a matrix unit that is described as one.
struct SystolicUnit {
  enum class Dataflow { kOutputStationary, kWeightStationary };
  int rows = 16, columns = 16;
  Dataflow dataflow = Dataflow::kOutputStationary;
  // Multiply-adds of a cell and cycle by number format; absent: the array does not multiply it.
  std::array<std::optional<double>, kDtypeCount> rates;
  double sustained = 1;  // share of the peak that large products reach
};

// The vector unit of a lane.
struct VectorUnit {
  int width = 16;           // elements; each takes one operation or multiply-add a cycle, in fp32
  double exponentials = 4;  // of the whole unit in a cycle
  // The widest row that the unit holds in its registers from reading to writing. Wider rows of a
  // softmax or a norm are read again for each pass.
  int row_registers = 1024;
};

struct CoreChipCore {
  int lanes = 4;
  Bytes l1{};                     // local memory for operands
  Bytes accumulators{};           // registers or memory for the results of a tile
  BytesPerSecond l1_bandwidth{};  // from the local memory to all lanes; 0: no bound
  SystolicUnit array;
  VectorUnit vector;
  // Elements of wide rows that a core works on at a time: a GPU's 2,048 threads with 8 each.
  double elements_in_flight = 16384;
};

// Times that a host adds to an operator which it launches alone and waits for. Kernels of a
// recorded graph do not pay them.
struct LaunchTimes {
  Seconds gemm, softmax, norm, gelu;
};

struct ChipLink {
  std::string kind = "link";
  BytesPerSecond bandwidth{};  // each way, all links of the chip together
  double sustained = 0.8;      // share that large messages reach
  Seconds latency{3e-6};       // of one step of a ring with large messages
  Seconds start{8e-6};         // of one collective
  int links = 0;               // number of links, for the die's area
};

// Energy of one action; without it the chip's power is taken as drawn all the time.
struct ChipEnergy {
  double memory = 0, l2 = 0, l1 = 0;  // picojoules of one byte moved
  double multiply_add = 0;            // picojoules at the 16-bit formats
  double vector_op = 0;               // picojoules of one operation of a vector unit
  Watts idle;                         // leakage and clocks, drawn all the time
};

struct CoreChip {
  std::string kind = "cores";
  std::string id, name, vendor = "custom", node = "standalone";
  Hertz clock{};
  int cores = 1;
  CoreChipMemory memory;
  Bytes l2{};
  BytesPerSecond l2_bandwidth{};  // to all cores together
  CoreChipCore core;
  Seconds kernel_floor{};  // time of the smallest kernel on the chip
  // Time of a wave of tiles in which nothing is computed: cores start, fill their buffers, join.
  Seconds wave_start{1e-6};
  LaunchTimes launch;
  ChipLink link;
  std::optional<ChipEnergy> energy;
  std::optional<Watts> power;    // thermal design power
  std::string process = "7 nm";  // "7 nm", "6 nm" or "5 nm"
  int disabled_cores = 0;        // on the die but not used
  double core_control = 0;       // millions of transistors of a core's link to the L2
  double lane_control = 0;       // millions of transistors that control one vector element
  std::vector<std::string> sources;

  // Multiply-adds of all arrays in a second; 0: the format is not multiplied.
  FlopsPerSecond peak(Dtype dtype) const;
  // FLOPs of all vector units in a second, a multiply-add as two; their operations; their
  // exponentials.
  FlopsPerSecond vector_peak() const;
  double operations_per_second() const;
  double exponentials_per_second() const;
};

// The keys of a chip file.
void declare(Fields& fields, CoreChip& chip);

// Whether a document describes a chip of cores: it has `kind: cores`.
bool is_core_chip(const Node& document);

// Reads and checks a chip file. InputError, with file:line:key: an unknown or missing key, a number
// without a unit or out of range, no format that the arrays multiply, no source.
CoreChip read_core_chip(const Node& document);

// The chip of this id in catalog/accelerators, or of the file at this path. Nothing if
// there is no such chip in the catalog or the file describes something else. InputError: a file
// that cannot be read.
std::optional<CoreChip> find_core_chip(std::string_view name, const Bundle& bundle);

// The chip as the data sheet of a GPU, for everything that asks for one: memory, peaks, links.
Gpu data_sheet(const CoreChip& chip);

}  // namespace orrery
