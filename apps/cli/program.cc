#include "apps/cli/program.h"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "apps/cli/flags/examples.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/verbs/kind_verb.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/cli/version.h"
#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/planner/workers/mpi_ranks.h"

namespace orrery::cli {

void add_catalog_flag(CLI::App& app, Context& context) {
  app.add_option(
         "--catalog", context.catalog,
         "folder of facts (gpus/, models/, engines/, ...) that replace or extend the bundled ones")
      ->type_name("DIR");
}

}  // namespace orrery::cli

namespace {

struct OwnVerb {
  const char* name;
  void (*add)(CLI::App& program, orrery::cli::Context& context);
};

// Flags that the command line adds to a verb of a kind.
struct Extension {
  std::string_view verb;
  void (*extend)(CLI::App& app, const std::shared_ptr<orrery::cli::KindVerb>& verb,
                 orrery::cli::Context& context);
};
constexpr Extension kExtensions[] = {{"plan", orrery::cli::extend_plan},
                                     {"train", orrery::cli::extend_train}};

// The verb whose flags alone are declared, because a command that begins with it needs no other
// one; empty: all verbs are. A name that is no verb gives a message that lists them.
std::string the_verb(const std::vector<std::string>& arguments) {
  constexpr std::string_view kAlone[] = {"run", "check", "compare", "validate", "fit"};
  if (arguments.empty()) return "";
  const std::string& first = arguments.front();
  const bool help = std::any_of(arguments.begin(), arguments.end(), [](const std::string& word) {
    return word.starts_with("-h") || word.starts_with("--help");
  });
  const bool alone = std::find(std::begin(kAlone), std::end(kAlone), first) != std::end(kAlone) ||
                     orrery::all_kinds().find_verb(first) != nullptr;
  return alone && !help ? first : "";
}

// Memory that a part of the work has given back serves the next part, in the place of being handed
// to the system and asked of it again page by page. The numbers were chosen, not measured. A server
// has no end and gives its memory back.
void keep_memory() {
  constexpr int kMiB = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, 256 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 1024 * kMiB);
  mallopt(M_TOP_PAD, 4 * kMiB);
}

void describe(CLI::App& program) {
  using namespace orrery::cli;
  program.formatter(std::make_shared<HelpFormatter>());
  program.set_help_flag("-h,--help", "prints this help");
  const std::string mpi = orrery::mpi_library();
  program.set_version_flag("--version",
                           fmt::format("{}\nmany machines (mpirun): {}", version_text(),
                                       mpi.empty() ? "not built in" : mpi),
                           "prints the version and the commit of the source");
  program.require_subcommand(1);
  program.footer(
      fmt::format("Examples:\n"
                  "  orrery memory --model llama-3-70b --gpu h100-sxm --tp 2\n"
                  "  orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --batch 1-64*2\n"
                  "  orrery list models\n\n{}",
                  kDefinitions));
}

// Adds the verbs in the order of the help, grouped by the task of the user; only the one that is
// named, if one is.
void add_verbs(CLI::App& program, orrery::cli::Context& context, const std::string& only) {
  using namespace orrery::cli;
  const auto wanted = [&only](std::string_view name) { return only.empty() || only == name; };
  for (const auto& [kind, verb] : orrery::all_kinds().verbs()) {
    if (!wanted(verb->name)) continue;
    const std::string name(verb->name);
    const auto flags = add_kind_verb(program, context, name);
    CLI::App* app = program.get_subcommand(name);
    app->group(std::string(verb->heading));
    for (const Extension& more : kExtensions)
      if (more.verb == verb->name) more.extend(*app, flags, context);
  }
  const auto group = [&](const char* wish, std::initializer_list<OwnVerb> verbs) {
    for (const OwnVerb& verb : verbs) {
      if (!wanted(verb.name)) continue;
      const std::size_t before = program.get_subcommands({}).size();
      verb.add(program, context);
      program.get_subcommands({}).at(before)->group(wish);
    }
  };
  group("Answer scenario files",
        {{"run", add_run}, {"check", add_check}, {"schema", add_schema}, {"diff", add_diff}});
  group("Ask in a browser, or over HTTP", {{"serve", add_serve}});
  group("Show the bundled facts", {{"list", add_list}, {"show", add_show}});
  group("Check and improve the predictions", {{"compare", add_compare},
                                              {"validate", add_validate},
                                              {"fit", add_fit},
                                              {"suite", add_suite}});
  group("This program", {{"doctor", add_doctor}, {"completion", add_completion}, {"man", add_man}});
  // Flags of the program may follow the verb. A verb with subcommands reads all that follows it.
  for (CLI::App* verb : program.get_subcommands({}))
    verb->fallthrough(verb->get_subcommands({}).empty());
}

int run(int argc, char** argv) {
  using namespace orrery::cli;
  CLI::App program(
      "Predicts latency, throughput, memory and cost of LLM inference and training on "
      "hardware that you may not have.",
      "orrery");
  describe(program);
  Context context;
  add_catalog_flag(program, context);
  std::vector<std::string> arguments = canonical_arguments(argc, argv);
  add_verbs(program, context, the_verb(arguments));
  if (arguments.empty()) {
    fmt::print("{}", things_to_try());
    return 0;
  }
  if (const std::string wrong = unknown_verb(arguments, program); !wrong.empty()) {
    fmt::print(stderr, "orrery: {}\n", wrong);
    return 2;
  }
  // One process answers; the others of an MPI job help with plans.
  const bool plans = std::find(arguments.begin(), arguments.end(), "plan") != arguments.end();
  if (orrery::launched_rank() > 0 && !plans) return 0;
  // A plan draws lines of its own, fast verbs none, and a server has no end.
  const auto verb = std::find_if(arguments.begin(), arguments.end(),
                                 [](const std::string& word) { return !word.starts_with('-'); });
  const bool ends = verb == arguments.end() || *verb != "serve";
  if (ends) keep_memory();
  if (!plans && ends && verb != arguments.end()) context.progress.begin(*verb);
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

// Another process of an MPI job says nothing but that it has failed by itself: what it could say of
// the question the first one says, too.
int help(int argc, char** argv) {
  const int messages = dup(STDERR_FILENO);
  if (std::freopen("/dev/null", "w", stdout) == nullptr ||
      std::freopen("/dev/null", "w", stderr) == nullptr)
    return 1;
  try {
    run(argc, argv);
  } catch (const orrery::InputError&) {
  } catch (const orrery::Infeasible&) {
  } catch (const orrery::NoData&) {
  } catch (const std::exception& e) {
    dprintf(messages, "orrery: rank %d: %s\n", orrery::launched_rank(), e.what());
    orrery::abort_mpi(1);
  }
  return 0;
}

}  // namespace

int orrery::cli::run_program(int argc, char** argv) {
  if (orrery::launched_rank() > 0) return help(argc, argv);
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
