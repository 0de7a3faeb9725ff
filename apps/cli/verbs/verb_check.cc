// orrery check, schema, diff: checks scenario files, prints their schema, and compares two answers.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/flags.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/flags/scenario_files.h"
#include "apps/cli/output/output.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/answer/answer_diff.h"
#include "orrery/scenario/document/scenario_file.h"
#include "orrery/scenario/document/scenario_schema.h"
#include "orrery/scenario/runner/scenario_check.h"

namespace orrery::cli {
namespace {

// A file that is refused does not keep the others from being checked.
void check_files(const std::vector<std::string>& given, Context& context) {
  Runner runner(context.bundle());
  const auto refused = [&](const std::string& file, const std::string& why, int code) {
    // The message begins with the file where the file is at fault.
    fmt::print("{}\n", why.starts_with(file + ":") ? why : fmt::format("{}: {}", file, why));
    if (context.exit_code == 0) context.exit_code = code;
  };
  for (const std::string& file : scenario_files(given)) {
    try {
      const ScenarioCheck c =
          check_scenario(read_scenario(all_kinds(), std::filesystem::path(file)), runner);
      fmt::print("{}: {}\n", file, c.what);
      if (c.misfits > 0) fmt::print("  {} of {} do not fit\n", c.misfits, c.points);
      for (const std::string& r : c.reasons) fmt::print("{}", wrapped("- " + r, 80, "    "));
      for (const std::string& n : c.notes) fmt::print("{}", wrapped("note: " + n, 80, "  "));
      for (const std::string& a : c.advice) fmt::print("{}", wrapped("advice: " + a, 80, "  "));
      if (c.misfits > 0 && c.misfits == c.points && context.exit_code == 0) context.exit_code = 3;
    } catch (const InputError& e) {
      refused(file, e.what(), 2);
    } catch (const Infeasible& e) {
      refused(file, fmt::format("infeasible: {}", e.what()), 3);
    } catch (const NoData& e) {
      refused(file, fmt::format("no data: {}", e.what()), 4);
    }
  }
}

nlohmann::ordered_json read_answer(const std::string& file) {
  const std::string text = read_text_file(file, 256u << 20);
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) throw InputError(fmt::format("{}: not valid JSON", file));
  return json;
}

std::string change_text(const ValueChange& c) {
  const std::string change = c.before == 0  ? "new"
                             : c.after == 0 ? "gone"
                                            : fmt::format("{:+.1f} %", 100 * c.relative());
  return fmt::format("{:>10} -> {:>10} {:<9} {:>9}", number(c.before), number(c.after), c.unit,
                     change);
}

void print_diff(const AnswerDiff& d, std::size_t most_terms) {
  for (const std::string& line : d.configuration)
    fmt::print("{}", wrapped("configuration: " + line, 80, ""));
  for (const PointChange& p : d.points) {
    fmt::print("{}", wrapped(p.at.empty() ? "the point" : p.at, 80, ""));
    if (!p.feasibility.empty()) fmt::print("  {}\n", p.feasibility);
    for (const ValueChange& c : p.metrics)
      fmt::print("  {:<26} {}{}\n", c.name, change_text(c), c.beyond ? " *" : "");
    if (!p.terms.empty()) fmt::print("  caused by\n");
    for (std::size_t i = 0; i < p.terms.size() && i < most_terms; ++i)
      fmt::print("    {:<32} {}\n", p.terms[i].name, change_text(p.terms[i]));
    if (p.terms.size() > most_terms)
      fmt::print("    and {} more (--terms, -o json)\n", p.terms.size() - most_terms);
  }
  if (d.same > 0) fmt::print("{} point{} unchanged\n", d.same, d.same == 1 ? "" : "s");
  if (!d.points.empty()) fmt::print("* beyond both 90 % intervals\n");
}

}  // namespace

void add_check(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "check",
      "Reads scenario files without answering them: what they ask, what does not fit, advice.");
  app->footer(
      "Examples:\n"
      "  orrery check scenario.yaml\n"
      "  orrery check scenarios/suite45");
  auto files = std::make_shared<std::vector<std::string>>();
  app->add_option("FILE", *files, "scenario files, or folders of them")->required();
  app->callback([files, &context] { check_files(*files, context); });
}

void add_schema(CLI::App& program, Context&) {
  CLI::App* app = program.add_subcommand(
      "schema", "Prints every key of scenario files, as JSON Schema or as tables.");
  app->footer(
      "Examples:\n"
      "  orrery schema > scenario.schema.json\n"
      "  orrery schema -o md");
  const auto output = std::make_shared<std::string>("json");
  app->add_option("-o,--output", *output, "json or md [json]")
      ->check(CLI::IsMember({"json", "md"}))
      ->type_name("FORMAT");
  app->callback([output] {
    if (*output == "md") return fmt::print("{}", scenario_keys_markdown(all_kinds()));
    fmt::print("{}\n", scenario_schema(all_kinds()).dump(1));
  });
}

void add_diff(CLI::App& program, Context&) {
  CLI::App* app = program.add_subcommand(
      "diff",
      "Compares two answers: the keys and metrics that changed, and the kernels that caused it.");
  app->footer(
      "Examples:\n"
      "  orrery run a.yaml -o json > a.json; orrery run b.yaml -o json > b.json\n"
      "  orrery diff a.json b.json --terms 20");
  struct Verb {
    std::string before, after, output = "table";
    std::size_t terms = 8;
  };
  auto verb = std::make_shared<Verb>();
  app->add_option("A", verb->before, "an answer that -o json printed")->required();
  app->add_option("B", verb->after, "the answer to compare it with")->required();
  app->add_option(
         "--terms", verb->terms,
         "how many rows of the breakdown to show for each point, the most changed first [8]")
      ->type_name("N");
  app->add_option("-o,--output", verb->output, "table or json [table]")
      ->check(CLI::IsMember({"table", "json"}))
      ->type_name("FORMAT");
  app->callback([verb] {
    const AnswerDiff d = diff_answers(read_answer(verb->before), read_answer(verb->after),
                                      verb->before, verb->after);
    if (verb->output == "json") {
      fmt::print("{}\n", to_json(d).dump(1));
    } else {
      print_diff(d, verb->terms);
    }
  });
}

}  // namespace orrery::cli
