// Closed forms of a service in a steady state: a batch that arrives at once, or a closed loop of
// users. No queueing and no randomness: equal lengths, a full house. (Arrivals, traces and
// schedulers are simulated elsewhere; these forms are the fast path and the law tests of that
// simulation.)
//
// Batch: `requests` start together. The engine computes their prompts in steps of at most
// max_num_batched_tokens, then decodes all of them, the context growing by one a step. If memory
// holds fewer than `requests`, the rest waits for a next wave (all members of a wave end together:
// lengths are equal).
//   ttft   mean over requests, from the start to the first token
//   tpot   the mean decode step of the whole batch; what an early request waits while the others'
//          prompts are computed is in e2e
// Closed loop: `requests` users, each sending `requests_per_user` requests one after the other. The
// first of all users come at once, as a batch. What comes after depends on the lengths.
//   Equal lengths: users stay in step. The first prompt of all finds an idle engine and has a step
//   for itself; the prompts of one wave take G groups of steps of M each (a
//   group: the whole prompts that fit in one step, or one prompt in chunks); those who began in one
//   group end together, the groups t_decode apart. Their next prompts are in the queue an overhead
//   h later, and in a step once one is planned (with async_scheduling, a step later). By then x
//   groups have ended and queue for each other:
//     x = min(G, 1 + [async] + ceil(h / t_decode))
//   While a mixed step runs one more group ends for each that is taken, so that the others wait for
//   x - 1 groups too: their first token comes x M after they were sent. x = G is a batch again and
//   again; so it always is where prompts have steps of their own (SGLang, vLLM V0). Where a request
//   has fewer steps than the others' prompts, all wait for all: e2e = G M.
//   Lengths that scatter (equal_lengths false): users drift apart. A decode step is interrupted
//   once per finished request by a newcomer's prefill; the mean first token waits as in a queue
//   with one server, random arrivals and constant service (M/D/1; rho: the share of time that
//   prefills take):
//     tpot = t_decode + (running - 1) / osl * t_prefill
//     ttft = t_prefill * (1 + rho / (2 (1 - rho))) + t_decode / 2
//   It is early by up to a half where lengths scatter by less than the prompts of all take.
// A cold engine's start_up delays the first request of every user, or the batch.
#pragma once

#include <cstdint>

#include "orrery/base/estimate.h"
#include "orrery/step/step_model.h"

namespace orrery {

struct ClosedFormWorkload {
  std::int64_t requests = 1;
  std::int64_t isl = 1, osl = 1;  // tokens; isl > past, osl >= 1
  std::int64_t past = 0;          // tokens of each prompt whose KV is cached already
  bool closed_loop = false;
  bool equal_lengths = true;            // of a closed loop: users stay in step
  std::int64_t requests_per_user = 10;  // of a closed loop; 0: endless
};

struct ClosedFormResult {
  Estimate<Seconds> ttft, tpot, e2e;  // tpot is zero for osl 1
  // Until the last member of a wave has its first token; without request_overhead.
  Estimate<Seconds> prefill;
  Estimate<Seconds> makespan;  // all requests (batch), or one request's residence (closed loop)
  double output_tokens = 0;    // produced during `makespan`
  double input_tokens = 0;
  std::int64_t running = 1;  // sequences decoding together
  std::int64_t waves = 1;
  StepTime prefill_step, decode_step;  // a typical one each, with terms on request
  std::int64_t prefill_steps = 1;
};

// `capacity`: sequences of full length that fit in memory, at least 1.
ClosedFormResult closed_form(const StepModel& steps, const EngineProfile& engine,
                             const ParallelPlan& plan, const ClosedFormWorkload& workload,
                             std::int64_t capacity, bool with_terms);

}  // namespace orrery
