#include "apps/cli/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::cli {
namespace {

// CLI11's name of a word after the verb has no dashes.
std::string word_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

// The names of a key as CLI11 takes them: "-m,--model". A word after the verb has its aliases as
// flags: "NETWORK,-m,--model".
std::string names_of(const VerbKey& key) {
  if (key.word) {
    std::string names = word_name(key.field->name());
    for (const std::string& alias : key.field->aliases())
      names += fmt::format(",-{},--{}", alias.front(), alias);
    return names;
  }
  std::string names;
  if (key.letter != 0) names = std::string("-") + key.letter + ",";
  for (const std::string& name : key.names)
    names += (&name == &key.names.front() ? "--" : ",--") + name;
  return names;
}

}  // namespace

std::string type_name(const Field& f) {
  switch (f.type()) {
    case Field::Type::kList:
      if (f.unit() == "links") return "LINKS";
      if (f.unit() == "bytes") return "SIZES";
      if (f.unit() == "names") return "NAMES";
      if (f.unit() == "pools") return "POOLS";
      if (f.unit() == "factors") return "CLASS=FACTOR";
      return f.is_repeated() ? "NAME[,NAME...]" : "N[,N|N-N*2...]";
    case Field::Type::kInt:
      return "N";
    case Field::Type::kNumber:
      return "X";
    default:
      return "NAME";
  }
}

KeyFlags::KeyFlags(CLI::App& app, std::string_view verb) : question_(verb) {
  for (const VerbKey& key : question_.keys->all()) add(app, key);
  for (const VerbText& text : question_.keys->verb().texts) add_text(app, text);
  add_any_key(app);
}

void KeyFlags::add(CLI::App& app, const VerbKey& key) {
  const std::string name = key.word ? word_name(key.field->name()) : "--" + key.names.front();
  Node& given = question_.given;
  if (!key.switched.empty()) {
    app.add_flag_function(
           name,
           [&given, &key, name](std::int64_t) {
             set_path(given, key.path, scalar_node(key.switched, name));
           },
           key.help)
        ->group(key.heading);
    return;
  }
  if (key.field->type() == Field::Type::kBool) {
    app.add_flag_function(
           names_of(key) + ",!--no-" + key.names.front(),
           [&given, &key, name](std::int64_t n) {
             set_path(given, key.path, scalar_node(n > 0 ? "true" : "false", name));
           },
           key.help)
        ->group(key.heading);
    return;
  }
  CLI::Option* option = app.add_option_function<std::string>(
      names_of(key),
      [&given, &key, name](const std::string& text) {
        set_path(given, key.path, scalar_node(text, name));
      },
      key.help);
  if (key.field->is_repeated()) {
    option->join(',');
  } else {
    option->take_last();
  }
  option->type_name(type_name(*key.field));
  if (!key.word) option->group(key.heading);
}

void KeyFlags::add_text(CLI::App& app, const VerbText& text) {
  const std::string flag = fmt::format("--{}", text.name), help(text.help);
  GivenTexts& given = question_.texts;
  const std::string name(text.name);
  CLI::Option* option = nullptr;
  switch (text.form) {
    case VerbText::Form::kFlag:
      option = app.add_flag_function(
          flag, [&given, name](std::int64_t) { given.give(name, {"true"}); }, help);
      break;
    case VerbText::Form::kText:
      option = app.add_option_function<std::string>(
          flag, [&given, name](const std::string& value) { given.give(name, {value}); }, help);
      break;
    case VerbText::Form::kWords:
      option = app.add_option_function<std::vector<std::string>>(
          flag, [&given, name](const std::vector<std::string>& words) { given.give(name, words); },
          help);
      break;
  }
  option->group(std::string(text.heading));
  if (!text.value.empty()) option->type_name(std::string(text.value));
}

void KeyFlags::add_any_key(CLI::App& app) {
  const std::string heading(question_.keys->verb().any_key_heading);
  app.add_option("--set", question_.assignments,
                 "any key of a scenario file, also short: --set engine.max_num_seqs=64")
      ->group(heading)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--sweep", question_.sweeps,
                 "several values of a flag or of any key of a scenario file: --sweep "
                 "model=llama-3-8b,llama-2-7b")
      ->group(heading)
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
}

}  // namespace orrery::cli
