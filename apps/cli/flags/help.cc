#include "apps/cli/flags/help.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/examples.h"
#include "orrery/base/error.h"
#include "orrery/scenario/answer/answer_text.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kTextAt = 30;      // column of the text beside a flag
constexpr std::size_t kVerbTextAt = 12;  // column of the text beside a verb

std::string entry(const std::string& name, const std::string& text, std::size_t text_at = kTextAt) {
  std::string out = "  " + name;
  const std::string indent(text_at, ' ');
  const std::string lines = wrapped(text, kHelpColumns, indent);
  if (text.empty()) return out + "\n";
  if (out.size() + 2 > text_at) return wrapped(name, kHelpColumns, "  ") + lines;
  out.resize(text_at, ' ');
  return out + lines.substr(text_at);
}

// "-m, --model TEXT"; a flag and its negation as "--[no-]breakdown".
std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& s : option.get_snames()) names.push_back("-" + s);
  const std::vector<std::string>& long_names = option.get_lnames();
  auto has = [&](const std::string& name) {
    return std::find(long_names.begin(), long_names.end(), name) != long_names.end();
  };
  for (const std::string& name : long_names) {
    if (has("no-" + name)) {
      names.push_back("--[no-]" + name);
    } else if (!name.starts_with("no-") || !has(name.substr(3))) {
      names.push_back("--" + name);
    }
  }
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (!option.get_type_name().empty()) out += " " + option.get_type_name();
  return out;
}

std::vector<std::string> flags_of(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::Option* option : program.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* verb : program.get_subcommands()) {
    const std::vector<std::string> more = flags_of(*verb);
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

std::vector<std::string> verbs_of(const CLI::App& program) {
  std::vector<std::string> names;
  for (const CLI::App* verb : program.get_subcommands({})) names.push_back(verb->get_name());
  return names;
}

// Where the verb that was asked shows its examples.
std::string see_help(const CLI::App& program) {
  std::string words = "orrery";
  for (const CLI::App* app = &program; !app->get_subcommands().empty();) {
    app = app->get_subcommands().front();
    words += " " + app->get_name();
  }
  return fmt::format(" ('{} --help' shows examples)", words);
}

}  // namespace

std::string HelpFormatter::make_description(const CLI::App* app) const {
  std::string out = wrapped(app->get_description(), kHelpColumns, "") + "\n";
  const std::vector<std::string> examples = footer_of(*app).examples;
  if (examples.empty()) return out;
  out += "Examples:\n";
  for (std::size_t i = 0; i < std::min(kFirstExamples, examples.size()); ++i) out += examples[i];
  return out + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* app) const {
  const Footer footer = footer_of(*app);
  std::string out;
  for (std::size_t i = kFirstExamples; i < footer.examples.size(); ++i)
    out += (out.empty() ? "\nMore examples:\n" : "") + footer.examples[i];
  if (!footer.rest.empty()) out += "\n" + footer.rest;
  return out;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return CLI::Formatter::make_usage(app, std::move(name)) + "\n";
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  std::string out = group + ":\n";
  for (const CLI::Option* option : options) out += make_option(option, is_positional);
  return is_positional ? out + "\n" : out;  // the base class puts an empty line between the others
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string name = is_positional ? option->get_name(true) : names_of(*option);
  return entry(name, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  return entry(verb->get_name(), verb->get_description(), kVerbTextAt);
}

std::vector<std::string> canonical_arguments(int argc, const char* const* argv) {
  std::vector<std::string> out(argv + std::min(argc, 1), argv + argc);
  for (std::string& argument : out) {
    const std::size_t end = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, end);
    if (name == "-tp" || name == "-pp" || name == "-dp" || name == "-ep") {
      argument.insert(0, "-");
    } else if (name.starts_with("--")) {
      std::replace(argument.begin(), argument.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
    }
  }
  return out;
}

std::string unknown_verb(const std::vector<std::string>& arguments, const CLI::App& program) {
  const std::vector<std::string> verbs = verbs_of(program);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--catalog") ++i;  // its value
    if (word.starts_with('-')) continue;
    if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return "";
    return fmt::format("unknown verb '{}'{}; verbs: {}", word, did_you_mean(word, verbs),
                       fmt::join(verbs, ", "));
  }
  return "";
}

std::string message_of(const CLI::ParseError& error, const CLI::App& program) {
  const std::vector<std::string> rest = program.remaining(true);
  if (program.get_subcommands().empty()) {
    const std::vector<std::string> verbs = verbs_of(program);
    if (rest.empty() && !verbs.empty())
      return fmt::format("expected a verb: {} (--help explains)", fmt::join(verbs, ", "));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    // "--isl: 1 required N missing", "--isl: At Most 1 required but received 2"
    const std::string text = error.what();
    const bool twice = text.find("At Most") != std::string::npos;
    return text.substr(0, text.find(':')) + (twice ? ": given twice" : ": a value is missing");
  }
  for (const std::string& word : rest) {
    if (!word.starts_with('-')) continue;
    const std::string name = word.substr(0, word.find('='));
    return fmt::format("unknown flag '{}'{}", name, did_you_mean(name, flags_of(program)));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    // "RESULT is required"
    const std::string text = error.what();
    const std::size_t end = text.find(" is required");
    if (end != text.npos) return text.substr(0, end) + " is missing" + see_help(program);
  }
  if (rest.empty()) return error.what();
  const std::string& word = rest.front();
  const bool scenario = word.ends_with(".yaml") || word.ends_with(".yml");
  return fmt::format(
      "unexpected argument '{}'{}", word,
      scenario ? " (a scenario file is answered by 'orrery run')" : see_help(program));
}

}  // namespace orrery::cli
