// Speculative decoding: a drafter proposes tokens, one step of the target verifies them together.
//
// A sequence that decodes computes 1 + d tokens in a step: the last one made and d drafts. The
// drafts before the first rejected one are accepted, and one more token comes from the target
// itself, so a step makes 1 to d + 1 tokens (Leviathan et al. 2023, arXiv:2211.17192). As in vLLM
// V1 drafts count against the step's token budget and take KV slots; what was computed for rejected
// ones is rolled back, their slots are used again by the next step. New drafts are made at the end
// of every step that makes a token of the sequence.
//
// Acceptance is a random process: the i-th draft is accepted with probability a_i given that those
// before it were. Of n drafts in a chain the expected tokens of a step are
//   1 + a_1 + a_1 a_2 + ... + a_1 ... a_n      = (1 - a^(n+1)) / (1 - a) for equal a
// A tree of drafts is described by its depth (`drafts`), the acceptance at each depth (that any
// candidate there is right) and the tokens verified in all (`tree_tokens`).
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/random.h"

namespace orrery {

struct Speculation {
  std::int32_t drafts = 0;       // proposed for each sequence and step; depth of a tree; 0: off
  std::int32_t tree_tokens = 0;  // verified in place of a chain's `drafts`; 0: a chain
  // Of each position in turn; positions after the last take the last times decay once, twice, ...
  std::vector<double> acceptance = {0.7};
  double decay = 1;   // 0 to 1
  double spread = 0;  // a request's own factor on all of them, uniform in [1 - spread, 1 + spread]
  std::uint64_t seed = 0;

  bool on() const { return drafts > 0; }
  // Draft tokens that a step verifies for a sequence.
  std::int32_t verified() const { return tree_tokens > 0 ? tree_tokens : drafts; }
};

// The probability that position i (from 0) is accepted given those before, for a mean request.
double acceptance_at(const Speculation& s, std::int32_t i);
// Expected tokens of a step, for a mean request with all its drafts.
double tokens_per_verification(const Speculation& s);

// The process itself. Draws depend on seed, request and position in its output alone: not on the
// order in which sequences run.
class Acceptance {
 public:
  // REQUIRES s.on().
  explicit Acceptance(const Speculation& s);

  // Accepted drafts of the `verified` ones that follow output token `made` of `request`.
  std::int32_t accepted(std::uint32_t request, std::int32_t made, std::int32_t verified);

 private:
  std::vector<double> by_position_;
  double spread_;
  std::int32_t tree_tokens_;
  RandomStream draws_, factors_;
};

}  // namespace orrery
