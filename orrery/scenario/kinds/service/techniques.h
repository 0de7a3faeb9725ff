// The parts of a Scenario that select the techniques of a simulated service.
//
//   speculation: {method: draft_model, model: llama-2-7b, tokens: 5, acceptance: 0.7}
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/serving/steps/speculation.h"
#include "orrery/workload/inference/program.h"

namespace orrery {

// Speculative decoding (orrery/serving/steps/speculation.h).
struct SpeculationChoice {
  std::string method = "none";
  std::string model;  // the draft model of method draft_model
  std::int64_t tokens = 4, tree_tokens = 0;
  std::vector<double> acceptance = {0.7};
  double decay = 1, spread = 0;
  std::optional<double> cost;

  bool on() const { return method != "none"; }
  // Whether the drafter has layers. A look-up has none, and neither has a draft model that is
  // described by its cost only.
  bool has_layers() const {
    return on() && method != "ngram" && !(method == "draft_model" && model.empty());
  }
  // The speculation that the engine simulates. InputError: a method lacks a key that it needs.
  Speculation engine(std::uint64_t seed) const;
};

// Low-rank adapters, one a request (orrery/serving/state/adapters.h).
struct LoraChoice {
  std::int64_t adapters = 0;  // 0: none
  std::int64_t rank = 16, slots = 0;
  double alpha = 0;
  std::string targets = "all";
  std::string memory = "slots";

  bool on() const { return adapters > 0; }
  bool paged() const { return memory == "paged"; }
  LoraShape shape() const { return {static_cast<int>(rank), targets == "all"}; }
  std::int64_t on_gpu() const { return slots > 0 ? std::min(slots, adapters) : adapters; }
};

// KV memory of a replica (orrery/serving/state/engine_state.h, KvOptions).
struct KvChoice {
  std::string allocator = "paged";
  std::string reserve = "max_model_len";
  Bytes host_memory, disk_memory;
  // The default is the rate of sequential reads of an NVMe SSD on four lanes of PCIe 4, by data
  // sheets. The user reduces it if several engines share the disk.
  BytesPerSecond disk_bandwidth = BytesPerSecond(7e9);

  bool tiers() const { return host_memory > Bytes(0) || disk_memory > Bytes(0); }
  bool contiguous() const { return allocator == "contiguous"; }
};

// Another model on the same GPUs, served by the same engine (orrery/serving/cluster/shared_gpu.h).
struct ColocatedModelChoice {
  std::string model;
  std::string sharing = "time_slicing";
  double utilization = 0.45;
  double rate = 1;
  std::int64_t requests = 500;
  std::string isl = "1024", osl = "128";

  bool on() const { return !model.empty(); }
};

// The groups `speculation`, `lora`, `kv` and `neighbour`.
void declare(Fields& fields, SpeculationChoice& speculation);
void declare(Fields& fields, LoraChoice& lora);
void declare(Fields& fields, KvChoice& kv);
void declare(Fields& fields, ColocatedModelChoice& neighbour);

}  // namespace orrery
