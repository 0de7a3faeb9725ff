// A GPU or other accelerator as its data sheet describes it. Facts only: what software reaches of
// them is the kernel room's matter.
//
// One YAML file each, in catalog/gpus/ or the user's own (docs/adding-a-gpu.md). Every number
// carries its unit; GB = 1e9 and GiB = 2^30. Peaks are dense (never with sparsity) and links count
// one direction.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/dtype.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"

namespace orrery {

inline constexpr std::size_t kDtypeCount = 9;

struct GpuMemory {
  std::string kind;  // "HBM3", "GDDR6", ...
  Bytes capacity{};  // nominal
  // What the driver hands to a program (total of cudaMemGetInfo), where known: less by ECC and
  // reserves.
  std::optional<Bytes> usable;
  BytesPerSecond bandwidth{};  // data-sheet peak
  // Check bits lie in the same chips and cost bandwidth: GDDR boards for servers and workstations
  // as they are shipped. HBM has bits of its own for them, GeForce boards have none.
  bool inline_ecc = false;
};

// The link to GPUs of the same node or rack; kind is empty where there is none.
struct ScaleUpLink {
  std::string kind;            // "nvlink4", "xgmi4", "ici", ...
  BytesPerSecond bandwidth{};  // each way, all links of the GPU together
};

// The link to the host.
struct HostLink {
  std::string kind;  // "pcie5", "nvlink-c2c", "unified"; empty: not known
  std::optional<BytesPerSecond>
      bandwidth;  // each way; absent for unified memory or where not known
};

struct Gpu {
  std::string id;            // "h100-sxm"
  std::string name;          // as its maker calls it
  std::string vendor;        // "nvidia", "amd", ...
  std::string architecture;  // "hopper": GPUs of one architecture share kernels
  int sm_version = 0;        // CUDA compute capability times ten (90 is 9.0); 0 for other makers
  std::vector<std::string> aliases;
  std::string node = "standalone";  // id of the node type it is usually sold in
  GpuMemory memory;
  std::optional<Bytes> l2;             // largest cache on the compute dies, or on-die SRAM
  std::optional<Bytes> l3;             // memory-side cache behind it (AMD Infinity Cache)
  int compute_units = 0;               // SMs, CUs, Xe cores, TensorCores (TPU)
  std::optional<Bytes> shared_memory;  // per compute unit
  std::optional<Hertz> boost_clock;    // highest clock
  std::optional<Hertz> peak_clock;     // the clock that the printed tensor peaks imply
  std::optional<Watts> power;          // TDP; absent where not published
  int dies = 1;                        // devices that software sees in this one card
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> peaks;  // by Dtype; use peak()
  ScaleUpLink scale_up;
  HostLink host_link;
  std::vector<std::string> sources;
  std::vector<std::string> unsure;  // fields whose value is doubtful: "memory.bandwidth"

  // Whether the hardware multiplies matrices of this format.
  bool supports(Dtype dtype) const;

  // Dense peak of the fastest unit that multiplies this format (tensor cores with fp32 accumulation
  // where there are some; the ordinary units otherwise). NoData, naming the formats there are, if
  // there is none.
  FlopsPerSecond peak(Dtype dtype) const;

  // The format in which values stored as `storage` are multiplied when no kernel class says
  // otherwise: itself if supported; a 16-bit format becomes the other one (a bf16 model on a V100
  // is run in fp16); narrower formats are widened to 16 bits (weight-only kernels), tf32 and all
  // others at last to fp32. NoData if none of these is there.
  Dtype compute_dtype(Dtype storage) const;

  // memory.usable, or else memory.capacity.
  Bytes usable_memory() const;
};

// The keys of a GPU file.
void declare(Fields& fields, Gpu& gpu);

// Reads and checks a GPU file. InputError with file:line:key: unknown or missing keys, numbers
// without a unit or out of range, no peak at all, no source, usable memory above the capacity.
Gpu read_gpu(const Node& document);

}  // namespace orrery
