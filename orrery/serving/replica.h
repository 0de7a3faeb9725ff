// One engine: a queue, a scheduler, KV memory, and a GPU that runs steps one after the other.
//
// Synchronous: a step is planned when the one before has ended and its tokens are known.
// Asynchronous (vLLM's default): step n+1 is planned when step n starts, with placeholders for the
// tokens that n makes; requests that arrive during step n join step n+2, and memory of sequences
// that step n ends is free for the step after next. Host time is part of the step's time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/serving/engine_state.h"
#include "orrery/serving/scheduler.h"
#include "orrery/serving/step_timer.h"

namespace orrery {

struct ReplicaConfig {
  SchedulerLimits limits;
  std::int64_t kv_blocks = 0;
  bool prefix_caching = true;
  bool async = true;
};

// What a replica tells of its work.
class ReplicaObserver {
 public:
  virtual ~ReplicaObserver() = default;
  virtual void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) = 0;
  virtual void evicted(std::uint32_t request) = 0;
  virtual void stalled(std::uint32_t request) = 0;
  // `first`: its first token; `before`: when the one before came.
  virtual void token(std::uint32_t request, SimTime now, SimTime before, bool first) = 0;
  virtual void finished(std::uint32_t request, SimTime now) = 0;
};

struct ReplicaCounts {
  std::int64_t steps = 0, decode_steps = 0;
  std::int64_t prompt_tokens = 0;  // computed, again after evictions too
  std::int64_t output_tokens = 0;
  std::int64_t evictions = 0, stalls = 0;
  std::int64_t cached_tokens = 0;  // prompt tokens found in the prefix cache
  SimTime busy;                    // sum of steps
  double used_block_seconds = 0;   // integral of blocks in use over busy time
};

class Replica {
 public:
  // Borrows load, timer and observer.
  Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
          const RequestLoad& load, StepTimer& timer, ReplicaObserver& observer);

  // A request joins the queue.
  void enter(std::uint32_t request);
  // Takes up work if a step can be planned now.
  void dispatch(SimTime now);
  // When the running step ends; kNever when idle.
  SimTime next() const { return count_ > 0 ? steps_[first_].end : kNever; }
  // Ends the running step: tokens come out, sequences finish; the next step starts.
  void end_step();

  std::int64_t outstanding() const { return outstanding_; }  // requests not finished
  std::int64_t waiting() const { return static_cast<std::int64_t>(state_.waiting.size()); }
  const EngineState& state() const { return state_; }
  const ReplicaCounts& counts() const { return counts_; }

 private:
  struct Step {
    std::vector<Slot> tokens;  // sequences that it makes a token of
    SimTime duration, end;
    bool decode_only = true;
  };
  void ask();
  bool plan(SimTime now, Step& step);
  void start(Step& step, SimTime now);
  void finish(Slot slot, SimTime now);

  ReplicaConfig config_;
  std::unique_ptr<Scheduler> scheduler_;
  const RequestLoad& load_;
  StepTimer& timer_;
  ReplicaObserver& observer_;
  EngineState state_;
  StepPlan plan_;
  std::vector<PromptChunk> chunks_;
  std::array<Step, 2> steps_;  // the running one first, then the one planned behind it
  std::size_t first_ = 0, count_ = 0;
  bool asked_ = false;  // and nothing to plan until the running step ends
  std::int64_t outstanding_ = 0;
  ReplicaCounts counts_;
};

}  // namespace orrery
