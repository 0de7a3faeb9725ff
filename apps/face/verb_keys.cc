#include "apps/face/verb_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/scenario/question/plan_question.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery::face {
namespace {

constexpr std::string_view kEngineKeys = "engine.overrides.";

struct VerbKind {
  std::string name;
  VerbKeys::Kind kind;
  std::string example;
};

const std::vector<VerbKind>& kinds() {
  using Kind = VerbKeys::Kind;
  static const std::vector<VerbKind> all = [] {
    const std::string asked = " --model llama-3-8b --gpu h100-sxm";
    return std::vector<VerbKind>{
        {"memory", Kind::kWorkload, "orrery memory" + asked},
        {"estimate", Kind::kWorkload, "orrery estimate" + asked},
        {"simulate", Kind::kService, "orrery simulate" + asked},
        {"plan", Kind::kPlan, "orrery plan" + asked},
        {"train", Kind::kTraining, "orrery train" + asked + " --gpus 64 --stack fsdp"},
        {"kernel", Kind::kGroup, "orrery kernel gemm --gpu h100-sxm -m 64"},
        {"network", Kind::kGroup, "orrery network all-reduce --gpu h100-sxm"},
        {"edge", Kind::kGroup, "orrery edge mobilenet_v2 --device raspberry-pi-5"},
        {"replay", Kind::kGroup, "orrery replay rank0.json.gz"},
        {"run", Kind::kWorkload, "orrery run scenario.yaml"},
        {"compare", Kind::kService, "orrery compare service result.json" + asked}};
  }();
  return all;
}

// Keys of the engine's profile that vLLM has flags for. All others are reached by --set.
bool is_engine_key(std::string_view name, bool of_service) {
  if (of_service && (name == "policy" || name == "order")) return true;
  constexpr std::string_view kNames[] = {
      "utilization",  "block_size",      "max_num_batched_tokens",
      "max_num_seqs", "chunked_prefill", "prefix_caching"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Groups of a service whose keys carry the group's name: "slo-ttft", "lora-rank".
bool is_prefixed(std::string_view group) {
  constexpr std::string_view kGroups[] = {"slo",       "speculation",    "lora",      "kv",
                                          "neighbour", "disaggregation", "autoscale", "failures"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
}

bool is_of_service(std::string_view group) {
  return group == "load" || group == "cluster" || is_prefixed(group);
}

// Groups that are the questions of `network`, `kernel`, `train`, `edge` and `replay`.
bool is_of_other_verb(std::string_view group) {
  constexpr std::string_view kGroups[] = {"collective", "kernel", "training",
                                          "chance",     "edge",   "replay"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
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

const std::vector<std::string>& VerbKeys::verbs() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const VerbKind& k : kinds()) all.push_back(k.name);
    return all;
  }();
  return names;
}

const VerbKeys& VerbKeys::of(std::string_view verb) {
  const auto found = std::find(verbs().begin(), verbs().end(), verb);
  if (found == verbs().end())
    throw InputError(fmt::format("unknown verb '{}'{}; verbs that ask a scenario: {}", verb,
                                 did_you_mean(verb, verbs()), fmt::join(verbs(), ", ")));
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const VerbKeys>, std::less<>> made;
  const std::lock_guard lock(mutex);
  auto& keys = made[*found];
  if (!keys) keys.reset(new VerbKeys(*found));
  return *keys;
}

VerbKeys::VerbKeys(const std::string& verb) : verb_(verb) {
  declare(fields_, defaults_);
  declare(engine_, profile_);
  const auto& known = kinds();
  const VerbKind& k = *std::find_if(known.begin(), known.end(),
                                    [&](const VerbKind& one) { return one.name == verb; });
  kind_ = k.kind;
  example_ = k.example;
  if (verb == "kernel") {
    presets_ = {{"kernel.op", "gemm"}};
    add_group("kernel", "op");
    for (const char* key : {"hardware.gpu", "hardware.power_limit", "hardware.clock"})
      add_key(key, "hardware");
    for (const char* group : {"cost", "energy"}) add_group(group);
    add_key("objective", "output");
  } else if (verb == "network") {
    presets_ = {{"collective.kind", "all-reduce"}};
    add_group("collective", "kind");
    for (const char* group : {"hardware", "cost", "energy"}) add_group(group);
    add_key("objective", "output");
  } else if (verb == "edge") {
    add_group("edge", "network");
  } else if (verb == "replay") {
    add_group("replay", "trace");
    add_group("hardware");
  } else if (kind_ == Kind::kTraining) {
    for (const char* key : {"model", "objective"}) add_key(key, kAskedHeading);
    for (const char* group : {"hardware", "training", "chance", "cost", "energy"}) add_group(group);
  } else {
    add_deployment();
  }
}

void VerbKeys::add(const Field& field, const std::string& path, std::vector<std::string> names,
                   const std::string& heading, char letter) {
  keys_.push_back({std::move(names), letter, path, &field, help_of(field), heading, {}, false});
}

// Keys of one letter are short ones too, and those of `chance` carry its name.
void VerbKeys::add_key(const std::string& path, const std::string& heading) {
  const Field& f = *fields_.find(path);
  std::vector<std::string> names = names_of(f);
  if (path.starts_with("chance.")) names = {key_name("chance_" + f.name())};
  const bool named = f.name() == "gpu" || f.name() == "model" || f.name() == "device";
  const bool lettered = (named && f.type() != Field::Type::kBool) || f.name().size() == 1;
  add(f, path, names, heading, lettered ? f.name().front() : '\0');
  for (const Field::Switch& s : f.switches()) {
    keys_.push_back({{key_name(s.name)},
                     0,
                     path,
                     &f,
                     fmt::format("as --{} {}", names.front(), s.value),
                     heading,
                     s.value,
                     false});
  }
}

void VerbKeys::add_group(const std::string& group, const std::string& word) {
  const Field& f = *fields_.find(group);
  for (const Field& leaf : f.group()->all()) {
    const std::string path = group + "." + leaf.name();
    if (leaf.name() == word) {
      add(leaf, path, names_of(leaf), "");
      keys_.back().word = true;
    } else {
      add_key(path, f.doc());
    }
  }
}

bool VerbKeys::has_group(const std::string& name) const {
  if (kind_ == Kind::kPlan)
    return name == "plan" || name == "load" || name == "slo" || name == "speculation" ||
           name == "cost";
  return name != "plan" && (kind_ == Kind::kService || !is_of_service(name));
}

void VerbKeys::add_deployment() {
  const bool service = kind_ != Kind::kWorkload;
  for (const Field& f : fields_.all()) {
    if (is_of_other_verb(f.name())) continue;
    if (f.name() == "model") {
      add(f, f.name(), {"model"}, kAskedHeading, 'm');
    } else if (f.name() == "objective" && verb_ != "memory" && kind_ != Kind::kPlan) {
      add(f, f.name(), {"objective"}, kAskedHeading);
    } else if (f.group() && f.name() == "workload" && service) {
      // A service has lengths of its own and reads these two keys.
      for (const char* key : {"max_model_len", "expert_skew"}) {
        const Field& leaf = *f.group()->find(key);
        add(leaf, std::string("workload.") + key, names_of(leaf), f.doc());
      }
    } else if (f.group() && has_group(f.name())) {
      add_leaves(f);
    }
  }
  if (kind_ == Kind::kPlan) {
    add_run();
  } else {
    add_engine_keys();
  }
}

void VerbKeys::add_leaves(const Field& group) {
  for (const Field& f : group.group()->all()) {
    if (f.group() || f.type() == Field::Type::kGroup) continue;
    std::vector<std::string> names = names_of(f);
    if (group.name() == "engine") names = {f.name() == "profile" ? "engine" : "engine-setup"};
    if (is_prefixed(group.name())) names = {key_name(group.name() + "-" + f.name())};
    // A board has a limit of its own (hardware.power_limit).
    if (group.name() == "cluster" && f.name() == "power_limit") names = {"cluster-power-limit"};
    add(f, group.name() + "." + f.name(), names, group.doc(), f.name() == "gpu" ? 'g' : '\0');
  }
}

// The keys of `training` and `chance` that a plan of a run does not choose.
void VerbKeys::add_run() {
  const std::vector<std::string>& chosen = planned_training_keys();
  for (const char* group : {"training", "chance"}) {
    for (const Field& f : fields_.find(group)->group()->all()) {
      if (*group == 't' && std::find(chosen.begin(), chosen.end(), f.name()) != chosen.end())
        continue;
      // The name is that of a key of services: --set training.expert_skew.
      if (find(f.name()) != nullptr) continue;
      add_key(std::string(group) + "." + f.name(), "--train: the run");
    }
  }
}

void VerbKeys::add_engine_keys() {
  for (const Field& f : engine_.all()) {
    if (!f.group()) continue;
    for (const Field& leaf : f.group()->all()) {
      if (!is_engine_key(leaf.name(), kind_ == Kind::kService)) continue;
      // vLLM's name is the alias where there is one.
      const std::string name = leaf.aliases().empty() ? leaf.name() : leaf.aliases().front();
      add(leaf, fmt::format("{}{}.{}", kEngineKeys, f.name(), leaf.name()), {key_name(name)},
          kEngineHeading);
      keys_.back().help = leaf.doc();  // the defaults are those of the profile
    }
  }
}

const VerbKey* VerbKeys::find(std::string_view name) const {
  const auto same = [](char a, char b) { return a == b || (a == '-' && b == '_'); };
  for (const VerbKey& key : keys_) {
    for (const std::string& known : key.names) {
      if (std::equal(known.begin(), known.end(), name.begin(), name.end(), same)) return &key;
    }
  }
  return nullptr;
}

const Field* VerbKeys::field_at(const std::string& path) const {
  if (path.starts_with(kEngineKeys)) return engine_.find(path.substr(kEngineKeys.size()));
  return fields_.find(path);
}

std::string VerbKeys::full_path(const std::string& key, std::string_view place) const {
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
    if (group.group()->find(rest)) return fmt::format("{}{}.{}", kEngineKeys, group.name(), rest);
    for (const Field& leaf : group.group()->all()) known.push_back(leaf.name());
  }
  throw InputError(
      fmt::format("{}: an engine's profile has no such key{}", place, did_you_mean(rest, known)));
}

}  // namespace orrery::face
