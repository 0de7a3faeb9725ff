// Flags of the verbs whose question is a group of a scenario (network, kernel, train): a flag for
// every key of some groups. What was given is collected as a document, for the reader of files.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/cli/output/output.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/question/scenario_keys.h"

namespace orrery::cli {

struct QuestionFlags {
  QuestionFlags() { declare(fields, defaults); }
  QuestionFlags(const QuestionFlags&) = delete;  // fields borrow defaults
  QuestionFlags& operator=(const QuestionFlags&) = delete;

  ScenarioValues defaults;
  Fields fields;
  Node document;  // what was given
  OutputOptions output;
};

// A flag for one key of a scenario, such as "model".
void add_question_flag(CLI::App& app, const std::shared_ptr<QuestionFlags>& flags,
                       const std::string& path, const std::string& help_group);

// A flag for every key of `group`; `word`: the key that is no flag but the word after the verb.
void add_question_group(CLI::App& app, const std::shared_ptr<QuestionFlags>& flags,
                        const std::string& group, const std::string& word = "");

// --set KEY=VALUE; to be added before the other flags, so that they win.
void add_set_flag(CLI::App& app, const std::shared_ptr<QuestionFlags>& flags);

// Answers the question that the flags describe.
Answer answer_of(const QuestionFlags& flags, const Bundle& bundle);

// In the chosen form; as a table by `table` where that has a column for all that varies.
void print(const Answer& answer, const OutputOptions& options, bool has_columns,
           void (*table)(const Answer&));

}  // namespace orrery::cli
