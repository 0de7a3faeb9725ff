// The parts of a Scenario that say which techniques a simulated service uses.
//
//   speculation: {method: draft_model, model: llama-2-7b, tokens: 5, acceptance: 0.7}
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/serving/speculation.h"

namespace orrery {

// Speculative decoding (orrery/serving/speculation.h).
struct SpeculationChoice {
  std::string method = "none";
  std::string model;  // of draft_model
  std::int64_t tokens = 4, tree_tokens = 0;
  std::vector<double> acceptance = {0.7};
  double decay = 1, spread = 0;
  std::optional<double> cost;

  bool on() const { return method != "none"; }
  // What the engine simulates. InputError: a method that lacks what it needs.
  Speculation engine(std::uint64_t seed) const;
};

// Low-rank adapters, one a request (orrery/serving/adapters.h).
struct LoraChoice {
  std::int64_t adapters = 0;  // 0: none
  std::int64_t rank = 16, slots = 0;
  double alpha = 0;

  bool on() const { return adapters > 0; }
  std::int64_t on_gpu() const { return slots > 0 ? std::min(slots, adapters) : adapters; }
};

// The groups `speculation` and `lora`.
void declare(Fields& fields, SpeculationChoice& speculation);
void declare(Fields& fields, LoraChoice& lora);

}  // namespace orrery
