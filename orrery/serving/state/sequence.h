// A request on one replica, and its share of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/sim_time.h"
#include "orrery/serving/state/block_pool.h"

namespace orrery {

using Slot = std::uint32_t;  // index of a sequence on its replica; reused after the sequence left

// Lengths are tokens. "Step" is the number that the decode group gives to a step (decode_group.h).
struct Sequence {
  std::uint32_t request = 0;  // index in the load
  std::int32_t prompt = 0;
  std::int32_t target = 0;     // length of prompt and output when the sequence is done
  std::int32_t tokens = 0;     // prompt and output so far, with the token of a running step
  std::int32_t computed = 0;   // tokens whose KV cache exists or is made by a running step
  std::int32_t made = 0;       // output tokens of steps that have ended
  std::int32_t start = 0;      // `tokens` when it was last admitted
  std::int32_t found = 0;      // tokens that the prefix cache held when it was last admitted
  std::int32_t priority = 0;   // lower goes first
  std::int32_t adapter = -1;   // -1: the base model
  std::int32_t drafts = 0;     // proposed tokens after `tokens`, to be verified by its next step
  std::int32_t in_flight = 0;  // steps under way that make tokens of it; pipeline stages only
  std::int32_t uncounted = 0;  // prompt tokens that no step has taken up (Replica::prompt_ahead)

  // KV memory (KvMemory changes these).
  std::vector<BlockId> blocks;  // row by row, one block of each group; kNoBlock: given back
  std::vector<BlockId> state;   // of recurrent layers
  std::int32_t counted = 0;     // blocks that it holds without their numbers (KvMemory)
  std::int32_t published = 0;   // leading rows that the prefix cache can find
  std::int32_t next_full = 0;   // number of tokens with which the next row to publish is full
  std::int32_t room = 0;        // tokens that its blocks hold
  std::int32_t skipped = 0;     // leading rows that its windowed groups gave back
  std::int32_t next_skip = INT32_MAX;  // computed tokens at which they give back more
  std::int32_t window_rows = 0;  // rows for which blocks of a separate windowed pool were taken
  std::int64_t extent = -1;      // start of its contiguous memory; -1: none
  bool has_adapter = false;      // holds a reference to its adapter in the pool

  bool lost = false;         // its blocks, and has not recovered (EngineState::recovered)
  bool leaves_rows = false;  // rows that it lost are cached but were not found again
  bool parked = false;       // evicted while steps of it run: in no list until they have ended
  bool entered = false;      // a step has carried it
  std::int64_t ticket = -1;  // rises in the order in which sequences began to run
  std::int64_t step = -1;    // last step that made a token of it outside of the group; -1: none
  std::int64_t joined = -1;  // step in which it joined the decode group; -1: it is no member
  SimTime arrival, last_token;

  // Tokens that its next step must compute: 1 and its drafts for a sequence that decodes; 0 if its
  // last token is being made, or if it must wait for a token of a step under way.
  std::int32_t wanted() const {
    return tokens == target || in_flight > 0 ? 0 : tokens + drafts - computed;
  }
  // Whether a token was planned since it was admitted, so that it computes one token a step.
  bool decodes() const { return tokens > start; }
  // Tokens in the KV cache when it is done: the last token is never computed.
  std::int32_t cached_at_end() const { return target - 1; }
};

// The share of one sequence in a step.
struct Work {
  Slot slot;
  std::int32_t new_tokens;
};

}  // namespace orrery
