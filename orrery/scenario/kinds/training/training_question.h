// A question about training: one iteration, and the run that it is repeated for.
//
//   model: llama-3-8b
//   hardware: {gpu: h100-sxm}
//   training: {stack: fsdp, gpus: 64, seq: 8192, micro_batch: 1, global_batch: 256, tokens: 1.0e12}
//
// The number of data-parallel ranks follows from the GPUs and the other sizes. A layout that breaks
// a rule is refused; in a sweep its point says so (scenario_sweep.h).
#pragma once

#include <optional>
#include <string>

#include "orrery/base/fields.h"
#include "orrery/training/chance/chance.h"
#include "orrery/workload/plan/training_job.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {

struct QuestionKind;

struct TrainingQuestion {
  // The job as the question states it. The members of the job that a question may leave open are
  // the optional members below; job_of (training_layout.h) sets them, and the data-parallel ranks.
  TrainingJob job;
  std::int64_t gpus = 1;
  std::optional<std::int64_t> global_batch;  // none: one micro-batch on every dp rank
  bool best_split = false;  // the split with the shortest iteration (`split: auto`)
  // Settings with a large effect that questions often leave out. The answer lists the default of
  // each, and its interval covers the other values.
  std::string stack;                      // empty: megatron
  std::string stack_version;              // empty: the usual release of the fit
  std::string torch;                      // release of PyTorch; empty: that of stack_version
  std::string attention;                  // library (attention_backend.h); empty: the stack's
  std::optional<Recompute> recompute;     // none: no recomputation
  std::optional<int> zero;                // none: the stack's
  std::optional<bool> sequence_parallel;  // none: the stack's
  // None: all-to-all, every stack's own default.
  std::optional<ExpertDispatcher> dispatcher;
  std::string calibration_runs;  // file (calibration_runs.h); empty: none
  bool compiled = false;
  std::optional<bool> grouped_experts;  // none: the stack's
  bool fused_experts = false;
  bool find_max_batch = false;  // the largest micro-batch that fits, instead of micro_batch
  // The length of the run: at most one of these is set; none: the run is not asked about.
  std::optional<double> tokens, samples;
  std::optional<std::int64_t> iterations;
  // An evaluation every eval_interval steps (0: never) is the forward passes of eval_iterations
  // global batches.
  std::int64_t eval_interval = 0, eval_iterations = 10;
  std::optional<ChanceQuestion> chance;  // none: not asked
  bool events = false;                   // event by event instead of the closed form
  // The rank whose breakdown and memory are shown; none: the slowest and the fullest stage.
  std::optional<std::int64_t> rank;
};

// Defined by the kind (training_kind.cc).
const QuestionKind& kind_of(const TrainingQuestion& question);

void declare(Fields& fields, TrainingQuestion& question);
// The chance of a document that does not say otherwise: failures at the rate of Llama 3 405B.
ChanceQuestion usual_chance();
// The chance of a planned run that does not say otherwise: these failures, 30 s that a checkpoint
// takes from the job, and 10 min from a failure to the next step. MegaScale (arXiv:2402.15627,
// sections 4 and 6.3) detects and diagnoses failures in less than 10 min on average, and writes
// checkpoints in two stages of which the job waits for the first.
ChanceQuestion planned_chance();
// Declares the keys of `chance`: variability of GPUs, failures, checkpoints.
void declare(Fields& fields, ChanceQuestion& question);

// The groups `training` and `chance` of a document.
struct TrainingKeys {
  TrainingQuestion question;  // its `chance` is not read
  ChanceQuestion chance = usual_chance();

  static TrainingKeys of(const TrainingQuestion& question);
  // The question of a document with these keys, of which `chance` may be absent.
  TrainingQuestion asked(bool has_chance) const;
};
void declare(Fields& fields, TrainingKeys& keys);

const TrainingStackProfile& stack_of(const TrainingQuestion& question);
// The date of stack_version; empty if the question states none. InputError: the text is no version
// of the stack.
std::optional<double> release_of(const TrainingQuestion& question);
// The release of the question's stack and of its PyTorch. InputError as release_of, and for a text
// that is no release of PyTorch.
StackRelease software_of(const TrainingQuestion& question);
// The traits of the question's stack on the GPU, overridden by those that the question sets.
// NoData: nothing says how fast the library of attention is on the GPU.
StackTraits traits_of(const TrainingQuestion& question, const Gpu& gpu);

}  // namespace orrery
