// orrery: the command line. Reads flags, asks the library, renders; exit codes as in
// orrery/base/error.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "apps/cli/flags/help.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/cli/version.h"
#include "orrery/base/error.h"

namespace {

int run(int argc, char** argv) {
  using namespace orrery::cli;
  CLI::App program(
      "Predicts latency, throughput and memory of LLM systems before the GPUs are rented.",
      "orrery");
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "this text");
  program.set_version_flag("--version", version_text(),
                           "the program's version and the commit it was built from");
  program.require_subcommand(1);
  program.footer(
      fmt::format("Examples:\n"
                  "  orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --batch 1-64*2\n"
                  "  orrery memory --model ./config.json --gpu l40s --tp 2 --max-model-len 32768\n"
                  "  orrery list models\n\n{}",
                  kDefinitions));
  Context context;
  program.add_option("--catalog", context.catalog, "directory of facts laid over the bundled ones")
      ->type_name("DIR");
  add_estimate(program, context);
  add_memory(program, context);
  add_simulate(program, context);
  add_compare(program, context);
  add_replay(program, context);
  add_kernel(program, context);
  add_train(program, context);
  add_network(program, context);
  add_run(program, context);
  add_check(program, context);
  add_schema(program, context);
  add_diff(program, context);
  add_suite(program, context);
  add_list(program, context);
  add_show(program, context);
  add_fit(program, context);
  add_validate(program, context);
  for (CLI::App* verb : program.get_subcommands({})) verb->fallthrough();
  std::vector<std::string> arguments = with_training_log(canonical_arguments(argc, argv), program);
  if (const std::string wrong = unknown_verb(arguments, program); !wrong.empty()) {
    fmt::print(stderr, "orrery: {}\n", wrong);
    return 2;
  }
  try {
    std::reverse(arguments.begin(), arguments.end());  // the parser takes the last first
    program.parse(arguments);
  } catch (const CLI::Success& e) {
    return program.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "orrery: {}\n", message_of(e, program));
    return 2;
  }
  return context.exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const orrery::InputError& e) {
    fmt::print(stderr, "orrery: {}\n", e.what());
    return 2;
  } catch (const orrery::Infeasible& e) {
    fmt::print(stderr, "orrery: infeasible: {}\n", e.what());
    return 3;
  } catch (const orrery::NoData& e) {
    fmt::print(stderr, "orrery: no data: {}\n", e.what());
    return 4;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "orrery: out of memory: this question is too large for this machine\n");
    return 1;
  } catch (const std::exception& e) {
    fmt::print(stderr, "orrery: internal error: {}\n", e.what());
    return 1;
  }
}
