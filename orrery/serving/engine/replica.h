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

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "orrery/serving/engine/delivery.h"
#include "orrery/serving/engine/held_time.h"
#include "orrery/serving/schedulers/scheduler.h"
#include "orrery/serving/state/adapters.h"
#include "orrery/serving/state/engine_state.h"
#include "orrery/serving/steps/speculation.h"
#include "orrery/serving/steps/step_timer.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

enum class Role : std::uint8_t { kServe, kPrefill, kDecode };

// An engine as it is simulated: its profile, its layout over GPUs, its memory and its techniques.
struct ReplicaConfig {
  // The profile, with the defaults that it takes on its GPUs: the scheduler with its parameters,
  // the block size, the front end, and the additional times of first steps.
  EngineProfile engine;
  ParallelPlan plan;           // dp: ranks of attention data parallelism; pp: pipeline stages
  std::int64_t kv_blocks = 0;  // of one rank
  KvOptions kv;                // of one rank
  Role role = Role::kServe;
  Speculation speculation;
  // Time of copying a LoRA adapter from the host. A step waits for the adapters that it needs and
  // that are not on the GPU (vLLM loads them before the step). kv.adapter_slots of them are on the
  // GPU, or those in the KV pool (KvOptions::adapter_blocks).
  SimTime adapter_load;
  SimTime host_block_copy;  // copy of a KV block from host memory, for which the step waits
  SimTime disk_block_read, disk_block_write;  // of a KV block; a disk works on one after the other

  // Whether a step is planned while the one before it runs. Stages have steps under way instead.
  bool async() const { return engine.scheduler.async_scheduling && plan.pp == 1; }
  // Time of the front end for each token (delivery.h), and the additional time for each token of
  // the answer before it. With the latter decodes are no group.
  SimTime delivery() const { return sim_time(engine.execution.delivery()); }
  SimTime delivery_per_past_token() const {
    return sim_time(engine.execution.delivery(1)) - delivery();
  }
  // Tokens that the KV memory of a rank holds if no window gives blocks back.
  std::int64_t kv_tokens() const {
    return kv_blocks / (kv.groups.separate_pools() ? 1 : kv.groups.count()) *
           engine.memory.block_size;
  }
  bool adapters() const { return kv.adapter_slots > 0 || kv.adapter_blocks > 0; }
};

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

// Sums over the life of a replica.
struct ReplicaCounts {
  std::int64_t steps = 0, decode_steps = 0;
  std::int64_t prompt_tokens = 0;  // computed, those computed again after evictions included
  std::int64_t output_tokens = 0;
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache
  // Speculative decoding: steps of sequences with drafts, drafts verified, drafts accepted (those
  // beyond the end of the output included).
  std::int64_t verifications = 0, drafts = 0, accepted = 0;
  std::int64_t adapter_loads = 0;
  std::int64_t sequence_steps = 0;  // sequences that got a token, summed over steps
  Seconds busy;  // sum of the steps' durations; of a fleet it may exceed SimTime's range
  // Integrals over busy time: blocks in use, room in them in tokens (EngineState::slack), free
  // blocks that a waiting sequence could not use (KvMemory::stranded).
  double used_block_seconds = 0, slack_token_seconds = 0, stranded_block_seconds = 0;
  std::int64_t host_fetches = 0, host_keeps = 0;  // KV blocks copied from and to the host
  std::int64_t disk_fetches = 0, disk_keeps = 0;  // KV blocks copied from and to the disk
  Seconds disk_waits;                             // time that steps waited for the disk

  bool operator==(const ReplicaCounts&) const = default;
  ReplicaCounts& operator+=(const ReplicaCounts& other);
};

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

  // ---- spans: consecutive steps in which the same sequences decode and nothing else happens ----

  struct DecodeSpan {
    std::int64_t steps = 0;                // most that can follow the running one; 0: none
    std::int64_t sequences = 0, past = 0;  // of the first of them
  };
  // The span that begins when the running step ends, if no request comes or goes before.
  DecodeSpan span() const;
  // Does what end_step(), plan_ahead() and start() do for the steps of span(), which take `times`
  // one after the other: the running step ends at `now` and the first one starts. Stops before a
  // step ends at `limit` or later, and before too few blocks are free for one that is planned.
  // Returns the number of steps that ended, at least one. `now` becomes the end of the step that
  // runs then. REQUIRES now < limit, and at most span().steps and kMostSpan times.
  static constexpr std::size_t kMostSpan = 64;
  std::size_t go_on(SimTime& now, std::span<const SimTime> times, SimTime limit,
                    FrontEndDelivery& delivery);
  // The times at which the `n` steps of the last go_on() started, and the end of the last one.
  std::span<const SimTime> span_ends(std::size_t n) const { return {span_ends_.data(), n + 1}; }

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
  bool holds(std::uint32_t request) const;
  // Whether some request does.
  bool holds_any() const { return !held_.empty(); }
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
  struct Held {
    std::uint32_t request;
    Slot slot;
  };
  std::size_t depth() const;
  // The i-th of the ring. REQUIRES i < steps_.size().
  Step& under_way(std::size_t i) { return steps_[place(first_ + i)]; }
  const Step& under_way(std::size_t i) const { return steps_[place(first_ + i)]; }
  std::size_t place(std::size_t i) const { return i < steps_.size() ? i : i - steps_.size(); }
  KvHeld holding() const;
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
  // The members of the decode group take the blocks of a span of `n` steps, which take `times` and
  // whose ends are span_ends_. Returns the number of steps before too few are free for one.
  std::size_t take_span_blocks(std::size_t n, std::span<const SimTime> times);
  // The tokens of a span of `n` steps, whose ends are span_ends_, go out. Returns when those of the
  // last one are delivered.
  SimTime deliver_span(std::size_t n, std::span<const SimTime> times, FrontEndDelivery& delivery);
  void sort_as_they_run(Step& step) const;
  // The last token of a sequence was made at `now`.
  void finish(Slot slot, SimTime now, SimTime delivered);
  void resume();
  static std::vector<Held>::const_iterator find(const std::vector<Held>& in, std::uint32_t request);

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
  std::vector<Held> held_;     // prefilled, or with blocks: until their KV cache has moved
  std::deque<Slot> expected_;  // to decode here, without blocks yet
  std::deque<Slot> resumed_;   // KV cache here, waiting for max_num_seqs
  ReplicaCounts counts_;       // without what held_time_ has
  HeldTime held_time_;
  // The times at which the steps of a span end, and the times between deliveries of their tokens.
  std::array<SimTime, kMostSpan + 1> span_ends_;
  std::array<SimTime, kMostSpan> span_gaps_;
};

}  // namespace orrery
