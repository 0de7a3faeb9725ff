// The answer of the verbs whose question is a group of a scenario (network, kernel, train, replay).
#pragma once

#include <span>
#include <string_view>

#include "apps/cli/flags/flags.h"
#include "apps/cli/output/output.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

struct QuestionFlags : KeyFlags {
  using KeyFlags::KeyFlags;
  OutputOptions output;
};

// Prints the answer in the chosen form. `table` prints tables; it is used unless keys are swept
// that it has no column for. It has columns for all sizes, and for the keys at `columns`.
void print(const Answer& answer, const ScenarioSweep& asked, const OutputOptions& options,
           std::span<const std::string_view> columns, void (*table)(const Answer&));

}  // namespace orrery::cli
