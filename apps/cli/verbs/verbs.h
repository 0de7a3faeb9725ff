// The verbs of the command line. Each function adds the subcommand of one verb to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "apps/cli/verbs/progress.h"
#include "orrery/base/bundle.h"

namespace orrery::cli {

// The state that all verbs share.
struct Context {
  std::string catalog;  // --catalog DIR: a folder of facts laid over the bundled ones; empty: none
  Progress progress;    // of the verb
  int exit_code = 0;    // set by a verb that ran but has bad news: 3 if nothing fits
  Bundle bundle() const { return catalog.empty() ? Bundle() : Bundle(catalog); }
};

// Adds --catalog DIR to the program, or to a subcommand that does not pass flags on to it.
void add_catalog_flag(CLI::App& app, Context& context);

void add_compare(CLI::App& program, Context& context);
// Adds `orrery compare training`, a subcommand of `orrery compare`.
void add_training_comparison(CLI::App& compare, Context& context);
void add_run(CLI::App& program, Context& context);
void add_check(CLI::App& program, Context& context);
void add_schema(CLI::App& program, Context& context);
void add_diff(CLI::App& program, Context& context);
void add_serve(CLI::App& program, Context& context);
void add_suite(CLI::App& program, Context& context);
void add_list(CLI::App& program, Context& context);
void add_show(CLI::App& program, Context& context);
void add_fit(CLI::App& program, Context& context);
void add_validate(CLI::App& program, Context& context);
void add_doctor(CLI::App& program, Context& context);
void add_completion(CLI::App& program, Context& context);
void add_man(CLI::App& program, Context& context);

}  // namespace orrery::cli
