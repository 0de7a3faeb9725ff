// The parts of steps by what they depend on (StepMemory).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/step/step_part.h"
#include "orrery/workload/inference/program_parts.h"

namespace orrery {

class RememberedParts {
 public:
  RememberedParts();

  // The sum of the parts of ops of OpSource::kTokens in a step with these totals and facts. Null:
  // not remembered. Valid until keep(). `kinds`: with PartSum::kinds; otherwise they may be there.
  const PartSum* of_tokens(const StepTotals& totals, const StepFacts& facts, bool kinds) const;
  // The parts of ops of kOutputs, in the order of the program.
  const std::vector<StepPart>* of_outputs(const StepTotals& totals, const StepFacts& facts,
                                          bool kinds) const;
  // Remembers both, in the place of others.
  void keep(const StepTotals& totals, const StepFacts& facts, bool kinds, const PartSum& of_tokens,
            std::vector<StepPart> of_outputs);

  // For one step at a time; their memory is used again.
  PartSum& scratch() { return scratch_; }
  ProgramParts& program_scratch() { return program_scratch_; }
  // Tokens that a step of `tokens` computes from a captured graph (padded_tokens of engine.h).
  std::int64_t padded(const EngineProfile& engine, std::int64_t tokens);

 private:
  struct Key {
    std::int64_t rows = 0, all_tokens = 0;
    int stage = -1;
    bool decoding = false, shared_stream = false, first_stage = false;
    bool operator==(const Key&) const = default;
  };
  template <class What>
  struct Known {
    Key key;
    std::unique_ptr<What> what;
    bool kinds = false;
    const What* with(const Key& asked, bool its_kinds) const {
      return key == asked && kinds >= its_kinds ? what.get() : nullptr;
    }
  };
  static Key key_of(OpSource source, const StepTotals& totals, const StepFacts& facts);
  static std::size_t place_of(const Key& key);

  // Each set of parts has one place, by a hash of its key.
  std::vector<Known<PartSum>> by_tokens_;
  std::vector<Known<std::vector<StepPart>>> by_outputs_;
  PartSum scratch_;
  ProgramParts program_scratch_;
  std::vector<std::int64_t> padded_;  // by tokens; 0: unknown
};

}  // namespace orrery
