#include "apps/cli/flags/question_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/flags.h"
#include "orrery/scenario/runner/runner.h"

namespace orrery::cli {
namespace {

using Flags = std::shared_ptr<QuestionFlags>;

// Flags of `chance` carry its name; those of one letter are short ones too.
std::string flag_names(const Field& f, const std::string& path) {
  std::string names = (path.starts_with("chance.") ? "--chance-" : "--") + f.name();
  for (const std::string& alias : f.aliases()) names += ",--" + alias;
  std::replace(names.begin(), names.end(), '_', '-');
  if (f.name() == "gpu" || f.name() == "model") return "-" + f.name().substr(0, 1) + "," + names;
  return f.name().size() == 1 ? "-" + f.name() + "," + names : names;
}

// CLI11's name of a word after the verb has no dashes.
std::string word_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

CLI::Option* add_text_flag(CLI::App& app, const Flags& flags, const Field& f,
                           const std::string& path, const std::string& names,
                           const std::string& shown) {
  return app
      .add_option_function<std::string>(
          names,
          [flags, path, shown, &f](const std::string& text) {
            set_flag(flags->document, f, path, text, shown);
          },
          help_of(f))
      ->type_name(type_name(f))
      ->take_last();
}

void add_flag(CLI::App& app, const Flags& flags, const Field& f, const std::string& path,
              const std::string& group) {
  const std::string names = flag_names(f, path);
  const std::string name = names.substr(names.find("--"));
  const std::string first = name.substr(0, name.find(','));
  if (f.type() == Field::Type::kBool) {
    app.add_flag_function(
           names + ",!--no-" + first.substr(2),
           [flags, path, first](std::int64_t n) {
             set_path(flags->document, path, scalar_node(n > 0 ? "true" : "false", first));
           },
           help_of(f))
        ->group(group);
    return;
  }
  add_text_flag(app, flags, f, path, names, first)->group(group);
  for (const Field::Switch& s : f.switches()) {
    std::string flag = "--" + s.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    app.add_flag_function(
           flag,
           [flags, path, flag, value = s.value](std::int64_t) {
             set_path(flags->document, path, scalar_node(value, flag));
           },
           fmt::format("as {} {}", first, s.value))
        ->group(group);
  }
}

}  // namespace

void add_question_flag(CLI::App& app, const Flags& flags, const std::string& path,
                       const std::string& help_group) {
  add_flag(app, flags, *flags->fields.find(path), path, help_group);
}

void add_question_group(CLI::App& app, const Flags& flags, const std::string& group,
                        const std::string& word) {
  const Field& f = *flags->fields.find(group);
  for (const Field& leaf : f.group()->all()) {
    const std::string path = group + "." + leaf.name();
    if (leaf.name() == word) {
      const std::string name = word_name(leaf.name());
      add_text_flag(app, flags, leaf, path, name, name);
    } else {
      add_flag(app, flags, leaf, path, f.doc());
    }
  }
}

void add_set_flag(CLI::App& app, const Flags& flags) {
  add_set_flag(app, std::shared_ptr<Node>(flags, &flags->document));
}

Answer answer_of(const QuestionFlags& flags, const Bundle& bundle) {
  Node document = flags.document;
  set_path(document, "name", scalar_node("command line", ""));
  Runner runner(bundle);
  return runner.run(read_scenario(document));
}

void print(const Answer& answer, const OutputOptions& options, bool has_columns,
           void (*table)(const Answer&)) {
  if (options.format != Format::kTable || !has_columns) return print({&answer, 1}, options);
  if (!options.html.empty()) write_file(options.html, html({&answer, 1}), "--html");
  table(answer);
}

}  // namespace orrery::cli
