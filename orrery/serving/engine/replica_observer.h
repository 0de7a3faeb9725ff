// Receives what a replica does: when requests are scheduled, evicted and finished, and when their
// tokens are delivered.
#pragma once

#include <cstdint>
#include <span>

#include "orrery/serving/requests/sim_time.h"
#include "orrery/serving/state/queues.h"

namespace orrery {

class Replica;

// One token of each of some running sequences, delivered one after the other.
struct TokensInTurn {
  std::span<const Slot> of;
  SimTime first, each;  // the time of the first of them, and the time from one to the next
  // From the token before of the first sequence to its token, and how much longer that is from each
  // to the next, at least 0.
  SimTime gap, growth;
};

// Times between the tokens of consecutive steps.
struct TokenGaps {
  std::span<const SimTime> each;
  SimTime sum, least, most;  // of `each`; without meaning if it is empty
};

// Receives what a replica does, in order of time. Requests are indices in the load.
class ReplicaObserver {
 public:
  virtual ~ReplicaObserver() = default;
  // The request's first step was planned; `cached` prompt tokens were in the prefix cache.
  virtual void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) = 0;
  // The request lost its KV cache, which is computed again.
  virtual void evicted(std::uint32_t request) = 0;
  // The request could decode, but the step computes prompts.
  virtual void stalled(std::uint32_t request) = 0;
  // The request's next token, or several that one step made, are delivered at `now` (delivery.h).
  // `first`: the first token of the request. `before`: when the token before was delivered.
  virtual void token(std::uint32_t request, SimTime now, SimTime before, bool first) = 0;
  // The same for tokens none of which is a first token.
  virtual void tokens_in_turn(const Replica& from, const TokensInTurn& tokens);
  // The same for one token of each of `sequences` members of the decode group, none of which is a
  // first token. DecodeGroup::list_ending names their requests.
  virtual void tokens(const Replica& from, std::int64_t sequences, SimTime now, SimTime before) = 0;
  // The same for consecutive steps: the tokens of the first are delivered at `now`, and those of
  // the next ones `gaps` after each other.
  virtual void tokens_of(const Replica& from, std::int64_t sequences, SimTime now, SimTime before,
                         const TokenGaps& gaps) {
    tokens(from, sequences, now, before);
    for (const SimTime gap : gaps.each) tokens(from, sequences, now + gap, now), now += gap;
  }
  // The request's last token is delivered at `now`.
  virtual void finished(std::uint32_t request, SimTime now) = 0;
  // Disaggregated prefill: the prompt is computed, and its KV cache can be fetched.
  virtual void prefilled(std::uint32_t request, SimTime now) = 0;
  // Disaggregated prefill: the replica that decodes has blocks for the prompt, of which `tokens`
  // tokens were not in its prefix cache.
  virtual void allocated(std::uint32_t request, SimTime now, std::int32_t tokens) = 0;
};

}  // namespace orrery
