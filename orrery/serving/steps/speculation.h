// Speculative decoding: a drafter proposes tokens, and one step of the target verifies all of them.
//
// A sequence that decodes computes 1 + d tokens in a step: its last token and d drafts. The drafts
// before the first rejected one are accepted, and one more token comes from the target itself, so
// that a step makes 1 to d + 1 tokens (Leviathan et al. 2023, arXiv:2211.17192). As in vLLM V1,
// drafts count against the token budget of the step and take KV slots. Tokens computed for rejected
// drafts are rolled back, and their slots are used again by the next step. New drafts are made at
// the end of every step that makes a token of the sequence.
//
// Acceptance is a random process: draft i is accepted with probability a_i if those before it were.
// With a chain of n drafts a step makes on average
//   1 + a_1 + a_1 a_2 + ... + a_1 ... a_n      = (1 - a^(n+1)) / (1 - a) for equal a
// tokens. A tree of drafts is described by its depth (`drafts`), the acceptance at each depth (that
// any candidate there is right), and the number of tokens that a step verifies (`tree_tokens`).
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/random.h"

namespace orrery {

struct Speculation {
  std::int32_t drafts = 0;       // drafts of each sequence and step, or depth of a tree; 0: off
  std::int32_t tree_tokens = 0;  // tokens of a tree that a step verifies; 0: a chain of drafts
  // Probability of acceptance at each position, 0 to 1. Later positions have the last one
  // multiplied by decay once for each position more.
  std::vector<double> acceptance = {0.7};
  double decay = 1;   // 0 to 1
  double spread = 0;  // each request's factor on all of them is uniform in [1 - spread, 1 + spread]
  std::uint64_t seed = 0;

  bool on() const { return drafts > 0; }
  // Number of draft tokens that a step verifies for a sequence.
  std::int32_t verified() const { return tree_tokens > 0 ? tree_tokens : drafts; }
};

// Probability that position i (from 0) is accepted if those before it were, for a mean request.
double acceptance_at(const Speculation& s, std::int32_t i);
// Expected number of tokens of a step, for a mean request with all of its drafts.
double tokens_per_verification(const Speculation& s);

// The random process. Its draws depend on the seed, the request and the position in its output, and
// not on the order in which sequences run.
class Acceptance {
 public:
  // REQUIRES s.on().
  explicit Acceptance(const Speculation& s);

  // Number of accepted drafts among the `verified` drafts after output token `made` of `request`.
  std::int32_t accepted(std::uint32_t request, std::int32_t made, std::int32_t verified);

 private:
  std::vector<double> by_position_;
  double spread_;
  std::int32_t tree_tokens_;
  RandomStream draws_, factors_;
};

}  // namespace orrery
