// orrery suite: the suites of questions with checks, and which tool can answer them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/cli/output/output_suite.h"
#include "apps/cli/verbs/verbs.h"
#include "orrery/base/error.h"
#include "orrery/suite/suite.h"
#include "orrery/suite/suite_coverage.h"
#include "orrery/suite/suite_score.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr int kCheckFailed = 5;  // exit code: answered, but a check fails

struct SuiteVerb {
  std::vector<std::string> names, tools;
  std::string output = "table", html, file, data;
  SuiteOptions options;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The suites of `names`: suites, files of suites, or ids of questions of bundled suites, which are
// appended to `only`. Without names all suites.
std::vector<Suite> suites_of(const std::vector<std::string>& names, const Bundle& bundle,
                             std::vector<std::string>& only) {
  const std::vector<std::string> bundled = suite_names(bundle);
  std::vector<Suite> out;
  if (names.empty()) {
    for (const std::string& name : bundled) out.push_back(read_suite(name, bundle));
    return out;
  }
  std::vector<std::string> ids, known = bundled;
  for (const std::string& name : names) {
    const bool file = name.ends_with(".yaml") || name.ends_with(".yml");
    if (file || std::find(bundled.begin(), bundled.end(), name) != bundled.end()) {
      out.push_back(read_suite(name, bundle));
    } else {
      ids.push_back(name);
    }
  }
  if (ids.empty()) return out;
  if (!out.empty()) throw InputError("suite: expected names of suites or of questions, got both");
  for (const std::string& id : ids) {
    bool found = false;
    for (const std::string& name : bundled) {
      Suite s = read_suite(name, bundle);
      const bool has = std::any_of(s.questions.begin(), s.questions.end(),
                                   [&](const SuiteQuestion& q) { return q.id.starts_with(id); });
      for (const SuiteQuestion& q : s.questions) known.push_back(q.id);
      if (!has) continue;
      found = true;
      if (std::none_of(out.begin(), out.end(), [&](const Suite& o) { return o.id == s.id; }))
        out.push_back(std::move(s));
    }
    if (!found)
      throw InputError(
          fmt::format("suite: no suite or question '{}'{}", id, did_you_mean(id, known)));
  }
  only = std::move(ids);
  return out;
}

std::vector<SuiteOutcome> outcomes_of(const std::vector<Suite>& suites, const Bundle& bundle,
                                      const SuiteOptions& options) {
  Runner runner(bundle);
  std::vector<SuiteOutcome> all;
  for (const Suite& suite : suites) {
    for (SuiteOutcome& o : run_suite(suite, runner, options, seconds_now))
      all.push_back(std::move(o));
  }
  return all;
}

void run_suites(SuiteVerb& verb, Context& context) {
  const Bundle bundle = context.bundle();
  const std::vector<Suite> suites = suites_of(verb.names, bundle, verb.options.only);
  verb.options.meter = &context.progress.parts();
  for (const Suite& suite : suites) {
    const auto asked = std::count_if(suite.questions.begin(), suite.questions.end(),
                                     [&](const auto& q) { return verb.options.asks(q.id); });
    expect_parts(verb.options.meter, static_cast<std::size_t>(asked));
  }
  const std::vector<SuiteOutcome> outcomes = outcomes_of(suites, bundle, verb.options);
  if (!verb.html.empty()) write_file(verb.html, suite_html(suites, outcomes), "--html");
  if (verb.output == "json") {
    fmt::print("{}\n", to_json(outcomes).dump(1));
  } else if (verb.output == "md") {
    fmt::print("{}", suite_markdown(outcomes));
  } else if (verb.output == "html") {
    fmt::print("{}", suite_html(suites, outcomes));
  } else {
    fmt::print("{}", suite_table(outcomes, colour_terminal()));
  }
  const bool pass = std::all_of(outcomes.begin(), outcomes.end(), [](const SuiteOutcome& o) {
    return o.status == SuiteOutcome::Status::kPass;
  });
  if (!pass) context.exit_code = kCheckFailed;
}

// A name, followed from `column` on by a text that is broken into lines.
std::string beside(const std::string& name, const std::string& text, std::size_t column) {
  std::string out = wrapped(text, kColumns, std::string(column, ' '));
  return out.replace(0, name.size(), name);
}

void show(const Suite& suite, const SuiteQuestion& q) {
  fmt::print("{} ({})\n", q.id, suite.id);
  const auto line = [](const std::string& name, const std::string& text) {
    fmt::print("{}", wrapped(name + text, kColumns, "  "));
  };
  const auto below = [](const std::string& text) {
    fmt::print("{}", wrapped(text, kColumns, "    "));
  };
  line("", q.question);
  if (!q.informs.empty()) line("informs: ", q.informs);
  for (const SuiteQuestion::Run& run : q.runs) line("run " + run.name + ": ", run.file);
  for (const auto& [name, e] : q.metrics) line("metric ", name), below(e.text());
  for (const auto& [claim, e] : q.checks) line("check ", claim), below(e.text());
  for (const SuiteQuestion::Bound& b : q.bounds) {
    line("bound of ", b.metric);
    if (b.low) below("at least " + b.low->text());
    if (b.high) below("at most " + b.high->text());
    below(b.why);
  }
  if (!q.erratum.empty()) line("erratum: ", q.erratum);
  if (!q.note.empty()) line("note: ", q.note);
}

void list_or_show(SuiteVerb& verb, const Bundle& bundle, bool whole) {
  std::vector<std::string> only;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  const bool json = !whole && verb.output == "json";
  for (const Suite& suite : suites_of(verb.names, bundle, only)) {
    if (!whole && !json) fmt::print("{}: {}\n", suite.id, suite.title);
    for (const SuiteQuestion& q : suite.questions) {
      const bool asked = only.empty() || std::any_of(only.begin(), only.end(), [&](auto& id) {
                           return q.id.starts_with(id);
                         });
      if (!asked) continue;
      if (whole) {
        show(suite, q);
      } else if (json) {
        rows.push_back({{"suite", suite.id}, {"id", q.id}, {"question", q.question}});
      } else {
        fmt::print("{}", beside("  " + q.id, q.question, 10));
      }
    }
  }
  if (json) fmt::print("{}\n", rows.dump(1));
}

void coverage(SuiteVerb& verb, const Bundle& bundle) {
  const Suite suite = read_suite(verb.names.empty() ? "suite45" : verb.names.front(), bundle);
  SuiteOptions options;
  options.intervals = false;
  std::vector<ToolCoverage> tools = {own_coverage(suite, outcomes_of({suite}, bundle, options))};
  for (ToolCoverage& t : bundled_coverage(suite, bundle)) tools.push_back(std::move(t));
  for (const std::string& file : verb.tools)
    tools.push_back(read_coverage(read_document(file), suite));
  if (verb.output == "json") {
    fmt::print("{}\n", coverage_json(suite, tools).dump(1));
  } else {
    fmt::print("{}", coverage_markdown(suite, tools));
  }
}

// Prints the predictions outside of their physical bounds, and counts the others.
void print_bounds(const ToolScore& s) {
  if (s.bounded.empty()) return;
  using Place = ToolScore::Place;
  const auto sign = std::count_if(s.bounded.begin(), s.bounded.end(), [](const auto& b) {
    return b.place == Place::kInside && b.range.only_sign();
  });
  for (const ToolScore::Bounded& b : s.bounded) {
    if (b.place != Place::kBelow && b.place != Place::kAbove) continue;
    const bool below = b.place == Place::kBelow;
    const ToolPrediction& p = b.prediction;
    fmt::print("{}",
               wrapped(fmt::format("OUTSIDE {} {}{}{}: {} {} {} ({})", p.scenario, p.metric,
                                   p.at.empty() ? "" : " at ", p.at, number(p.value),
                                   to_text(b.place), number(below ? b.range.low : b.range.high),
                                   below ? b.range.low_why : b.range.high_why),
                       kColumns, ""));
  }
  fmt::print(
      "physical bounds: {} inside ({} of them bounded by the sign alone), {} outside,\n"
      "  {} without a bound\n",
      s.count(Place::kInside), sign, s.count(Place::kBelow) + s.count(Place::kAbove),
      s.count(Place::kUnbounded));
}

void print_coverage(const ToolScore& s, const std::vector<Suite>& suites, bool declared) {
  for (const Suite& suite : suites) {
    std::size_t full = 0, partial = 0;
    for (const ToolScore::Covered& c : s.covered) {
      if (c.suite != suite.id || c.predicted == 0) continue;
      ++(c.full() ? full : partial);
    }
    if (full + partial > 0)
      fmt::print("coverage of {}: {} of {} questions in full, {} in part\n", suite.id, full,
                 suite.questions.size(), partial);
  }
  if (!declared) return;
  const auto list = [](const char* what, const std::vector<std::string>& ids) {
    if (!ids.empty())
      fmt::print("{}", wrapped(fmt::format("{}: {}", what, fmt::join(ids, ", ")), kColumns, ""));
  };
  list("declared, but not predicted in full", s.silent);
  list("predicted in full, but not declared", s.undeclared);
}

void print_score(SuiteVerb& verb, Context& context) {
  const Bundle bundle = context.bundle();
  std::vector<std::string> none;
  const std::vector<Suite> suites = suites_of(verb.names, bundle, none);
  if (!none.empty()) throw InputError("suite score --suite: expected suites, got a question");
  std::optional<ToolCoverage> declared;
  if (!verb.tools.empty()) {
    const Node document = read_document(verb.tools.front());
    declared = read_coverage(document, read_suite(document.at("suite").as_string(), bundle));
  }
  Runner runner(bundle);
  const ToolScore s = score(read_predictions(verb.file), verb.data, suites,
                            declared ? &*declared : nullptr, runner);
  if (s.count(ToolScore::Place::kBelow) + s.count(ToolScore::Place::kAbove) > 0)
    context.exit_code = kCheckFailed;
  if (verb.output == "json") return fmt::print("{}\n", to_json(s).dump(1));
  if (!s.by_metric.empty())
    fmt::print("{:<22} {:>6} {:>7} {:>7} {:>7} {:>7} {:>5}\n", "against measured rows", "n", "mape",
               "median", "p90", "bias", "in90");
  for (const auto& [metric, e] : s.by_metric) {
    fmt::print("{:<22} {:>6} {:>7.1f} {:>7.1f} {:>7.1f} {:>+7.1f} {:>5}\n", metric, e.n, e.mape,
               e.median, e.p90, e.bias,
               s.intervals.at(metric) > 0 ? fmt::format("{:.0f}", e.coverage90) : "");
  }
  print_bounds(s);
  for (const ToolScore::Check& c : s.checks) {
    if (!c.holds)
      fmt::print("{}",
                 wrapped(fmt::format("{} FAILS - {} ({})", c.question, c.claim, c.seen), 80, ""));
  }
  if (!s.checks.empty())
    fmt::print("checks of the suites: {} of {} hold\n",
               std::count_if(s.checks.begin(), s.checks.end(), [](auto& c) { return c.holds; }),
               s.checks.size());
  if (s.unmatched > 0)
    fmt::print("{} predictions match no scenario and no measured row; the first: {}\n", s.unmatched,
               s.first_unmatched);
  print_coverage(s, suites, declared.has_value());
}

}  // namespace

void add_suite(CLI::App& program, Context& context) {
  CLI::App* app = program.add_subcommand(
      "suite",
      "Runs the bundled suites of questions, each with checks that can fail, and scores other "
      "tools.");
  app->require_subcommand(1);
  app->footer(
      "Exit code 5: a check fails, a question is not answered, or a scored value is\n"
      "outside its physical bounds.\n"
      "Examples:\n"
      "  orrery suite run\n"
      "  orrery suite run suite45 -o md\n"
      "  orrery suite run T1.2 I5 --html suite.html\n"
      "  orrery suite show T1.2\n"
      "  orrery suite coverage");
  const auto verb = std::make_shared<SuiteVerb>();
  const auto names = [verb](CLI::App* sub, const char* what) {
    sub->add_option("NAME", verb->names, what);
  };
  const auto formats = [verb](CLI::App* sub, std::vector<std::string> allowed) {
    const std::string list = fmt::format("{}", fmt::join(allowed, ", "));
    sub->add_option("-o,--output", verb->output, list + " [table]")
        ->check(CLI::IsMember(std::move(allowed)))
        ->type_name("FORMAT");
  };
  CLI::App* run = app->add_subcommand("run", "Answers the questions and checks the answers.");
  names(run, "suites, files of suites, or beginnings of questions' ids [all]");
  formats(run, {"table", "json", "md", "html"});
  run->add_option("--html", verb->html, "also write the outcome as a self-contained page")
      ->type_name("FILE");
  run->add_flag("--intervals,!--no-intervals", verb->options.intervals,
                "give figures of services an interval, by two further simulations [on]");
  run->callback([verb, &context] { run_suites(*verb, context); });
  CLI::App* list = app->add_subcommand("list", "Lists the questions, one per line.");
  names(list, "suites or beginnings of ids [all]");
  formats(list, {"table", "json"});
  list->callback([verb, &context] { list_or_show(*verb, context.bundle(), false); });
  CLI::App* shown =
      app->add_subcommand("show", "Shows the runs, metrics, checks and erratum of a question.");
  names(shown, "suites or beginnings of ids [all]");
  shown->callback([verb, &context] { list_or_show(*verb, context.bundle(), true); });
  CLI::App* cover =
      app->add_subcommand("coverage", "Shows as Markdown which tool answers which question.");
  names(cover, "a suite [suite45]");
  formats(cover, {"table", "json", "md"});
  cover
      ->add_option("--tool", verb->tools,
                   "files with the questions that further tools support (docs/suites.md)")
      ->type_name("FILE");
  cover->callback([verb, &context] { coverage(*verb, context.bundle()); });
  CLI::App* scored = app->add_subcommand(
      "score", "Scores the predictions of another tool by measured rows and by physical bounds.");
  scored
      ->add_option("FILE", verb->file,
                   "CSV or JSON: scenario, metric, value[, low90, high90, at]; or what "
                   "'suite run -o json' prints")
      ->required();
  scored->add_option("--data", verb->data, "folder of measured tables, such as data/inference")
      ->type_name("DIR");
  scored
      ->add_option("--tool", verb->tools,
                   "file with the questions that the tool claims to support (docs/suites.md)")
      ->type_name("FILE");
  scored->add_option("--suite", verb->names, "suites, or files of suites [all bundled]")
      ->type_name("NAME");
  formats(scored, {"table", "json"});
  scored->callback([verb, &context] { print_score(*verb, context); });
}

}  // namespace orrery::cli
