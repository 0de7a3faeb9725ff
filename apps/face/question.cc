#include "apps/face/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"

namespace orrery::face {
namespace {

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

void lay(Node& base, const Node& over) {
  each_leaf(over, "", [&base](const std::string& path, const Node& v) { set_path(base, path, v); });
}

// A list of texts, or the words of a text.
std::vector<std::string> words_of(const Node& value) {
  std::vector<std::string> words;
  if (value.is_list()) {
    for (const Node& item : value.items()) words.push_back(item.as_string());
    return words;
  }
  const std::string& text = value.as_string();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

void Question::give(const Node& map) {
  if (!map.is_map()) map.fail("expected a map of keys");
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    if (!map.items()[i].is_null()) give_one(map.keys()[i], map.items()[i]);
  }
}

bool Question::give_text(const std::string& name, const Node& value) {
  for (const VerbText& text : keys->verb().texts) {
    if (text.name != name) continue;
    switch (text.form) {
      case VerbText::Form::kWords:
        return texts.give(name, words_of(value)), true;
      case VerbText::Form::kFlag:
        return texts.give(name, {value.as_bool() ? "true" : "false"}), true;
      case VerbText::Form::kText:
        // A group of the same name takes a map.
        if (value.is_map()) return false;
        return texts.give(name, {value.as_string()}), true;
    }
  }
  return false;
}

void Question::give_one(const std::string& name, const Node& value) {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  const auto give_leaves = [&](const std::string& prefix, bool full) {
    each_leaf(value, "", [&](const std::string& path, const Node& leaf) {
      const std::string at = prefix + path;
      set_path(given, full ? keys->full_path(at, at) : at, leaf);
    });
  };
  if (give_text(key, value)) return;
  if (key == "set" && value.is_map()) {
    give_leaves("", true);
  } else if (key == "sweep" && value.is_map()) {
    give_leaves("sweep.", false);
  } else if (const VerbKey* known = keys->find(key); known && !value.is_map()) {
    if (known->switched.empty()) return set_path(given, known->path, value);
    if (value.as_bool()) set_path(given, known->path, scalar_node(known->switched, name));
  } else if (key.starts_with("engine.") && !value.is_map()) {
    set_path(given, keys->full_path(key, name), value);
  } else if (const Field* field = keys->field_at(key)) {
    if (field->group() && !value.is_map()) value.fail("expected a map of keys");
    if (!value.is_map()) return set_path(given, key, value);
    give_leaves(key + ".", true);
  } else {
    std::vector<std::string> names = {"set", "sweep"};
    for (const VerbText& text : keys->verb().texts) names.emplace_back(text.name);
    for (const VerbKey& one : keys->all()) {
      for (std::string alias : one.names) {
        std::replace(alias.begin(), alias.end(), '-', '_');
        names.push_back(std::move(alias));
      }
    }
    for (const Field& f : keys->fields().all()) names.push_back(f.name());
    value.fail(fmt::format("`{}` has no such key{}", keys->verb().name, did_you_mean(key, names)));
  }
}

void Question::lay_over(Node& document) const {
  if (const auto lay_texts = keys->verb().lay) lay_texts(texts, document);
  Node over;
  for (const std::string& assignment : assignments) {
    const auto [key, value] = split_assignment(assignment, "--set", "KEY=VALUE");
    set_path(over, keys->full_path(key, "--set " + key), scalar_node(value, "--set " + key));
  }
  lay(over, given);
  for (const std::string& sweep : sweeps) {
    const auto [key, values] =
        split_assignment(sweep, "--sweep", "KEY=VALUES, as in --sweep tp=1,2,4");
    const auto& all = keys->all();
    const auto named = std::find_if(all.begin(), all.end(), [&key = key](const VerbKey& k) {
      const auto& aliases = k.field->aliases();
      return k.switched.empty() &&
             ((!k.word && k.names.front() == key_name(key)) || k.field->name() == key ||
              std::find(aliases.begin(), aliases.end(), key) != aliases.end());
    });
    const std::string path =
        named != all.end() ? named->path : keys->full_path(key, "--sweep " + key);
    const Field* field = keys->field_at(path);
    if (field == nullptr || field->group() != nullptr) {
      std::vector<std::string> known;
      for (const VerbKey& k : all)
        if (k.switched.empty()) known.push_back(k.names.front());
      throw InputError(
          fmt::format("--sweep {}: there is no such key{}", key, did_you_mean(key, known)));
    }
    // A list that is one value in itself is swept by the group of that name alone.
    const bool list = field->type() == Field::Type::kList && !field->values();
    set_path(over, list ? "sweep." + path : path, scalar_node(values, "--sweep " + key));
  }
  each_leaf(over, "", [&document](const std::string& path, const Node&) {
    document = without(document, "sweep." + path);
  });
  lay(document, over);
}

Node Question::document(const Bundle& bundle) const {
  const Verb& verb = keys->verb();
  Node document;
  if (verb.base) document = verb.base(texts, bundle);
  for (const auto& [path, text] : verb.presets)
    set_path(document, path, scalar_node(std::string(text), ""));
  set_path(document, "name", scalar_node(kUnnamed, ""));
  lay_over(document);
  if (verb.complete) verb.complete(verb, texts, document);
  return document;
}

ScenarioSweep Question::points(const Bundle& bundle) const {
  return read_scenario(all_kinds(), document(bundle));
}

}  // namespace orrery::face
