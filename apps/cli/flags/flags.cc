#include "apps/cli/flags/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

constexpr std::string_view kEngineKeys = "engine.overrides.";

// KEY and VALUE of an assignment; `flag` is the one that it was given to.
std::pair<std::string, std::string> split_assignment(const std::string& assignment,
                                                     const char* flag, const char* expected) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    throw InputError(fmt::format("{} {}: expected {}", flag, assignment, expected));
  std::string key = assignment.substr(0, equals);
  std::replace(key.begin(), key.end(), '-', '_');
  return {std::move(key), assignment.substr(equals + 1)};
}

// Calls visit(path, leaf) for the leaves of a map.
void each_leaf(const Node& map, const std::string& prefix,
               const std::function<void(const std::string&, const Node&)>& visit) {
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string path = prefix + map.keys()[i];
    const Node& value = map.items()[i];
    if (value.is_map()) {
      each_leaf(value, path + ".", visit);
    } else {
      visit(path, value);
    }
  }
}

void lay_over(Node& base, const Node& over) {
  each_leaf(over, "", [&base](const std::string& path, const Node& v) { set_path(base, path, v); });
}

// CLI11's name of a word after the verb has no dashes.
std::string word_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

// Names in the verbs whose question is one group: those of one letter are short ones too, and flags
// of `chance` carry its name.
std::string names_in_group(const Field& f, const std::string& path) {
  std::string names = flag_names(f);
  if (path.starts_with("chance.")) names = flag_name("chance_" + f.name());
  if (f.name() == "gpu" || f.name() == "model") return "-" + f.name().substr(0, 1) + "," + names;
  return f.name().size() == 1 ? "-" + f.name() + "," + names : names;
}

}  // namespace

std::string flag_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

std::string flag_names(const Field& f) {
  std::string names = flag_name(f.name());
  for (const std::string& alias : f.aliases()) names += "," + flag_name(alias);
  return names;
}

std::string help_of(const Field& f) {
  std::string help = f.doc();
  if (!f.need().empty()) help += "; needs " + f.need();
  std::vector<std::string> choices = f.choices();
  std::erase(choices, "");  // the default's
  if (!choices.empty()) help += fmt::format(" ({})", fmt::join(choices, ", "));
  for (const Field::Switch& s : f.spellings()) help += fmt::format("; {} is {}", s.name, s.value);
  if (f.type() == Field::Type::kBool) return help;
  if (f.type() != Field::Type::kList)
    return f.default_text().empty() ? help : help + fmt::format(" [{}]", f.default_text());
  std::string values;
  for (const auto& v : f.json())
    values += (values.empty() ? "" : ",") + (v.is_string() ? v.get<std::string>() : v.dump());
  return values.empty() ? help : help + fmt::format(" [{}]", values);
}

std::string type_name(const Field& f) {
  switch (f.type()) {
    case Field::Type::kList:
      if (f.unit() == "links") return "LINKS";
      if (f.unit() == "bytes") return "SIZES";
      if (f.unit() == "names") return "NAMES";
      if (f.unit() == "pools") return "POOLS";
      return f.is_repeated() ? "CLASS=FACTOR" : "N[,N|N-N*2...]";
    case Field::Type::kInt:
      return "N";
    case Field::Type::kNumber:
      return "X";
    default:
      return "NAME";
  }
}

bool is_set(const Node& document, std::string_view path) {
  const Node* at = &document;
  for (std::string_view rest = path; at != nullptr && !rest.empty();) {
    const std::size_t dot = std::min(rest.find('.'), rest.size());
    at = at->find(rest.substr(0, dot));
    rest.remove_prefix(std::min(dot + 1, rest.size()));
  }
  if (at != nullptr) return true;
  const Node* sweep = document.find("sweep");
  return sweep != nullptr && is_set(*sweep, path);
}

void check_asked(const Node& document, std::string_view example, std::string_view gpu) {
  std::string missing;
  if (!is_set(document, "model")) missing = "--model";
  if (!is_set(document, gpu)) missing += missing.empty() ? "--gpu" : " and --gpu";
  if (!missing.empty()) throw InputError(fmt::format("{} missing, as in: {}", missing, example));
}

KeyFlags::KeyFlags() {
  declare(fields_, defaults_);
  declare(engine_, profile_);
}

CLI::Option* KeyFlags::add(CLI::App& app, const Field& field, const std::string& path,
                           const std::string& names, const std::string& help) {
  const std::size_t dashes = names.find("--");  // none: a word
  const std::string all = dashes == names.npos ? names : names.substr(dashes);
  const std::string flag = all.substr(0, all.find(','));
  keys_.push_back({flag, &field, path});
  if (field.type() == Field::Type::kBool) {
    return app.add_flag_function(
        names + ",!--no-" + flag.substr(2),
        [this, path, flag](std::int64_t n) {
          set_path(given_, path, scalar_node(n > 0 ? "true" : "false", flag));
        },
        help);
  }
  CLI::Option* option = app.add_option_function<std::string>(
      names,
      [this, path, flag](const std::string& text) {
        set_path(given_, path, scalar_node(text, flag));
      },
      help);
  if (field.is_repeated()) {
    option->join(',');
  } else {
    option->take_last();
  }
  return option->type_name(type_name(field));
}

void KeyFlags::add_key(CLI::App& app, const std::string& path, const std::string& help_group) {
  const Field& f = *fields_.find(path);
  const std::string names = names_in_group(f, path);
  add(app, f, path, names, help_of(f))->group(help_group);
  const std::string first = keys_.back().flag;
  for (const Field::Switch& s : f.switches()) {
    const std::string flag = flag_name(s.name);
    app.add_flag_function(
           flag,
           [this, path, flag, value = s.value](std::int64_t) {
             set_path(given_, path, scalar_node(value, flag));
           },
           fmt::format("as {} {}", first, s.value))
        ->group(help_group);
  }
}

void KeyFlags::add_group(CLI::App& app, const std::string& group, const std::string& word) {
  const Field& f = *fields_.find(group);
  for (const Field& leaf : f.group()->all()) {
    const std::string path = group + "." + leaf.name();
    if (leaf.name() == word) {
      add(app, leaf, path, word_name(leaf.name()), help_of(leaf));
    } else {
      add_key(app, path, f.doc());
    }
  }
}

void KeyFlags::add_assignments(CLI::App& app, const std::string& help_group) {
  app.add_option("--set", assignments_,
                 "any key of a scenario file, also short: --set engine.max_num_seqs=64")
      ->group(help_group)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--sweep", sweeps_,
                 "several values of a flag or of any key of a scenario file: --sweep "
                 "model=llama-3-8b,llama-2-7b")
      ->group(help_group)
      ->type_name("KEY=VALUES")
      ->allow_extra_args(false);
}

void KeyFlags::preset(const std::string& path, const std::string& text) {
  set_path(presets_, path, scalar_node(text, ""));
}

std::string KeyFlags::full_path(const std::string& key, const char* flag) const {
  constexpr std::string_view kEngine = "engine.";
  if (!key.starts_with(kEngine)) return key;
  const std::string rest = key.substr(kEngine.size());
  if (rest == "profile" || rest == "setup" || rest == "overrides" || rest.starts_with("overrides."))
    return key;
  if (rest.find('.') != std::string::npos || engine_.find(rest))
    return std::string(kEngineKeys) + rest;
  std::vector<std::string> known = {"profile", "setup"};
  for (const Field& group : engine_.all()) {
    if (!group.group()) continue;
    if (group.group()->find(rest)) return std::string(kEngineKeys) + group.name() + "." + rest;
    for (const Field& leaf : group.group()->all()) known.push_back(leaf.name());
  }
  throw InputError(fmt::format("{} {}: an engine's profile has no such key{}", flag, key,
                               did_you_mean(rest, known)));
}

const Field* KeyFlags::field_at(const std::string& path) const {
  if (path.starts_with(kEngineKeys)) return engine_.find(path.substr(kEngineKeys.size()));
  return fields_.find(path);
}

void KeyFlags::apply(Node& document) const {
  Node given;
  for (const std::string& assignment : assignments_) {
    const auto [key, value] = split_assignment(assignment, "--set", "KEY=VALUE");
    set_path(given, full_path(key, "--set"), scalar_node(value, "--set " + key));
  }
  lay_over(given, given_);
  for (const std::string& sweep : sweeps_) {
    const auto [key, values] =
        split_assignment(sweep, "--sweep", "KEY=VALUES, as in --sweep tp=1,2,4");
    const auto with_flag = std::find_if(keys_.begin(), keys_.end(), [&key = key](const Key& k) {
      const auto& aliases = k.field->aliases();
      return k.flag == flag_name(key) || k.field->name() == key ||
             std::find(aliases.begin(), aliases.end(), key) != aliases.end();
    });
    const std::string path = with_flag != keys_.end() ? with_flag->path : full_path(key, "--sweep");
    const Field* field = field_at(path);
    if (field == nullptr || field->group() != nullptr) {
      std::vector<std::string> known;
      for (const Key& k : keys_) known.push_back(k.flag.substr(k.flag.find_first_not_of('-')));
      throw InputError(
          fmt::format("--sweep {}: there is no such key{}", key, did_you_mean(key, known)));
    }
    // A list that is one value in itself is swept by the group of that name alone.
    const bool list = field->type() == Field::Type::kList && !field->values();
    set_path(given, list ? "sweep." + path : path, scalar_node(values, "--sweep " + key));
  }
  each_leaf(given, "", [&document](const std::string& path, const Node&) {
    document = without(document, "sweep." + path);
  });
  lay_over(document, given);
}

Node KeyFlags::document() const {
  Node document = presets_;
  set_path(document, "name", scalar_node("command line", ""));
  apply(document);
  return document;
}

}  // namespace orrery::cli
