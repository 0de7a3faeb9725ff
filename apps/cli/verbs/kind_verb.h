// A verb of a kind of question (orrery/scenario/kind/verb.h) as a subcommand: one flag for each of
// its keys, and one for each form of its output.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/flags/flags.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"

namespace orrery::cli {

// The flags of a verb. It outlives the parsing of the command line.
class KindVerb {
 public:
  KindVerb(CLI::App& app, std::string_view name);
  KindVerb(const KindVerb&) = delete;  // flags refer to it
  KindVerb& operator=(const KindVerb&) = delete;

  face::Question& question() { return flags_.question(); }
  const Verb& verb() const { return flags_.question().keys->verb(); }
  const OutputOptions& output() const { return output_; }

  // The options that the flags ask for, to answer questions of so many points.
  RunOptions options(Context& context, std::span<const Scenario> points);
  // Writes the files that are asked for. InputError: they are of one answer, and there are several.
  void write_files(std::span<const Answer> answers) const;
  // Prints an answer: in the verb's own table where that has a column for each key of the sweep.
  void print(const Answer& answer, const ScenarioSweep& asked) const;

 private:
  void add_files(CLI::App& app);
  // The verb's own text in the place of a general form; empty: it has none.
  std::string own_form(const Answer& answer, const ScenarioSweep& asked) const;

  KeyFlags flags_;
  OutputOptions output_;
  RunOptions switches_;
  bool explain_ = false;
  std::string picture_;             // a file; empty: none
  std::vector<std::string> files_;  // of Verb::output.files; empty: not asked for
};

// Adds the subcommand of a verb, which answers its question.
std::shared_ptr<KindVerb> add_kind_verb(CLI::App& program, Context& context,
                                        const std::string& name);

// Flags of the command line alone: `train --log`, and the files and the store of `plan`.
void extend_train(CLI::App& app, const std::shared_ptr<KindVerb>& verb, Context& context);
void extend_plan(CLI::App& app, const std::shared_ptr<KindVerb>& verb, Context& context);

}  // namespace orrery::cli
