#include "apps/face/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/scenario/document/training_recipe.h"

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

// "ttft:p99:500ms,tpot:50ms" as the keys of `slo`.
void set_slo(Node& document, const std::string& text) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::string part = text.substr(begin, text.find(',', begin) - begin);
    begin += part.size() + 1;
    const std::size_t first = part.find(':'), last = part.rfind(':');
    const bool has_percentile = first != last;
    if (first == std::string::npos || first == 0 || last + 1 == part.size() ||
        (has_percentile && (last < first + 3 || part[first + 1] != 'p')))
      throw InputError(
          fmt::format("--slo {}: expected limits like ttft:p99:500ms or tpot:50ms", part));
    const std::string key = "slo." + part.substr(0, first);
    set_path(document, key, scalar_node(part.substr(last + 1), "--slo " + part));
    if (has_percentile)
      set_path(document, key + "_percentile",
               scalar_node(part.substr(first + 2, last - first - 2), "--slo " + part));
  }
}

// "ttft:500 tpot:50 e2el:2000" (vLLM's --goodput, in milliseconds) as the keys of `slo`.
void set_goodput(Node& document, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    const std::size_t colon = limit.find(':');
    std::string key = limit.substr(0, colon);
    if (key == "e2el") key = "e2e";
    const bool known = key == "ttft" || key == "tpot" || key == "e2e";
    const std::string value = colon == std::string::npos ? "" : limit.substr(colon + 1);
    if (!known || value.empty() || value.find_first_not_of("0123456789.") != std::string::npos)
      throw InputError(fmt::format(
          "--goodput {}: expected limits in milliseconds like ttft:500 tpot:50 e2el:10000", limit));
    set_path(document, "slo." + key, scalar_node(value + " ms", "--goodput " + limit));
  }
}

// InputError: no model or no GPU, whose key is `gpu`; `example` is a command that has them.
void check_asked(const Node& document, std::string_view example, std::string_view gpu) {
  std::string missing;
  if (!is_set(document, "model")) missing = "--model";
  if (!is_set(document, gpu)) missing += missing.empty() ? "--gpu" : " and --gpu";
  if (!missing.empty()) throw InputError(fmt::format("{} missing, as in: {}", missing, example));
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

const std::vector<std::string>& texts_of_verbs() {
  static const std::vector<std::string> names = {"set",     "sweep",  "slo",
                                                 "goodput", "recipe", "train"};
  return names;
}

}  // namespace

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

void Question::give(const Node& map) {
  if (!map.is_map()) map.fail("expected a map of keys");
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    if (!map.items()[i].is_null()) give_one(map.keys()[i], map.items()[i]);
  }
}

void Question::give_one(const std::string& name, const Node& value) {
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  const VerbKeys::Kind kind = keys->kind();
  const bool limits = kind == VerbKeys::Kind::kService || kind == VerbKeys::Kind::kPlan;
  const auto give_leaves = [&](const std::string& prefix, bool full) {
    each_leaf(value, "", [&](const std::string& path, const Node& leaf) {
      const std::string at = prefix + path;
      set_path(given, full ? keys->full_path(at, at) : at, leaf);
    });
  };
  if (key == "goodput" && limits) {
    goodput = words_of(value);
  } else if (key == "slo" && limits && value.is_scalar()) {
    slo = value.text();
  } else if (key == "recipe" && kind == VerbKeys::Kind::kTraining) {
    recipe = value.as_string();
  } else if (key == "train" && kind == VerbKeys::Kind::kPlan) {
    train = value.as_bool();
  } else if (key == "set" && value.is_map()) {
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
    std::vector<std::string> names = texts_of_verbs();
    for (const VerbKey& one : keys->all()) {
      for (std::string alias : one.names) {
        std::replace(alias.begin(), alias.end(), '-', '_');
        names.push_back(std::move(alias));
      }
    }
    for (const Field& f : keys->fields().all()) names.push_back(f.name());
    value.fail(fmt::format("`{}` has no such key{}", keys->verb(), did_you_mean(key, names)));
  }
}

void Question::lay_over(Node& document) const {
  if (!slo.empty()) set_slo(document, slo);
  set_goodput(document, goodput);
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

Node Question::own_document() const {
  Node document;
  for (const auto& [path, text] : keys->presets()) set_path(document, path, scalar_node(text, ""));
  set_path(document, "name", scalar_node(kUnnamed, ""));
  lay_over(document);
  return document;
}

Node Question::document(const Bundle& bundle) const {
  using Kind = VerbKeys::Kind;
  Node document;
  if (recipe.empty()) {
    document = own_document();
  } else {
    document = training_recipe(recipe, bundle).scenario;
    set_path(document, "name", scalar_node(kUnnamed, ""));
    lay_over(document);
  }
  const Kind kind = keys->kind();
  if (keys->verb() == "kernel" && !is_set(document, "hardware.gpu"))
    throw InputError("--gpu missing, as in: " + keys->example());
  if (keys->verb() == "edge") {
    for (const char* key : {"network", "device"}) {
      if (!is_set(document, std::string("edge.") + key))
        throw InputError(fmt::format("{} missing, as in: {}", *key == 'n' ? "NETWORK" : "--device",
                                     keys->example()));
    }
  }
  if (kind == Kind::kGroup) return document;
  std::string example = keys->example();
  if (kind == Kind::kPlan)
    example += train ? " --train --tokens 2T --global-batch 2048" : " --rate 4 --slo tpot:40ms";
  check_asked(document, example, kind == Kind::kPlan ? "plan.gpu" : "hardware.gpu");
  const bool has_training = document.find("training") != nullptr;
  if (kind == Kind::kTraining) {
    if (!has_training) set_path(document, "training.gpus", scalar_node("1", ""));
    return document;
  }
  if (train && !has_training)
    throw InputError("--train needs the length of the run, as in --tokens 2T --global-batch 2048");
  if (!train && kind == Kind::kPlan && has_training)
    throw InputError("flags of a training run need --train");
  if (kind != Kind::kWorkload && !train && !document.find("load"))
    set_path(document, "load.seed", scalar_node("0", ""));
  return document;
}

}  // namespace orrery::face
