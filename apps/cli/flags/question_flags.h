// Flags of the verbs whose question is a group of a scenario (network, kernel, train, replay), and
// the answer to what they ask.
#pragma once

#include "apps/cli/flags/flags.h"
#include "apps/cli/output/output.h"
#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

struct QuestionFlags : KeyFlags {
  OutputOptions output;
};

// Prints the answer in the chosen form. `table` prints tables; it is used unless keys are swept
// that it has no column for. It has columns for all sizes, and for the keys at `columns`.
void print(const Answer& answer, const ScenarioSweep& asked, const OutputOptions& options,
           std::span<const std::string_view> columns, void (*table)(const Answer&));

}  // namespace orrery::cli
