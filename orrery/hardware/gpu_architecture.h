// An architecture of GPUs: the facts that all GPUs of a chip generation share and no data sheet
// states.
//
// Each architecture is catalog/architectures/<id>.yaml, in which every figure has its source
// (docs/adding-a-gpu.md, section A new architecture). A GPU file names its architecture. Chips of
// one name that differ are variants of the file, by their compute capability:
//
//   id: ampere
//   vendor: nvidia
//   sm_versions: [80, 87]
//   fp32_picojoules: 12
//   variants:
//     - {sm_versions: [86], fp32_picojoules: 10}
//
// A key that a file leaves out has its default below. The defaults are those of a chip of which
// nothing is known but its data sheet.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/fields.h"
#include "orrery/base/units.h"

namespace orrery {

// Kernels of a family that libraries wrote anew for an architecture. The measured kernels of an
// earlier architecture then say little of these (docs/reference/kernels.md, section What carries
// over to a GPU without measurements).
struct ReplacedKernels {
  std::string family;   // of the kernel room: "attention_decode"
  std::string classes;  // beginning of the names of the classes concerned; empty: all
  std::string what;     // old and new kernels, for notes: "FlashAttention 2 by 3"
};

// The generations of NVIDIA's GPUs in the order of the tables of NCCL's tuner. GPUs older than
// Ampere have Volta's.
enum class NcclGeneration : std::uint8_t { kVolta, kAmpere, kHopper, kBlackwell };

struct GpuArchitecture {
  std::string id;                         // "hopper"
  std::string name;                       // the maker's name
  std::string vendor;                     // "nvidia"; a file serves GPUs of its vendor alone
  std::vector<std::int64_t> sm_versions;  // compute capabilities times ten; none: other makers

  // ---- kernels ----

  // The generation for which libraries write kernels: GPUs of one generation run the same ones.
  // Empty in a file: the id. Consumer Blackwell (12.0), whose tensor cores are not those of
  // Blackwell for data centres (10.0, 10.3), is "blackwell-geforce".
  std::string kernels;
  // Number of the generation, which rises with time: the floor of a product falls with it
  // (latency_ratio of the kernel room). NVIDIA's are the first digits of the compute capability.
  // Generations of other makers have no known trend, and all have 0.
  int generation = 0;
  std::vector<ReplacedKernels> replaced_kernels;
  // The set of engines' fall-back rules that hold on the chip, a name of engine_kernels.cc in the
  // kernel room. Empty: none.
  std::string fallback_kernels;
  // TensorRT-LLM's masked multi-head attention takes several times as long with an fp8 cache as
  // with a 16-bit one, because the chip converts fp8 slowly.
  bool slow_fp8_cache = false;
  // Block-scaled products have kernels of one tile shape, 128 x 128, without clusters and without
  // a split of k.
  bool whole_block_scaled_tiles = false;
  // Products in fp8 take their operands in any layout. False: both with the inner dimension along
  // rows, so that training keeps transposed copies.
  bool any_fp8_layout = false;
  // Exponentials per clock and compute unit. Softmax takes one for each pair of query and key.
  // 0: not known.
  double exponentials = 0;
  // Time of attention's backward pass, over the time that 2.5 times the FLOPs take at the rate of
  // the forward pass: attention_backward + attention_backward_short * (1024 / tokens)^0.6 for calls
  // of that many new tokens. The defaults are the mean of Hopper's and Blackwell's.
  double attention_backward = 1.32, attention_backward_short = 0;

  // ---- power ----

  // Energy of a FLOP of fp32 products outside of tensor cores, in picojoules.
  double fp32_picojoules = 6.5;
  // The energy was measured on cards at their power limit. False: close to their full clock, which
  // the limit lowers further.
  bool fp32_at_power_limit = false;
  // Share of its peak that a compute unit of 128 fp32 lanes reaches in fp32 products; units of
  // fewer lanes reach all of it. 1: not limited by its lanes.
  double wide_unit_share = 1;
  // How much longer a short product takes in a training step than in a measuring sweep, because
  // the board lowers its clock under constant load (burst_clock.h). 0: the clock stays.
  double burst = 0;
  // The board of the architecture whose power allows the peaks of the data sheet. Boards with the
  // same peaks and less power run products and attention at a lower clock (burst_clock.h). Absent:
  // the peaks of each board show what its power allows.
  std::optional<Watts> full_power;
  std::optional<FlopsPerSecond> full_bf16;

  // ---- engines and libraries ----

  // The class of GPUs for which engine profiles have files of their own
  // (catalog/engines/by-gpu/<engine>-<class>.yaml). Empty: none.
  std::string engine_class;
  // Hosts of these GPUs are older than those on which engines' host times were measured, or not
  // known (EngineProfile::Execution::older_host_factor).
  bool older_host = true;
  // Engines take their defaults of small GPUs whatever the memory is
  // (EngineProfile::Scheduler::small_gpu_below).
  bool small_gpu_defaults = true;
  // The engines' attention splits the keys of a sequence in steps that mix prompts and decodes
  // (EngineProfile::Kernels::mixed_decode_exponent).
  bool splits_mixed_batches = false;
  // The generation whose rates hold in NCCL's tables.
  NcclGeneration nccl = NcclGeneration::kAmpere;

  std::vector<std::string> sources, unsure;

  // Whether the facts are those of a file of this architecture. Otherwise they are those of the
  // architecture `taken_from`, or the defaults if that is empty.
  bool known = true;
  std::string taken_from;
};

// The keys of an architecture file, without `variants`.
void declare(Fields& fields, GpuArchitecture& architecture);

// Names a GPU's architecture.
struct ArchitectureName {
  std::string_view id, vendor;
  int sm_version = 0;
};

// The facts of an architecture, of the variant with the compute capability if the file has one. The
// file is catalog/architectures/<id>.yaml of `bundle`, or one in `beside`.
//
// Without a file of the maker's architecture, the facts are those of NVIDIA's architecture or
// variant with the nearest compute capability (of two that are as near, the lower one). Without a
// compute capability they are the defaults. `known` is false then.
//
// InputError, with file:line:key: a malformed file.
GpuArchitecture find_architecture(const ArchitectureName& wanted, const Bundle& bundle,
                                  const std::vector<std::filesystem::path>& beside = {});

// The ids of all files, sorted.
std::vector<std::string> architecture_ids(const Bundle& bundle);

// Adds the note of an answer about a GPU whose architecture has no file.
void note_unknown(const GpuArchitecture& architecture, std::vector<std::string>& notes);

}  // namespace orrery
