// One deployed engine: what a router sends requests to.
//
// Most engines have one rank (replica.h). Two ways to spread an engine over GPUs change how its
// steps follow each other:
//
//   pipeline stages    Up to `stages` steps are under way, one in each stage. A step enters the
//                      first stage when the step before has moved on: one pace later, the time of
//                      the slowest stage. Its tokens are there when it has passed all stages, and
//                      no earlier than one pace after those of the step before.
//   attention data     `ranks` ranks with queues, sequences and KV memory of their own share the
//   parallel           experts: their steps start and end together (waves), at the pace of the
//                      slowest. A rank without work runs along with a dummy step. A request goes to
//                      the rank with the least 4 * waiting + running (vLLM's balancer).
//                      With balance_timeout (TensorRT-LLM's attention_dp_config, enable_balance)
//                      steps carry no prompts until all ranks have one, or one of them has nothing
//                      to decode, or so many steps have passed since prompts were last let in.
//                      Left out: batching_wait_iters.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/serving/engine/replica.h"
#include "orrery/serving/steps/step_log.h"
#include "orrery/serving/steps/step_timer.h"

namespace orrery {

// What there is to do for an engine at a moment.
struct EngineLoad {
  std::int64_t outstanding = 0, waiting = 0, running = 0;  // requests
  std::int64_t prompt_ahead = 0;  // prompt tokens that no step has taken up, of the best rank
  SimTime step_end;               // of the step under way, if there is one
};

class Engine {
 public:
  // Borrows load, timer and observer. InputError: an unknown scheduler.
  Engine(const ReplicaConfig& config, std::string_view scheduler, const RequestLoad& load,
         StepTimer& timer, ReplicaObserver& observer);

  // From now on steps are written there (null: nowhere), as those of the engine `place`.
  void log_to(StepLog* log, std::uint32_t place) { log_ = log, place_ = place; }

  // A request joins a queue.
  void enter(std::uint32_t request);
  // Takes up work if a step can start or be planned now.
  void dispatch(SimTime now);
  // When the oldest step under way ends; kNever when idle.
  SimTime next() const { return waves_.empty() ? kNever : waves_.front().end; }
  // Ends it: tokens come out, sequences finish. To be followed by dispatch.
  void end_step();

  // Prefill and decode apart (Replica).
  void expect(std::uint32_t request, SimTime first_token);
  void continue_with(std::uint32_t request);
  void release(std::uint32_t request);

  // What routers look at.
  const ReplicaConfig& config() const { return config_; }
  std::int64_t outstanding() const;  // requests not finished
  std::int64_t waiting() const;
  std::int64_t running() const;
  std::int64_t kv_tokens() const;  // that its KV memory holds
  double kv_use() const;           // share of it in use
  // Leading prompt tokens that the prefix cache of the best rank holds.
  std::int32_t cached_prompt(std::uint32_t request) const;
  EngineLoad load() const;
  // EngineView::predicted_ttft, were that its load.
  SimTime predicted_ttft(const EngineLoad& load, std::int64_t tokens, SimTime now) const;

  void list_requests(std::vector<std::uint32_t>& out) const;
  const std::vector<Replica>& ranks() const { return ranks_; }
  // Of all ranks; steps and busy are those of the waves.
  ReplicaCounts counts() const;

 private:
  struct Wave {
    SimTime end;
    std::vector<std::uint32_t> ranks;  // that take part with work of their own
  };
  bool start_wave(SimTime now);
  void balance();
  // Of the ranks' planned steps the slowest, with the tokens of all; and its time.
  std::pair<StepShape, SimTime> slowest() const;
  void record(const StepShape& shape, SimTime end) const;
  std::size_t least_loaded() const;
  Replica& holder(std::uint32_t request);

  ReplicaConfig config_;
  StepTimer& timer_;
  std::vector<Replica> ranks_;
  std::vector<Wave> waves_;                         // under way, the oldest first
  std::vector<std::vector<std::uint32_t>> unused_;  // memory of waves that have ended
  SimTime entered_, pace_, last_end_;               // of the youngest wave
  SimTime busy_;
  SimTime start_up_;       // still to come
  bool let_in_ = true;     // prompts, in the step that is planned
  std::int64_t held_ = 0;  // steps since prompts were last let in by all ranks
  std::int64_t steps_ = 0, decode_steps_ = 0;
  mutable double prompt_token_seconds_ = 0;  // 0: not asked yet
  StepLog* log_ = nullptr;
  std::uint32_t place_ = 0;
};

}  // namespace orrery
