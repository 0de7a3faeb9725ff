// One deployed engine, to which a router sends requests.
//
// Most engines have one rank (replica.h). Two ways to spread an engine over GPUs change how its
// steps follow each other:
//
//   pipeline stages    Up to `stages` steps are under way, one in each stage. A step enters the
//                      first stage when the step before has left it: after the time of the slowest
//                      stage, the pace. Its tokens are made when it has passed all stages, and at
//                      least one pace after those of the step before.
//   attention data     `ranks` ranks, each with its own queue, sequences and KV memory, share the
//   parallel           experts. Their steps start and end at the same time (a wave), at the pace of
//                      the slowest. A rank without work runs a dummy step. A request goes to the
//                      rank with the least waiting_weight * waiting + running: vLLM's balancer
//                      weighs waiting ones by 4. TensorRT-LLM counts all requests of a rank alike
//                      (executor_request_queue.py, _balance_requests_across_ranks), so that each
//                      rank gets as many as it ended; ties go to the rank with the fewest prompt
//                      tokens there, to the first one here.
//                      With balance_timeout (TensorRT-LLM's attention_dp_config, enable_balance)
//                      steps carry no prompts until every rank has one, until one rank has nothing
//                      to decode, or until that many steps have passed. batching_wait_iters is not
//                      modelled.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/serving/engine/kv_room.h"
#include "orrery/serving/engine/replica.h"
#include "orrery/serving/steps/step_log.h"
#include "orrery/serving/steps/step_timer.h"
#include "orrery/serving/steps/step_windows.h"

namespace orrery {

// The load of an engine at one time.
struct EngineLoad {
  std::int64_t outstanding = 0, waiting = 0, running = 0;  // requests
  std::int64_t prompt_ahead =
      0;             // prompt tokens that no step has taken up, of the rank with fewest
  SimTime step_end;  // end of the oldest step under way; 0 if there is none
};

class Engine {
 public:
  // Borrows all arguments. Throws InputError for an unknown scheduler.
  Engine(const ReplicaConfig& config, const RequestLoad& load, StepTimer& timer,
         ReplicaObserver& observer);

  // Appends further steps to `log`, as those of engine `place`. Null: records none.
  void log_to(StepLog* log, std::uint32_t place) { log_ = log, place_ = place; }

  // Counts further steps in `windows`. Null: counts none.
  void count_in(StepWindows* windows) { windows_ = windows; }

  // The request joins the queue of a rank.
  void enter(std::uint32_t request);
  // Starts and plans the steps that can be started and planned now.
  void dispatch(SimTime now);
  // End of the oldest step under way; kNever if there is none.
  SimTime next() const { return waves_.empty() ? kNever : waves_.front().end; }
  // Ends the oldest step: its tokens are made, and sequences finish. Call dispatch() next.
  void end_step();
  // Does the same for all further steps that end before `limit`, as long as the same sequences
  // decode and nothing else happens (Replica::span). Call after dispatch(). No effect with pipeline
  // stages, several ranks or a log of steps.
  void go_on(SimTime limit);

  // Disaggregated prefill, as in Replica.
  void expect(std::uint32_t request, SimTime first_token);
  void continue_with(std::uint32_t request);
  void release(std::uint32_t request, bool may_return);
  bool abandon(std::uint32_t request);
  // Whether the engine has neither requests nor KV caches of requests.
  bool idle() const;

  // ---- what routers see ----

  // Whether the KV cache of a request fits into the empty KV memory.
  bool fits(const Request& request) const { return room_.takes(request); }
  const ReplicaConfig& config() const { return config_; }
  std::int64_t outstanding() const;  // requests that have not ended
  std::int64_t waiting() const;
  std::int64_t running() const;
  std::int64_t kv_tokens() const;  // tokens that its KV memory holds
  double kv_use() const;           // share of its KV memory in use, 0 to 1
  // Leading prompt tokens that the prefix cache of the best rank holds.
  std::int32_t cached_prompt(std::uint32_t request) const;
  EngineLoad load() const;
  // EngineView::predicted_ttft for an engine with this load.
  SimTime predicted_ttft(const EngineLoad& load, std::int64_t tokens, SimTime now) const;

  void list_requests(std::vector<std::uint32_t>& out) const;
  const std::vector<Replica>& ranks() const { return ranks_; }
  // Sums over all ranks. Steps and busy time are those of waves.
  ReplicaCounts counts() const;

 private:
  struct Wave {
    SimTime end;
    std::vector<std::uint32_t> ranks;  // those of several that have work of their own
  };
  bool start_wave(SimTime now);
  // Calls `of(i)` for each rank that has work of its own in a wave.
  template <class Of>
  void each_rank(const Wave& wave, const Of& of) const {
    if (ranks_.size() == 1) return of(0);
    for (std::uint32_t i : wave.ranks) of(i);
  }
  // The ranks that have planned a step take part in the wave. Returns whether there are any.
  bool gather(Wave& wave);
  void balance();
  // The slowest of the ranks' planned steps, with the tokens of all ranks, and its time.
  // A step of one rank alone is not copied: the answer is valid until that rank plans a step.
  std::pair<const StepShape*, SimTime> slowest();
  void record(const StepShape& shape, SimTime end) const;
  // The sequences of all ranks that take part in a wave.
  StepCounts counts_of(const Wave& wave) const;
  std::size_t least_loaded() const;
  Replica& holder(std::uint32_t request);

  const ReplicaConfig& config_;
  const std::int32_t stages_;
  const bool async_;
  const std::int64_t waiting_weight_;  // SchedulerTraits
  std::int64_t balance_timeout_ = 0;   // Scheduler
  const KvRoom room_;
  StepTimer& timer_;
  std::vector<Replica> ranks_;
  StepShape slowest_;                               // of several ranks
  std::vector<Wave> waves_;                         // under way, oldest first
  std::vector<std::vector<std::uint32_t>> unused_;  // memory of waves that have ended
  SimTime entered_, pace_, last_end_;               // of the last wave that started
  SimTime busy_;
  SimTime start_up_, continued_start_up_;     // not yet spent
  std::vector<FrontEndDelivery> deliveries_;  // of each rank
  bool let_in_ = true;                        // the planned step may carry prompts
  std::int64_t held_ = 0;                     // steps since prompts were last let in by all ranks
  std::int64_t steps_ = 0, decode_steps_ = 0;
  std::array<SimTime, DecodeSpan::kMost> span_times_;  // of the steps of a span
  mutable double prompt_token_seconds_ = 0;            // of predicted_ttft; 0: not yet known
  StepLog* log_ = nullptr;
  StepWindows* windows_ = nullptr;
  std::uint32_t place_ = 0;
};

}  // namespace orrery
