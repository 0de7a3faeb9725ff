// The decode group: sequences that each compute one token in every step.
//
// Members are counted and not visited, so that a step costs what changes in it (sequences that
// join, end, or need a block) and not the number of sequences. A sequence joins after a step that
// made a token of it and stays until its last token.
//
// A scheduler that uses the group (vLLM V1) calls take_in() before each step. Running sequences
// that are no members are in others(), in the order in which they run. If memory is too small for
// an ordinary step, the scheduler evicts sequences, members among them (evict()). If the budget is
// too small, it dissolves the group and treats every sequence by itself.
//
// The tokens of an ordinary step go out together. When a step was short of memory or budget, the
// tokens of members go out one after the other, in the order in which they run, for that step or
// some more (in_turn()).
//
// While a sequence is a member, the parts of its Sequence that change with every step (tokens,
// computed, made, last_token, published blocks) keep the values of when it joined. They are brought
// up to date when it leaves. Steps are numbered from 1 in the order in which they are planned,
// which is also the order in which they end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/serving/requests/sim_time.h"
#include "orrery/serving/state/sequence.h"
#include "orrery/serving/state/turn_times.h"

namespace orrery {

class EngineState;

class DecodeGroup {
 public:
  // Allows sequences to join. REQUIRES an engine in which decoding is one token a step and nothing
  // else: one pipeline stage, no drafts, no adapters, no tiers of the cache.
  void allow() { allowed_ = true; }

  // ---- what a scheduler asks ----

  // Lets sequences join, before a step is planned. False if there can be no group now.
  bool take_in(EngineState& engine);
  // Number of members, each of which computes a token in the next step.
  std::int64_t size() const { return size_; }
  // Running sequences with tokens to compute that are no members.
  const std::vector<Slot>& others() const { return others_; }
  // Whether all members began to run before the sequence.
  bool all_before(const Sequence& s) const;
  // Upper bound of the blocks that members need for their next tokens.
  std::int64_t blocks_needed(const EngineState& engine) const;
  // Number of steps, from the next planned one on and at most `most`, in which that is 0.
  std::size_t steps_without_blocks(std::size_t most) const {
    std::size_t n = 0;
    for (std::size_t phase = due_; n < most && phases_[phase].empty(); ++n)
      phase = phase + 1 == phases_.size() ? 0 : phase + 1;
    return n;
  }
  // Appends the members that have a block outside of their window before the next planned step.
  void list_skipping(const EngineState& engine, std::vector<Slot>& out) const;
  // Computed tokens of a running sequence before the next planned step, whether or not it is a
  // member.
  std::int64_t computed(const Sequence& s) const;
  // Number of further steps that can be planned before one makes the last token of a member. 0 if
  // there are no members, or if sequences that are no members run.
  std::int64_t even_steps() const {
    return size_ > 0 && others_.empty() ? lasts_.front().step - planned_ : 0;
  }
  // Sum of the members' cached tokens before the next planned step.
  std::int64_t past() const { return past_; }
  // Takes the blocks of blocks_needed(). REQUIRES that they are free.
  void grow(EngineState& engine);
  // Whether KV memory counts blocks, and each member takes one in every block_size-th step.
  bool counts(const EngineState& engine) const;
  // Calls `of(i, n)` for each of the next `steps` planned steps i, from 0 on, in which members take
  // n > 0 blocks. REQUIRES counts(), and no member's last token in these steps.
  template <class Of>
  void each_growth(std::size_t steps, const Of& of) const {
    for (std::size_t first = 0; first < std::min(steps, takers_.size()); ++first) {
      const std::size_t phase = due_ + first;
      const std::int64_t n = takers_[phase < takers_.size() ? phase : phase - takers_.size()];
      for (std::size_t i = first; n > 0 && i < steps; i += takers_.size()) of(i, n);
    }
  }
  // Members learn of the blocks that KV memory has counted for them.
  void catch_up(EngineState& engine);
  // Memory or budget was short for the step that is planned next.
  void strain();
  // Whether the tokens of the step that is planned next go out one after the other.
  bool in_turn() const { return planned_ < together_from_; }
  // Blocks that members need for their next tokens.
  std::int64_t blocks_taken(EngineState& engine) const;
  // A member, the last one that began to run, becomes an ordinary sequence.
  void evict(EngineState& engine, Slot slot);
  // Ends the group: all members become ordinary sequences. Calls strain().
  void dissolve(EngineState& engine);

  // ---- what the engine tells ----

  // A sequence has begun to run.
  void run(Slot slot) {
    if (formed_) others_.push_back(slot);
  }
  // A sequence that is no member has ended.
  void end_other(Slot slot) { std::erase(others_, slot); }

  // Number of steps that were under way when the last one was planned.
  std::int64_t under_way() const { return under_way_; }
  struct Step {
    std::int64_t sequences = 0, past = 0;  // members, and the sum of their cached tokens
  };
  // A step is planned with all members. Appends to `last` those whose last token it makes, in the
  // order in which they run. They are in no later step.
  Step plan(const EngineState& engine, std::vector<Slot>& last);
  // The same for `steps` steps that make no member's last token. REQUIRES even_steps() >= steps.
  void plan_even(std::int64_t steps) {
    uncounted_ += size_ * steps;
    past_ += size_ * steps;
    planned_ += steps;
    due_ = (due_ + static_cast<std::size_t>(steps)) % phases_.size();
  }
  // Numbers of the step that is planned next and of the step that ends next.
  std::int64_t planned() const { return planned_; }
  std::int64_t ended() const { return ended_; }
  // When the tokens of members in the step before ended() were delivered; its end if they went out
  // in turn.
  SimTime last_end() const { return last_end_; }
  // When the token of a member before that of the step ended() was delivered. REQUIRES that turns()
  // lacks the member.
  SimTime last_token(const Sequence& s) const {
    return ended_in_turn_ || s.joined == ended_ ? s.last_token : last_end_;
  }
  // Appends the requests of members that get a token when the step ended() ends.
  void list_ending(const EngineState& engine, std::vector<std::uint32_t>& requests) const;
  // The next steps, of which the last one is over for members at `now`, have ended.
  void end(SimTime now, std::int64_t steps = 1) {
    ended_ += steps, last_end_ = now, ended_in_turn_ = false;
    turns_.clear();
  }
  // Times of the first running sequences, all members, in the step before ended(). They hold in the
  // place of Sequence::last_token. If the tokens of that step went out together, there are none
  // before begin_turns().
  const TurnTimes& turns() const { return turns_; }
  // The tokens of the step ended() go out in turn.
  void begin_turns(const EngineState& engine);
  // The next step has ended, whose tokens went out in turn. `turns` takes the place of turns(), and
  // the old ones are returned in it. The caller has set Sequence::last_token of all other members.
  void end_in_turn(SimTime now, TurnTimes& turns) {
    std::swap(turns_, turns);
    ++ended_, last_end_ = now, ended_in_turn_ = true;
  }
  // A member whose last token is made leaves.
  void leave(EngineState& engine, Slot slot);

  // A member that was evicted or whose group was dissolved, with its first and last step in it. The
  // list is kept until the caller clears it.
  struct Former {
    Slot slot;
    std::int64_t joined, last;
  };
  std::vector<Former>& former() { return former_; }

  // Tokens in the KV cache that Sequence::computed of members does not count.
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
  // A member becomes an ordinary sequence before its last token. The lists of members keep it.
  void make_ordinary(EngineState& engine, Slot slot);
  std::size_t phase(std::int64_t step) const;
  // Number of steps that are planned with the member.
  std::int64_t steps_of(const Sequence& s) const;

  bool allowed_ = false, formed_ = false;
  std::int64_t planned_ = 1, ended_ = 1;  // the next to be
  std::int64_t under_way_ = 0;            // steps, when the last was planned
  SimTime last_end_;
  bool ended_in_turn_ = false;  // the step before ended_
  TurnTimes turns_;
  std::int64_t together_from_ = 1;  // the step from which on tokens go out together
  std::int64_t size_ = 0, past_ = 0, uncounted_ = 0;
  std::int64_t latest_ = -1;               // ticket
  std::vector<std::vector<Slot>> phases_;  // by the step, modulo block size, that needs a block
  // By phase: members that get a token in a later step. roomy_: those that had room for a block
  // or more when they joined.
  std::vector<std::int64_t> takers_;
  std::int64_t roomy_ = 0;
  std::size_t due_ = 0;               // the phase of the step that is planned next
  std::vector<Last> lasts_;           // a heap
  std::vector<Slot> others_, newly_;  // newly_: joined before the step that is planned next
  std::vector<Former> former_;
};

}  // namespace orrery
