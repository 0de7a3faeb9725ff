// Sequences of a replica that decode together: each gets one token in every step, from the step in
// which it joins to its last. They are counted, not visited, so that a step costs what changes in
// it (who joins, who ends, whose blocks are full) and not their number.
//
// A scheduler that uses it (vLLM V1) asks before each step take_in(): sequences that got a token
// in the step before and want one more join. The others that run stand in others(), in order. In a
// step that is out of the ordinary (memory or budget lacks) it dissolves the whole and treats all
// sequences one by one.
//
// While a sequence is a member, what changes with every step (tokens, computed, made, last_token;
// the blocks that it has published) is in its Sequence as of when it joined, and is made up for
// when it leaves. Steps are numbered from 1 as they are planned; they end in that order.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/serving/requests/sim_time.h"

namespace orrery {

class EngineState;
struct Sequence;
using Slot = std::uint32_t;  // of a sequence on its replica

class DecodeGroup {
 public:
  // Without this nobody joins. For engines in which a token a step is all that decoding does: one
  // pipeline stage, no drafts, no adapters, no host memory.
  void allow() { allowed_ = true; }

  // ---- what a scheduler asks ----

  // Before a step is planned. False: nobody can be together now.
  bool take_in(EngineState& engine);
  // How many compute a token in the next step.
  std::int64_t size() const { return size_; }
  // Running, but no members, with tokens to compute.
  const std::vector<Slot>& others() const { return others_; }
  // Whether all members run before it.
  bool all_before(const Sequence& s) const;
  // Blocks that they need for their next tokens, at most.
  std::int64_t blocks_needed(const EngineState& engine) const;
  // Adds those from which, before the step that is planned next, a block falls out of the window.
  void list_skipping(const EngineState& engine, std::vector<Slot>& out) const;
  // Tokens of one that runs, a member or not, that are computed before that step.
  std::int64_t computed(const Sequence& s) const;
  // Takes these. REQUIRES that there are so many.
  void grow(EngineState& engine);
  // All are apart again.
  void dissolve(EngineState& engine);

  // ---- what the engine tells ----

  // One runs.
  void run(Slot slot) {
    if (formed_) others_.push_back(slot);
  }
  // One that is no member has ended.
  void end_other(Slot slot) { std::erase(others_, slot); }

  // Steps that were under way when the last one was planned.
  std::int64_t under_way() const { return under_way_; }
  struct Step {
    std::int64_t sequences = 0, past = 0;  // members, sum of their cached tokens
  };
  // A step is planned with all members. `last`: those whose last token it makes are listed, in the
  // order in which they run; they are not in later steps.
  Step plan(const EngineState& engine, std::vector<Slot>& last);
  // The number of the step that is planned next, and of that which ends next.
  std::int64_t planned() const { return planned_; }
  std::int64_t ended() const { return ended_; }
  // When the step before that one ended.
  SimTime last_end() const { return last_end_; }
  // Members that get a token when it ends.
  void list_ending(const EngineState& engine, std::vector<std::uint32_t>& requests) const;
  void end(SimTime now) { ++ended_, last_end_ = now; }
  // One whose last token is out leaves.
  void leave(EngineState& engine, Slot slot);

  // Of those that were together until they were dissolved: from when to when. Until it is cleared.
  struct Former {
    Slot slot;
    std::int64_t joined, last;
  };
  std::vector<Former>& former() { return former_; }

  // Tokens in the KV cache that are not counted in Sequence::computed.
  std::int64_t uncounted() const { return uncounted_; }

 private:
  struct Last {
    std::int64_t step, ticket;
    Slot slot;
    bool operator<(const Last& o) const {  // the first is on top
      return step != o.step ? step > o.step : ticket > o.ticket;
    }
  };
  void join(Slot slot, Sequence& s);
  void settle(EngineState& engine, Sequence& s);
  std::size_t phase(std::int64_t step) const;

  bool allowed_ = false, formed_ = false;
  std::int64_t planned_ = 1, ended_ = 1;  // the next to be
  std::int64_t under_way_ = 0;            // steps, when the last was planned
  SimTime last_end_;
  std::int64_t formed_at_ = 0, wait_until_ = 0;  // steps
  std::int64_t size_ = 0, past_ = 0, uncounted_ = 0;
  std::int64_t latest_ = -1;               // ticket
  std::vector<std::vector<Slot>> phases_;  // by the step, modulo block size, that needs a block
  std::vector<Last> lasts_;                // a heap
  std::vector<Slot> others_, newly_;       // newly_: joined before the step that is planned next
  std::vector<Former> former_;
};

}  // namespace orrery
