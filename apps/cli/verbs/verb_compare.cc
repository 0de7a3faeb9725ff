// orrery compare: measured figures of a real run, and the prediction of the same run.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/output/output_compare.h"
#include "apps/cli/verbs/verbs.h"
#include "apps/face/comparison.h"
#include "orrery/base/error.h"
#include "orrery/scenario/measured/training_log.h"

namespace orrery::cli {
namespace {

struct Verb {
  explicit Verb(CLI::App& app) : flags(app, "compare") {}
  KeyFlags flags;
  std::string file, output = "table", html;
  std::size_t run = 0;  // 1 is the first; 0: all
};

// Sentences on the load that was simulated and on the causes of the differences.
std::vector<std::string> remarks_of(const face::ComparedRun& run) {
  std::vector<std::string> all;
  if (run.measured.detail == LoadDetail::kLengths)
    all.push_back(
        "The file does not say when requests were sent: the same lengths were simulated "
        "with arrivals at its rate.");
  if (run.measured.detail == LoadDetail::kTotals)
    all.push_back(
        "The file has no single requests: a load of the same mean lengths was simulated.");
  all.insert(all.end(), run.comparison.causes.begin(), run.comparison.causes.end());
  return all;
}

void print_table(const face::ComparedRun& run) {
  fmt::print("{}", figures_table(run.comparison.figures));
  for (const std::string& remark : remarks_of(run))
    fmt::print("{}", wrapped("- " + remark, 80, ""));
}

void compare_service(const Verb& verb, Context& context) {
  const Node document = verb.flags.question().document(context.bundle());
  const std::vector<face::ComparedRun> runs = face::compare_service(
      verb.file, verb.run, document, context.bundle(), &context.progress.meter());
  if (!verb.html.empty()) {
    std::vector<ComparedPart> parts;
    for (const face::ComparedRun& run : runs)
      parts.push_back({run.of > 1
                           ? fmt::format("run {} of {}: {}", run.number, run.of, run.measured.about)
                           : run.measured.about,
                       run.comparison.figures, remarks_of(run)});
    write_file(verb.html, compared_page(verb.file, parts), "--html");
  }
  if (verb.output == "json") return fmt::print("{}", face::json_text(runs));
  for (const face::ComparedRun& run : runs) {
    if (run.of > 1)
      fmt::print("{}run {} of {}: {}\n", &run == &runs.front() ? "" : "\n", run.number, run.of,
                 run.measured.about);
    print_table(run);
  }
}

void add_service(CLI::App& compare, Context& context) {
  CLI::App* app = compare.add_subcommand(
      "service",
      "Compares the result of a load generator on a real service with the simulation of its load.");
  app->footer(
      "RESULT is written by vLLM's `bench serve --save-result`, with --save-detailed\n"
      "(every request is simulated as it was sent) or --append-result (several runs);\n"
      "by sglang.bench_serving (a line a run); by AIPerf (profile_export.jsonl or\n"
      "profile_export_aiperf.json); or by GuideLLM (benchmarks.json).\n"
      "Examples:\n"
      "  orrery compare service result.json --model llama-3-8b --gpu h100-sxm --tp 1\n"
      "  orrery compare service runs.jsonl -m llama-3-8b -g h100-sxm --run 2 -o json");
  auto verb = std::make_shared<Verb>(*app);
  app->add_option("RESULT", verb->file, "the result file of a load generator (formats: below)")
      ->required();
  app->add_option("--run", verb->run,
                  "compare only this run of a file with several runs; 1 is the first")
      ->type_name("N");
  app->add_option("-o,--output", verb->output, "table or json [table]")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->add_option("--html", verb->html, "also write the comparison as a self-contained page")
      ->type_name("FILE");
  add_catalog_flag(*app, context);
  app->callback([verb, &context] { compare_service(*verb, context); });
}

bool is_file(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(word, ignored);
}

// Results of load generators are JSON, logs of training jobs are not.
bool is_json(const std::string& file) {
  std::ifstream in(file);
  char first = 0;
  return in >> first && (first == '{' || first == '[');
}

bool is_training_log(const std::string& word) {
  if (!is_file(word) || is_json(word)) return false;
  try {
    read_training_log(word);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

// The subcommand of `compare FILE ...`. The kind of file selects it, or a flag that only one
// subcommand has.
CLI::App& kind_of(const std::vector<std::string>& words, CLI::App& compare) {
  CLI::App &service = *compare.get_subcommand("service"),
           &training = *compare.get_subcommand("training");
  if (std::any_of(words.begin(), words.end(), is_training_log)) return training;
  const auto is_of_training = [&](const std::string& word) {
    const std::string flag = word.substr(0, word.find('='));
    return flag.starts_with('-') && training.get_option_no_throw(flag) != nullptr &&
           service.get_option_no_throw(flag) == nullptr;
  };
  if (std::any_of(words.begin(), words.end(), is_of_training)) return training;
  if (!words.empty() && is_file(words.front()) && !is_json(words.front()))
    throw InputError(fmt::format(
        "{}: neither the result of a load generator (JSON) nor the log of a training job; "
        "`orrery compare service` and `orrery compare training` say what they expect",
        words.front()));
  return service;
}

}  // namespace

void add_compare(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand("compare",
                                         "Compares what was measured on a real service or training "
                                         "job with the prediction of the same "
                                         "run.");
  app->footer(
      "In `orrery compare FILE ...` the kind of file selects one of the two.\n"
      "Examples:\n"
      "  orrery compare result.json --model llama-3-8b --gpu h100-sxm --tp 1\n"
      "  orrery compare run.log -m llama-3-8b -g h100-sxm --gpus 8 --stack fsdp\n"
      "  orrery compare service --help\n"
      "  orrery compare training --help");
  add_service(*app, context);
  add_training_comparison(*app, context);
  app->allow_extras();
  app->callback([app] {
    if (!app->get_subcommands().empty()) return;  // it has answered
    std::vector<std::string> words = app->remaining();
    CLI::App& kind = kind_of(words, *app);
    std::reverse(words.begin(), words.end());  // the parser takes the last first
    try {
      kind.parse(std::move(words));
    } catch (const CLI::ParseError& e) {
      throw InputError(message_of(e, kind));
    }
  });
}

}  // namespace orrery::cli
