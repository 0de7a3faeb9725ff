// Closed forms for a batch that arrives at once and for a closed loop of users.
//
// All requests have the same lengths, and there is no randomness. Arrivals, traces and schedulers
// are simulated (orrery/serving/cluster/simulation.h). The forms are the fast path and a check of
// the simulation (tests/law/closed_loop_law_test.cc).
//
// Batch: `requests` requests start together. The engine computes their prompts in steps of at most
// max_num_batched_tokens tokens, then decodes all of them, with one more cached token a step. If
// memory holds fewer requests, the rest waits for the next wave. All members of a wave end
// together.
//   ttft   mean over requests of the time from the start to the first token
//   tpot   mean decode step of the whole batch. The time in which an early request waits for the
//          prompts of others is part of e2e alone.
//
// Closed loop: `requests` users send `requests_per_user` requests each, one after the other. All
// users send their first request at time 0, which is a batch. Later requests depend on the lengths.
//
// Closed loop with equal lengths: users stay in step. The first prompt finds an idle engine and has
// a step of its own. The prompts of one wave take G groups of steps of M seconds each, where a
// group is the whole prompts of one step, or one prompt in chunks. Requests of one group end
// together, and groups end t_decode after each other. The next prompts are in the queue an overhead
// h later and start with the next planned step, with async_scheduling one step later. By then this
// many groups have ended and compete:
//     x = min(G, 1 + [async] + ceil(h / t_decode))
// During a mixed step one more group ends for each that is taken, so that the others wait for x - 1
// groups: their first token is made x M after they were sent. With x = G every round is a batch.
// The same holds for schedulers whose prompts have steps of their own (Scheduler::prompts_alone).
// If a request has fewer steps than the prompts of the others, all wait for all, and e2e = G M.
//
// Closed loop with lengths that scatter (equal_lengths false): users drift apart. Each request that
// ends brings a new prompt, which interrupts the decodes; the k prompts that come within one decode
// step are computed together, where k is running / osl and at least 1. The first token waits as in
// a queue with one server, random arrivals and constant service (M/D/1), where t_prefill is the
// time of k prompts and rho the share of time that prefills take:
//     tpot = t_decode + (running / k - 1) / osl * t_prefill
//     ttft = t_prefill * (1 + rho / (2 (1 - rho))) + t_decode / 2
// If the spread of lengths is smaller than one prefill round, this underestimates TTFT by up to 50
// %.
//
// The additional time of an engine's first step (Execution::first_step_extra) delays the first
// request of every user, or the batch.
#pragma once

#include <cstdint>

#include "orrery/base/estimate.h"
#include "orrery/step/step_model.h"

namespace orrery {

struct ClosedFormWorkload {
  std::int64_t requests = 1;
  std::int64_t isl = 1, osl = 1;  // tokens; REQUIRES isl > past, osl >= 1
  std::int64_t past = 0;          // tokens of each prompt that the prefix cache holds
  bool closed_loop = false;
  bool equal_lengths = true;            // closed loop: users stay in step
  std::int64_t requests_per_user = 10;  // closed loop; 0: unlimited
};

// The typed figures of the load: its times, and the tokens and requests over `makespan`, which give
// the rates.
struct ClosedFormResult {
  Estimate<Seconds> ttft, tpot, e2e;  // tpot is 0 if osl is 1
  // Time until the last member of a wave has its first token, without request_overhead.
  Estimate<Seconds> prefill;
  Estimate<Seconds> makespan;  // all requests of a batch, or one request of a closed loop
  double output_tokens = 0;    // made during `makespan`
  double input_tokens = 0;
  std::int64_t running = 1;  // sequences in a decode step
  std::int64_t waves = 1;
  StepTime prefill_step, decode_step;  // typical steps; terms if asked for
  std::int64_t prefill_steps = 1;
  // All that a stage of the engine computes while `running` requests come and go: `prompt_steps`
  // steps like `prompts`, and `decode_batches` batches like decode_step for each of `decode_steps`,
  // the tokens after the first. `time` is that of the requests: the makespan has this time for each
  // `running` of them.
  struct Computed {
    StepTime prompts;
    double prompt_steps = 1, decode_batches = 1, decode_steps = 0;
    Seconds time;

    double decodes() const { return decode_steps * decode_batches; }
  } computed;

  double osl() const { return computed.decode_steps + 1; }
  double requests() const { return output_tokens / osl(); }  // that end during `makespan`
};

// Evaluates the form that the workload asks for. `capacity`: sequences of full length that fit into
// memory, >= 1. `with_terms` fills the terms of the typical steps.
ClosedFormResult closed_form(const StepModel& steps, const EngineProfile& engine,
                             const ParallelPlan& plan, const ClosedFormWorkload& workload,
                             std::int64_t capacity, bool with_terms);

}  // namespace orrery
