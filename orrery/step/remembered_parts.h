// The parts of steps by what they depend on (StepMemory).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/step/step_part.h"
#include "orrery/workload/inference/program_parts.h"

namespace orrery {

class RememberedParts {
 public:
  RememberedParts();

  // The parts of the ops of a source, kTokens or kOutputs, in a step with these totals and facts,
  // in the order of the program. Null: not remembered. Valid until keep().
  const std::vector<StepPart>* find(OpSource source, const StepTotals& totals,
                                    const StepFacts& facts) const;
  // Remembers them, in the place of others.
  void keep(const StepTotals& totals, const StepFacts& facts, std::span<const OpOrigin> origins,
            std::span<const StepPart> parts);

 private:
  struct Key {
    std::int64_t rows = 0, all_tokens = 0;
    int stage = -1;
    bool decoding = false, shared_stream = false, first_stage = false;
    bool operator==(const Key&) const = default;
  };
  struct Known {
    Key key;
    std::vector<StepPart> parts;
  };
  static Key key_of(OpSource source, const StepTotals& totals, const StepFacts& facts);
  static std::size_t place_of(const Key& key);

  // Each set of parts has one place, by a hash of its key.
  std::vector<Known> by_tokens_, by_outputs_;
};

}  // namespace orrery
