// A GPU or another accelerator, as its data sheet describes it.
//
// The figures are facts; the kernel room decides which share of them software reaches. Each GPU is
// a YAML file in catalog/gpus, or a file of the user's (docs/adding-a-gpu.md), in which every
// figure has its source.
//
// Every number carries its unit. GB is 1e9 bytes and GiB 2^30 bytes. Peaks are dense, never with
// sparsity. Bandwidths of links count one direction.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/dtype.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"
#include "orrery/base/units.h"
#include "orrery/hardware/gpu_architecture.h"

namespace orrery {

inline constexpr std::size_t kDtypeCount = 9;

struct GpuMemory {
  std::string kind;  // "HBM3", "GDDR6", ...
  Bytes capacity{};  // nominal
  // Memory that the driver gives to a program (the total of cudaMemGetInfo), if known. It is less
  // than the capacity by ECC and reserves.
  std::optional<Bytes> usable;
  BytesPerSecond bandwidth{};  // peak of the data sheet
  // The check bits of ECC share the chips with the data and cost bandwidth. This holds for GDDR
  // boards for servers and workstations as shipped; HBM has bits of its own, and GeForce boards
  // have no ECC.
  bool inline_ecc = false;
};

// The link to the GPUs of the same node or rack. `kind` is empty if there is none.
struct ScaleUpLink {
  std::string kind;            // "nvlink4", "xgmi4", "ici", ...
  BytesPerSecond bandwidth{};  // each way, all links of the GPU together
};

// The link to the host.
struct HostLink {
  std::string kind;                         // "pcie5", "nvlink-c2c", "unified"; empty: unknown
  std::optional<BytesPerSecond> bandwidth;  // each way; absent if unknown, or for unified memory
};

struct Gpu {
  std::string id;                // "h100-sxm"
  std::string name;              // the maker's name
  std::string vendor;            // "nvidia", "amd", ...
  GpuArchitecture architecture;  // a GPU file states its id: "hopper"
  int sm_version = 0;            // CUDA compute capability times ten: 90 for 9.0; 0: other makers
  std::vector<std::string> aliases;
  std::string node = "standalone";  // id of the node type in which the GPU is usually sold
  GpuMemory memory;
  std::optional<Bytes> l2;                 // largest cache on the compute dies, or on-die SRAM
  std::optional<Bytes> l3;                 // memory-side cache behind the L2 (AMD Infinity Cache)
  int compute_units = 0;                   // SMs, CUs, Xe cores, TensorCores (TPU)
  std::optional<Bytes> shared_memory;      // of one compute unit
  std::optional<Hertz> boost_clock;        // highest clock
  std::optional<Hertz> peak_clock;         // clock that the data sheet's tensor peaks imply
  std::optional<Watts> power;              // thermal design power; absent if not published
  std::optional<Watts> least_power_limit;  // that can be set; absent if not published
  int dies = 1;                            // devices that software sees in one card
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> peaks;  // by Dtype; peak() reads them
  // Rate of the fastest matrix product that was measured on the GPU (maximum achievable matmul
  // FLOPS, MAMF), by Dtype. Stated for GPUs without a kernel sweep of their own.
  std::array<std::optional<FlopsPerSecond>, kDtypeCount> achievable;
  ScaleUpLink scale_up;
  HostLink host_link;
  std::vector<std::string> sources;
  std::vector<std::string> unsure;  // keys of doubtful values: "memory.bandwidth"

  // Whether the hardware multiplies matrices of the format.
  bool supports(Dtype dtype) const;

  // Dense peak of the fastest unit that multiplies the format: tensor cores with fp32 accumulation,
  // or the ordinary units of a GPU without them. NoData, with the formats that the GPU has, if
  // there is none.
  FlopsPerSecond peak(Dtype dtype) const;

  // Share of its peak that the fastest measured product reaches: that of the format, else that of
  // bf16 or fp16, because the power limit that holds one back holds the other back as well. Absent
  // if neither is stated.
  std::optional<double> achievable_share(Dtype dtype) const;

  // The format in which values stored as `storage` are multiplied if no kernel class says
  // otherwise: the format itself if supported; else bf16 or fp16, so that a bf16 model runs in fp16
  // on a V100 and narrower formats are widened to 16 bits, as weight-only kernels do; else fp32.
  // tf32 widens to fp32 at once. NoData: none of these is supported.
  Dtype compute_dtype(Dtype storage) const;

  // memory.usable if known, else memory.capacity.
  Bytes usable_memory() const;
};

// The keys of a GPU file.
void declare(Fields& fields, Gpu& gpu);

// Reads and checks a GPU file. Of the architecture it reads the id alone; a Catalog adds the facts.
// InputError, with file:line:key: an unknown or missing key, a number
// without a unit or out of range, no peak, no source, more usable memory than capacity.
Gpu read_gpu(const Node& document);

}  // namespace orrery
