// A question about training: one iteration, and the run that it is repeated for.
//
//   model: llama-3-8b
//   hardware: {gpu: h100-sxm}
//   training: {stack: fsdp, gpus: 64, seq: 8192, micro_batch: 1, global_batch: 256, tokens: 1.0e12}
//
// The answer has a point for each combination of the swept sizes, in the order gpus, tp, cp, pp,
// vp, ep, seq, micro_batch, global_batch with the last running fastest; dp is what the others leave
// of the GPUs. A layout that breaks a rule is marked in a sweep and refused alone.
#pragma once

#include <optional>
#include <string>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/training/chance/chance.h"
#include "orrery/training/iteration/stacks.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingQuestion {
  TrainingJob job;  // what is not swept
  Sweep gpus = {1}, tp = {1}, cp = {1}, pp = {1}, vp = {1}, ep = {1};
  Sweep seq = {2048}, micro_batch = {1};
  Sweep global_batch = {0};  // 0: one micro-batch on every dp rank
  Sweep split = {0};         // layers of each virtual stage; {0}: equal
  // What decides much and is often not said: its own default is taken, which the answer lists and
  // its interval holds.
  std::string stack;                      // empty: megatron
  std::string stack_version;              // empty: the usual release of the fit
  std::string recompute;                  // empty: none
  std::optional<int> zero;                // none: the stack's
  std::optional<bool> sequence_parallel;  // none: the stack's
  std::string dispatcher;                 // empty: alltoall, every stack's own default
  std::string own_runs;                   // file (own_runs.h); empty: none
  bool compiled = false;
  std::optional<bool> grouped_experts;  // none: the stack's
  bool fused_experts = false;
  bool find_max_batch = false;  // the largest micro-batch that fits, instead of micro_batch
  // How long the run is: at most one of these; none: not asked.
  std::optional<double> tokens, samples;
  std::optional<std::int64_t> iterations;
  // Every eval_interval steps (0: never) the forward passes of eval_iterations global batches.
  std::int64_t eval_interval = 0, eval_iterations = 10;
  double gpu_hour_price = 0;  // in any currency; 0: not asked
  bool chanced = false;       // set by read_scenario: `chance` is asked
  ChanceQuestion chance;
  bool events = false;  // event by event instead of the closed form
  // Whose breakdown and memory are shown; none: those of the slowest and of the fullest stage.
  std::optional<std::int64_t> rank;
};

void declare(Fields& fields, TrainingQuestion& question);

const TrainingStackKind& stack_of(const TrainingQuestion& question);
// The date of stack_version; empty: none was said. InputError: it is none, or of no stack.
std::optional<double> release_of(const TrainingQuestion& question);
// What the stack does in kind, as far as the question does not say otherwise.
StackTraits traits_of(const TrainingQuestion& question);

}  // namespace orrery
