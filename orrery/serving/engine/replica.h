// One rank of an engine: a queue, a scheduler, KV memory, and the steps that it plans. (An engine
// has one rank, or several with sequences of their own: attention data parallel; engine.h.)
//
// Synchronous: a step is planned when the one before has ended and its tokens are known.
// Asynchronous (vLLM's default): step n+1 is planned when step n starts, with placeholders for the
// tokens that n makes; requests that arrive during step n join step n+2, and memory of sequences
// that step n ends is free for the step after next. Host time is part of the step's time.
// Pipelined: as many steps are under way as there are stages; a sequence waits for a token that one
// of them makes, chunks of a prompt follow each other (vLLM's batch queue).
//
// With prefill and decode apart, a replica that prefills ends a request with its first token and
// holds its KV cache until it is called for; one that decodes takes blocks for it first, gets the
// KV cache, and goes on from there. If it must evict the sequence, it computes the prompt itself;
// while one waits for that, none that comes gets blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "orrery/serving/schedulers/scheduler.h"
#include "orrery/serving/state/adapters.h"
#include "orrery/serving/state/engine_state.h"
#include "orrery/serving/steps/speculation.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

enum class Role : std::uint8_t { kServe, kPrefill, kDecode };

struct ReplicaConfig {
  SchedulerLimits limits;
  std::int64_t kv_blocks = 0;
  bool prefix_caching = true;
  bool async = true;  // not with several stages
  Role role = Role::kServe;
  std::int32_t ranks = 1;   // of attention data parallel; limits and kv_blocks are those of one
  std::int32_t stages = 1;  // pipeline
  Speculation speculation;
  // Adapters (limits.max_loras of them are on the GPU, or kv.adapter_blocks is set): a step that
  // needs one that is not there waits until it has been copied from the host (vLLM loads them
  // before the step).
  SimTime adapter_load;
  KvOptions kv;
  SimTime host_block_copy;  // of a block from host memory; steps wait for those they need
  SimTime disk_block_read, disk_block_write;  // likewise; a disk does one after the other
  SimTime start_up;                  // an engine's first step with a prompt takes so much longer
  std::int64_t balance_timeout = 0;  // steps that prompts wait for other ranks' (engine.h)

  // That the KV memory of a rank holds, if no window gives any back.
  std::int64_t kv_tokens() const {
    return kv_blocks / (kv.groups.separate_pools() ? 1 : kv.groups.count()) * limits.block_size;
  }
  bool adapters() const { return limits.max_loras > 0 || kv.adapter_blocks > 0; }
};

class Replica;

// What a replica tells of its work.
class ReplicaObserver {
 public:
  virtual ~ReplicaObserver() = default;
  virtual void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) = 0;
  virtual void evicted(std::uint32_t request) = 0;
  virtual void stalled(std::uint32_t request) = 0;
  // Its next token, or several that a step made together. `first`: the first of all; `before`: when
  // the one before came.
  virtual void token(std::uint32_t request, SimTime now, SimTime before, bool first) = 0;
  // The next tokens of so many sequences (DecodeGroup::list_ending of `from` names them), none of which is a first one.
  virtual void tokens(const Replica& from, std::int64_t sequences, SimTime now, SimTime before) = 0;
  virtual void finished(std::uint32_t request, SimTime now) = 0;
  // Prefill and decode apart: the prompt is done, its KV cache can be fetched.
  virtual void prefilled(std::uint32_t request, SimTime now) = 0;
  // Blocks for `tokens` prompt tokens are there, what else there is was in the prefix cache.
  virtual void allocated(std::uint32_t request, SimTime now, std::int32_t tokens) = 0;
};

struct ReplicaCounts {
  std::int64_t steps = 0, decode_steps = 0;
  std::int64_t prompt_tokens = 0;  // computed, again after evictions too
  std::int64_t output_tokens = 0;
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache
  // Speculative decoding: sequences' steps with drafts, drafts verified, drafts accepted (before
  // the end of the output cuts them off).
  std::int64_t verifications = 0, drafts = 0, accepted = 0;
  std::int64_t adapter_loads = 0;
  std::int64_t sequence_steps = 0;  // sequences that got a token, over all steps
  Seconds busy;                     // sum of steps; of a fleet, more than simulated time counts to
  // Integrals over busy time: blocks in use, tokens of room in them that hold none, free blocks
  // that a waiting sequence could not use (EngineState::stranded).
  double used_block_seconds = 0, slack_token_seconds = 0, stranded_block_seconds = 0;
  std::int64_t host_fetches = 0, host_keeps = 0;  // blocks copied from and to the host
  std::int64_t disk_fetches = 0, disk_keeps = 0;  // likewise, of the disk
  Seconds disk_waits;                             // of steps for it

  bool operator==(const ReplicaCounts&) const = default;
  ReplicaCounts& operator+=(const ReplicaCounts& other);
};

class Replica {
 public:
  // Borrows load and observer.
  Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
          const RequestLoad& load, ReplicaObserver& observer);

  // A request joins the queue.
  void enter(std::uint32_t request);
  // Steps planned from now on carry no prompts, if the scheduler heeds it (TensorRT-LLM's do).
  void hold_prompts(bool hold) { state_.hold_prompts = hold; }

  // Plans steps: one that has not started, if there can be one.
  void plan_ahead(SimTime now);
  // The first step that has not started; its shape until the next call of plan_ahead.
  bool planned() const { return count_ > started_; }
  StepShape shape() const;
  // What it first waits for: adapters and KV blocks that come from the host.
  SimTime loading() const;
  // It starts, and will last so long.
  void start(SimTime duration);
  // The oldest of the started steps ends: tokens come out, sequences finish.
  void end_step(SimTime now);

  // Prefill and decode apart.
  void expect(std::uint32_t request, SimTime first_token);  // will decode here; waits for blocks
  // For those that wait, in order, while there are any, and no evicted one waits.
  void take_blocks(SimTime now);
  void continue_with(std::uint32_t request);  // its KV cache is here
  void release(std::uint32_t request);        // its KV cache was fetched
  bool holds(std::uint32_t request) const;    // whether it waits for either

  std::int64_t outstanding() const { return outstanding_; }  // requests not finished
  std::int64_t waiting() const { return static_cast<std::int64_t>(state_.queues.waiting.size()); }
  std::int64_t running() const { return static_cast<std::int64_t>(state_.queues.running.size()); }
  // Prompt tokens of its requests that no step has taken up.
  std::int64_t prompt_ahead() const { return prompt_ahead_; }
  // Those that wait, run, or were evicted while a step under way makes a token of them.
  void list_requests(std::vector<std::uint32_t>& out) const;
  const EngineState& state() const { return state_; }
  const ReplicaCounts& counts() const { return counts_; }

 private:
  struct Made {
    Slot slot;
    std::int32_t tokens;
  };
  struct Step {
    std::vector<Made>
        tokens;  // of sequences that get any; 0: the last one, as a member of the decode group
    std::int64_t group = 0;  // members of the decode group, each of which gets one
    StepShape shape;
    std::vector<PromptChunk> chunks;
    SimTime loading;
  };
  struct Held {
    std::uint32_t request;
    Slot slot;
  };
  std::size_t depth() const;
  void ask();
  bool plan(SimTime now, Step& step);
  // Adapters that the planned step uses; the time it takes to load those that are missing.
  SimTime bring_in_adapters();
  // The time it takes to fetch blocks of a prefix that are not on the GPU.
  SimTime bring_in_blocks(SimTime now);
  // What a sequence that computes its last token and `drafts` makes.
  std::int32_t make_tokens(Sequence& s, std::int32_t drafts);
  void add_decode_group(Step& step);
  // The decode_group was dissolved: the steps under way list its members one by one.
  void list_former_members();
  void sort_as_they_run(Step& step) const;
  void finish(Slot slot, SimTime now);
  void resume();
  static std::vector<Held>::const_iterator find(const std::vector<Held>& in, std::uint32_t request);

  ReplicaConfig config_;
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
  std::vector<Step> steps_;  // a ring: those that run, then one that is planned behind them
  std::size_t first_ = 0, started_ = 0, count_ = 0;
  bool asked_ = false;  // and nothing to plan until the oldest running step ends
  std::int64_t outstanding_ = 0, prompt_ahead_ = 0;
  std::vector<Held> held_;     // prefilled, or with blocks: until their KV cache has moved
  std::deque<Slot> expected_;  // to decode here, without blocks yet
  std::deque<Slot> resumed_;   // KV cache here, waiting for max_num_seqs
  ReplicaCounts counts_;
};

}  // namespace orrery
