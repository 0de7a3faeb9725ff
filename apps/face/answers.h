// Answers to the questions of all verbs that ask a scenario, and their JSON. Every face answers by
// these, so that all say the same to the byte.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "orrery/base/bundle.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::face {

// The answer of a verb to its question. InputError: keys without an effect on the verb's answers.
Answer answer(Runner& runner, std::string_view verb, const ScenarioSweep& asked,
              RunOptions options = {});

// The JSON that -o json prints: one answer is an object, several are an array of objects.
std::string json_text(std::span<const Answer> answers, bool breakdown);

// The exit code of an answer that was given: 3 if it has points and none of them fits.
int exit_code(std::span<const Answer> answers);

}  // namespace orrery::face
