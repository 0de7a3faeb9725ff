// The verbs of the command line: one function each adds its subcommand to the program.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "orrery/base/bundle.h"

namespace orrery::cli {

// What all verbs share.
struct Context {
  std::string catalog;  // --catalog DIR, laid over the bundled facts
  int exit_code = 0;    // of a verb that ran but has bad news: 3 when nothing fits
  Bundle bundle() const { return catalog.empty() ? Bundle() : Bundle(catalog); }
};

void add_estimate(CLI::App& program, Context& context);
void add_memory(CLI::App& program, Context& context);
void add_simulate(CLI::App& program, Context& context);
void add_compare(CLI::App& program, Context& context);
// `compare LOG ...`, where LOG is what a training job printed, as `train --log LOG ...`; any other
// arguments as they are. LOG is one by what it says, or by flags that `train` has and `compare` has
// not. REQUIRES that `program` has both.
std::vector<std::string> with_training_log(std::vector<std::string> arguments,
                                           const CLI::App& program);
void add_replay(CLI::App& program, Context& context);
void add_network(CLI::App& program, Context& context);
void add_train(CLI::App& program, Context& context);
void add_kernel(CLI::App& program, Context& context);
void add_run(CLI::App& program, Context& context);
void add_check(CLI::App& program, Context& context);
void add_schema(CLI::App& program, Context& context);
void add_diff(CLI::App& program, Context& context);
void add_suite(CLI::App& program, Context& context);
void add_list(CLI::App& program, Context& context);
void add_show(CLI::App& program, Context& context);
void add_fit(CLI::App& program, Context& context);
void add_validate(CLI::App& program, Context& context);

}  // namespace orrery::cli
