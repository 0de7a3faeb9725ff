// One rank of an engine: a queue, a scheduler, KV memory, and the steps that it plans. An engine
// has one rank, or with attention data parallelism several (engine.h).
//
// Synchronous engines plan a step when the one before has ended and its tokens are known.
// Asynchronous engines (vLLM's default) plan step n+1 when step n starts, with placeholders for the
// tokens that n makes. Requests that arrive during step n join step n+2, and memory of sequences
// that end with step n is free for step n+2. Host time is part of the step's time.
// Pipelined engines have as many steps under way as stages. A sequence waits for a token that one
// of them makes; chunks of a prompt follow each other (vLLM's batch queue).
//
// Disaggregated prefill: a replica that prefills ends a request with its first token and holds its
// KV cache until release(). A replica that decodes takes blocks for a request first, receives its
// KV cache and continues. If it must evict the sequence, it computes the prompt itself; until then
// no expected request gets blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "orrery/serving/engine/decode_span.h"
#include "orrery/serving/engine/delivery.h"
#include "orrery/serving/engine/held_time.h"
#include "orrery/serving/engine/kv_moves.h"
#include "orrery/serving/engine/replica_config.h"
#include "orrery/serving/engine/replica_counts.h"
#include "orrery/serving/engine/replica_observer.h"
#include "orrery/serving/schedulers/scheduler.h"
#include "orrery/serving/state/adapters.h"
#include "orrery/serving/state/engine_state.h"
#include "orrery/serving/steps/speculation.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

class Replica {
 public:
  // Borrows config, load and observer.
  Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
          const RequestLoad& load, ReplicaObserver& observer);

  // The request joins the queue.
  void enter(std::uint32_t request);
  // Steps planned from now on carry no prompts, or may again. TensorRT-LLM's schedulers obey it.
  void hold_prompts(bool hold) { state_.hold_prompts = hold; }

  // Plans a step, unless one is planned that has not started or none can be.
  void plan_ahead(SimTime now);
  // Whether a step is planned that has not started. shape() is valid until the next plan_ahead().
  bool planned() const { return count_ > started_; }
  const StepShape& shape() const { return under_way(started_).shape; }
  // Time that the planned step first waits for adapters and KV blocks from the host or the disk.
  SimTime loading() const { return under_way(started_).loading; }
  // The planned step starts and lasts `duration`.
  void start(SimTime duration);
  // The oldest started step ends at `now`: its tokens are made and go out through `delivery`, and
  // sequences finish.
  void end_step(SimTime now, FrontEndDelivery& delivery);

  // ---- spans (decode_span.h) ----

  struct NextSpan {
    std::int64_t steps = 0;                // most that can follow the running one; 0: none
    std::int64_t sequences = 0, past = 0;  // of the first of them
  };
  // The span that begins when the running step ends, if no request comes or goes before.
  NextSpan span() const;
  // Does what end_step(), plan_ahead() and start() do for the steps of span(), which take `times`
  // one after the other: the running step ends at `now` and the first one starts. Stops before a
  // step ends at `limit` or later, and before too few blocks are free for one that is planned.
  // Returns the number of steps that ended, at least one. `now` becomes the end of the step that
  // runs then. REQUIRES now < limit, and at most span().steps and DecodeSpan::kMost times.
  std::size_t go_on(SimTime& now, std::span<const SimTime> times, SimTime limit,
                    FrontEndDelivery& delivery);
  // The times at which the `n` steps of the last go_on() started, and the end of the last one.
  std::span<const SimTime> span_ends(std::size_t n) const { return span_.ends(n); }

  // Disaggregated prefill. The request will decode here, and waits for blocks.
  void expect(std::uint32_t request, SimTime first_token);
  // Gives blocks to expected requests, in order, while enough are free and no evicted request
  // waits.
  void take_blocks(SimTime now);
  // The KV cache of an expected request has arrived.
  void continue_with(std::uint32_t request);
  // The KV cache of a prefilled request was fetched. `may_return`: the request may be sent to this
  // replica once more, because an engine that decodes can fail; its blocks can then be found again.
  void release(std::uint32_t request, bool may_return);
  // Whether the request waits here for one of these two calls.
  bool holds(std::uint32_t request) const { return moves_.holds(request); }
  // Whether some request does.
  bool holds_any() const { return moves_.holds_any(); }
  // A request that is expected or held gives back what it has here and is forgotten. False if it is
  // neither.
  bool abandon(std::uint32_t request);

  std::int64_t outstanding() const { return outstanding_; }  // requests not finished
  std::int64_t waiting() const { return static_cast<std::int64_t>(state_.queues.waiting.size()); }
  std::int64_t running() const { return static_cast<std::int64_t>(state_.queues.running.size()); }
  // Prompt tokens that no step has taken up.
  std::int64_t prompt_ahead() const { return prompt_ahead_; }
  // Appends all requests that wait, run, or were evicted while a step under way makes a token of
  // them. With disaggregated prefill also those that are expected or held here, or have arrived.
  void list_requests(std::vector<std::uint32_t>& out) const;
  const EngineState& state() const { return state_; }
  ReplicaCounts counts() const;

 private:
  struct Made {
    Slot slot;
    std::int32_t tokens;
  };
  struct Step {
    std::vector<Made>
        tokens;  // of sequences that get any; 0: the last one, as a member of the decode group
    std::int64_t group = 0;  // members of the decode group, each of which gets one
    bool in_turn = false;    // tokens of members go out one after the other
    StepShape shape;
    std::vector<PromptChunk> chunks;
    SimTime loading;
  };
  std::size_t depth() const;
  // The i-th of the ring. REQUIRES i < steps_.size().
  Step& under_way(std::size_t i) { return steps_[place(first_ + i)]; }
  const Step& under_way(std::size_t i) const { return steps_[place(first_ + i)]; }
  std::size_t place(std::size_t i) const { return i < steps_.size() ? i : i - steps_.size(); }
  // Whether the step computes one token of each member of the decode group and nothing else.
  bool even(const Step& step) const;
  void ask();
  bool plan(SimTime now, Step& step);
  // Finds the adapters that the planned step uses. Returns the time of loading the missing ones.
  SimTime bring_in_adapters();
  // Returns the time of fetching blocks of prefixes that are not on the GPU.
  SimTime bring_in_blocks(SimTime now);
  // Tokens that a sequence makes which computes its last token and `drafts` drafts.
  std::int32_t make_tokens(Sequence& s, std::int32_t drafts);
  void add_decode_group(Step& step);
  // Steps under way list those that are no members of the decode group any more.
  void list_former_members();
  // The step has ended, whose tokens go out one after the other.
  void end_in_turn(const Step& step, SimTime now, FrontEndDelivery& delivery);
  // The part of it that concerns DecodeGroup::turns(). `listed`: the first of Step::tokens. Returns
  // the first that concerns others.
  std::vector<Made>::const_iterator end_turns(std::vector<Made>::const_iterator listed,
                                              std::vector<Made>::const_iterator end, SimTime now,
                                              FrontEndDelivery& delivery);
  // The step has ended, which made tokens of a sequence outside of the decode group.
  void end_token(const Made& made, SimTime now, FrontEndDelivery& delivery);
  void sort_as_they_run(Step& step) const;
  // The last token of a sequence was made at `now`.
  void finish(Slot slot, SimTime now, SimTime delivered);
  // Runs requests whose KV cache has arrived.
  void resume() {
    if (moves_.any_arrived()) moves_.run_arrived(state_);
  }

  const ReplicaConfig& config_;
  const std::int32_t stages_;
  const bool async_;
  std::unique_ptr<Scheduler> scheduler_;
  const RequestLoad& load_;
  ReplicaObserver& observer_;
  EngineState state_;
  std::optional<Acceptance> acceptance_;
  AdapterSlots slots_;
  DiskQueue disk_;
  AdapterSet adapters_;  // of the step that is planned
  StepPlan plan_;
  std::vector<Slot> last_;   // that get their last token in the step that is planned
  TurnTimes turns_;          // of end_in_turn()
  std::vector<Step> steps_;  // a ring: those that run, then one that is planned behind them
  std::size_t first_ = 0, started_ = 0, count_ = 0;
  bool asked_ = false;      // and nothing to plan until the oldest running step ends
  bool disturbed_ = false;  // requests came, or gave back blocks, since a step was last planned
  std::int64_t outstanding_ = 0, prompt_ahead_ = 0;
  KvMoves moves_;
  ReplicaCounts counts_;  // without what held_time_ has
  HeldTime held_time_;
  DecodeSpan span_;
};

}  // namespace orrery
