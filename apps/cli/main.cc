// orrery: the command line. Reads flags, asks the library, renders; exit codes as in orrery/base/error.h.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "orrery/base/error.h"
#include "apps/cli/verbs.h"

namespace {

int run(int argc, char** argv) {
  using namespace orrery::cli;
  CLI::App program("Predicts latency, throughput and memory of LLM systems before the GPUs are rented.", "orrery");
  program.require_subcommand(1);
  program.get_formatter()->column_width(38);
  program.set_version_flag("--version", ORRERY_VERSION);
  program.footer(
      "Examples:\n"
      "  orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --isl 1024 --osl 128 --batch 1-64*2\n"
      "  orrery memory --model ./config.json --gpu l40s --tp 2 --max-model-len 32768\n"
      "  orrery list models\n"
      "TTFT: start to first token. TPOT: mean time between later tokens, the first excluded.\n"
      "GB = 1e9 bytes, GiB = 2^30. Every time has a 90 % interval and an origin:\n"
      "measured > fitted > transferred > analytical.\n"
      "Exit codes: 2 bad input, 3 does not fit, 4 no data for the combination, 1 internal error.");
  Context context;
  program.add_option("--catalog", context.catalog, "directory of facts laid over the bundled ones")->type_name("DIR");
  add_estimate(program, context);
  add_memory(program, context);
  add_kernel(program, context);
  add_run(program, context);
  add_list(program, context);
  add_show(program, context);
  add_fit(program, context);
  add_validate(program, context);
  for (CLI::App* verb : program.get_subcommands({})) verb->fallthrough();
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return program.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    // The unknown flag's nearest name is more help than the parser's own sentence.
    std::string message = e.what();
    if (const auto* extra = dynamic_cast<const CLI::ExtrasError*>(&e)) {
      (void)extra;
      std::vector<std::string> known;
      for (const CLI::App* verb : program.get_subcommands()) {
        for (const CLI::Option* o : verb->get_options()) known.push_back(o->get_name());
      }
      for (const std::string& rest : program.remaining(true)) {
        message += orrery::did_you_mean(rest.substr(0, rest.find('=')), known);
        break;
      }
    }
    fmt::print(stderr, "orrery: {}\n", message);
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
    fmt::print(stderr, "orrery: does not fit: {}\n", e.what());
    return 3;
  } catch (const orrery::NoData& e) {
    fmt::print(stderr, "orrery: no data: {}\n", e.what());
    return 4;
  } catch (const std::exception& e) {
    fmt::print(stderr, "orrery: internal error: {}\n", e.what());
    return 1;
  }
}
