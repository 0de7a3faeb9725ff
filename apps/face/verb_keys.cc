#include "apps/face/verb_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery::face {
namespace {

// A verb of the faces, which takes the keys of a kind's verb.
struct FaceVerb {
  std::string_view name, like, example;
};
constexpr FaceVerb kFaceVerbs[] = {
    {"run", "estimate", "orrery run scenario.yaml"},
    {"compare", "simulate",
     "orrery compare service result.json --model llama-3-8b --gpu h100-sxm"}};

std::optional<Verb> verb_of(std::string_view name) {
  if (const auto* own = all_kinds().find_verb(name)) return *own->verb;
  for (const FaceVerb& face : kFaceVerbs) {
    const auto* like = all_kinds().find_verb(face.like);
    if (face.name != name || like == nullptr) continue;
    Verb verb = *like->verb;
    verb.name = face.name, verb.example = face.example;
    return verb;
  }
  return std::nullopt;
}

}  // namespace

const std::vector<std::string>& VerbKeys::verbs() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& [kind, verb] : all_kinds().verbs()) all.emplace_back(verb->name);
    return all;
  }();
  return names;
}

const std::vector<std::string>& VerbKeys::names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = verbs();
    for (const FaceVerb& face : kFaceVerbs) all.emplace_back(face.name);
    return all;
  }();
  return names;
}

const VerbKeys& VerbKeys::of(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const VerbKeys>, std::less<>> made;
  const std::lock_guard lock(mutex);
  const auto known = made.find(name);
  if (known != made.end()) return *known->second;
  const std::optional<Verb> verb = verb_of(name);
  if (!verb)
    throw InputError(fmt::format("unknown verb '{}'{}; verbs that ask a scenario: {}", name,
                                 did_you_mean(name, names()), fmt::join(names(), ", ")));
  return *made.emplace(name, std::unique_ptr<const VerbKeys>(new VerbKeys(*verb))).first->second;
}

VerbKeys::VerbKeys(const Verb& verb) : verb_(verb), keys_(all_kinds().keys(), engine_) {
  declare(engine_, profile_);
  verb_.add_keys(keys_);
}

const Field* VerbKeys::field_at(const std::string& path) const {
  if (path.starts_with(kEngineKeys)) return engine_.find(path.substr(kEngineKeys.size()));
  return fields().find(path);
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
