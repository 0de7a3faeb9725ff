// A program whose ops are told apart by what of the batch they depend on.
//
// Steps with equal StepTotals differ in their ops of kGroups alone: in attention, for models whose
// mixers are softmax attention. A user that remembers the other ops asks for these.
#pragma once

#include <cstdint>
#include <vector>

#include "orrery/workload/inference/program.h"

namespace orrery {

// The part of a batch that an op depends on, beside the model, the plan, the precision and the
// stage.
enum class OpSource : std::uint8_t {
  kTokens,   // StepTotals::tokens, all_tokens and decodes_only
  kOutputs,  // StepTotals::outputs
  kGroups,   // its groups of sequences, its adapters, and all totals
};

// The counts of a step on one rank.
struct StepTotals {
  std::int64_t tokens = 0, all_tokens = 0;  // of the rank, of all dp groups; padding included
  std::int64_t outputs = 0;                 // rows of the LM head, or of the pooler of an encoder
  int stage = 0;                            // the stage that was chosen, if -1 was asked for
  bool decodes_only = false;                // every sequence decodes or verifies drafts
};

// Ops of a section follow each other and depend on the same. Sections are numbered in the order of
// the program, and a section has the same number in all steps on a stage.
struct OpOrigin {
  OpSource source = OpSource::kTokens;
  int section = 0;
};

struct ProgramParts {
  Program program;
  StepTotals totals;
  std::vector<OpOrigin> origins;      // of every op
  std::vector<SequenceGroup> groups;  // of the batch, as the rank has them
};

// forward_program() with the origins of its ops. `groups_alone`: the ops of kGroups alone. It
// REQUIRES a plan that check_plan accepts, and no slice of layers.
ProgramParts forward_program_parts(const Architecture& model, const ParallelPlan& plan,
                                   const Precision& precision, const Batch& batch,
                                   const ProgramOptions& options, bool groups_alone);
// The same into `parts`, whose memory is used again.
void forward_program_parts(const Architecture& model, const ParallelPlan& plan,
                           const Precision& precision, const Batch& batch,
                           const ProgramOptions& options, bool groups_alone, ProgramParts& parts);

}  // namespace orrery
