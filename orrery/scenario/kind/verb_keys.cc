#include "orrery/scenario/kind/verb_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery {
namespace {

// Keys of the engine's profile that vLLM has flags for. All others are reached by --set.
bool is_engine_key(std::string_view name, bool queues) {
  if (queues && (name == "policy" || name == "order")) return true;
  constexpr std::string_view kNames[] = {
      "utilization",  "block_size",      "max_num_batched_tokens",
      "max_num_seqs", "chunked_prefill", "prefix_caching"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::vector<std::string> names_of(const Field& f) {
  std::vector<std::string> names = {key_name(f.name())};
  for (const std::string& alias : f.aliases()) names.push_back(key_name(alias));
  return names;
}

}  // namespace

std::string key_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return key;
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

void VerbKeyList::add(const Field& field, const std::string& path, std::vector<std::string> names,
                      std::string_view heading) {
  VerbKey& key = keys_.emplace_back();
  key.names = std::move(names), key.path = path, key.field = &field;
  key.help = help_of(field), key.heading = heading;
}

void VerbKeyList::add_key(const std::string& path, std::string_view heading) {
  const Field& f = *fields_.find(path);
  const std::vector<std::string> names = names_of(f);
  const bool named = f.name() == "gpu" || f.name() == "model" || f.name() == "device";
  add(f, path, names, heading);
  if ((named && f.type() != Field::Type::kBool) || f.name().size() == 1)
    keys_.back().letter = f.name().front();
  for (const Field::Switch& s : f.switches()) {
    add(f, path, {key_name(s.name)}, heading);
    keys_.back().help = fmt::format("as --{} {}", names.front(), s.value);
    keys_.back().switched = s.value;
  }
}

void VerbKeyList::add_group(const std::string& group, const GroupNames& by) {
  const Field& f = *fields_.find(group);
  const std::string_view heading = by.heading.empty() ? std::string_view(f.doc()) : by.heading;
  for (const Field& leaf : f.group()->all()) {
    if (leaf.group() != nullptr || leaf.type() == Field::Type::kGroup) continue;
    if (by.without && by.without(leaf)) continue;
    const std::string path = group + "." + leaf.name();
    const auto renamed = std::find_if(by.renamed.begin(), by.renamed.end(),
                                      [&leaf](const auto& r) { return r.first == leaf.name(); });
    if (renamed != by.renamed.end()) {
      add(leaf, path, {std::string(renamed->second)}, heading);
    } else if (!by.prefix.empty()) {
      add(leaf, path, {key_name(fmt::format("{}-{}", by.prefix, leaf.name()))}, heading);
    } else if (leaf.name() == by.word) {
      add(leaf, path, names_of(leaf), "");
      keys_.back().word = true;
    } else {
      add_key(path, heading);
    }
    for (const auto& [name, letter] : by.letters)
      if (name == leaf.name()) keys_.back().letter = letter;
  }
}

void VerbKeyList::add_engine_keys(bool queues) {
  for (const Field& f : engine_.all()) {
    if (!f.group()) continue;
    for (const Field& leaf : f.group()->all()) {
      if (!is_engine_key(leaf.name(), queues)) continue;
      // vLLM's name is the alias where there is one.
      const std::string name = leaf.aliases().empty() ? leaf.name() : leaf.aliases().front();
      add(leaf, fmt::format("{}{}.{}", kEngineKeys, f.name(), leaf.name()), {key_name(name)},
          kEngineHeading);
      keys_.back().help = leaf.doc();  // the defaults are those of the profile
    }
  }
}

const VerbKey* VerbKeyList::find(std::string_view name) const {
  const auto same = [](char a, char b) { return a == b || (a == '-' && b == '_'); };
  for (const VerbKey& key : keys_) {
    for (const std::string& known : key.names) {
      if (std::equal(known.begin(), known.end(), name.begin(), name.end(), same)) return &key;
    }
  }
  return nullptr;
}

void add_workload_keys(VerbKeyList& keys) {
  for (const char* key : {"workload.max_model_len", "workload.expert_skew"})
    keys.add_key(key, keys.fields().find("workload")->doc());
}

void add_deployment_keys(VerbKeyList& keys, bool batch) {
  for (const char* group : {"model_overrides", "hardware", "parallel", "precision"})
    keys.add_group(group);
  keys.add_group("engine", {.renamed = {{"profile", "engine"}, {"setup", "engine-setup"}}});
  if (batch) {
    keys.add_group("workload");
  } else {
    add_workload_keys(keys);
  }
  for (const char* group : {"cost", "energy"}) keys.add_group(group);
}

}  // namespace orrery
