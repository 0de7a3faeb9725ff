// The keys that each verb takes by a name of its own: `tp` of `parallel.tp`. They are made from the
// declarations of a scenario. Every face offers them: the command line as flags (--tp 8), Python as
// keyword arguments (tp=8), the web page as fields of a form.
//
// A verb whose question is a deployment (estimate, memory, run, simulate, compare, plan) takes
// every key of the deployment, those of the workload or of the load, and the keys of an engine's
// profile that vLLM has flags for. The others take the groups of their question.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/document/scenario_keys.h"
#include "orrery/workload/plan/engine.h"

namespace orrery::face {

struct VerbKey {
  std::vector<std::string> names;  // with '-' between words, the usual one first: "max-num-seqs"
  char letter = 0;                 // a short name; 0: none
  std::string path;                // in a scenario: "engine.overrides.scheduler.max_num_seqs"
  const Field* field = nullptr;
  std::string help;
  std::string heading;   // of the help and of forms
  std::string switched;  // not empty: naming the key gives it this value (--sequence-parallel)
  bool word = false;     // on the command line the word after the verb, and no flag
};

// A field's line of help: its doc, choices and default.
std::string help_of(const Field& field);
// The name of a key with '-' between its words.
std::string key_name(std::string key);

class VerbKeys {
 public:
  enum class Kind { kWorkload, kService, kPlan, kTraining, kGroup };

  // The keys of a verb, which are made once. InputError: no verb with this name asks a scenario.
  static const VerbKeys& of(std::string_view verb);
  // The verbs that ask a scenario.
  static const std::vector<std::string>& verbs();

  VerbKeys(const VerbKeys&) = delete;  // keys refer to its fields
  VerbKeys& operator=(const VerbKeys&) = delete;

  const std::string& verb() const { return verb_; }
  Kind kind() const { return kind_; }
  const std::string& example() const { return example_; }  // a command that asks enough
  const std::deque<VerbKey>& all() const { return keys_; }
  // By any of its names, with '-' or '_'; nullptr if there is none.
  const VerbKey* find(std::string_view name) const;
  // The values that the question has where nothing is given: pairs of path and text.
  const std::vector<std::pair<std::string, std::string>>& presets() const { return presets_; }

  const Fields& fields() const { return fields_; }         // of a scenario
  const Fields& engine_fields() const { return engine_; }  // of an engine's profile
  // The field at a path; nullptr if there is none.
  const Field* field_at(const std::string& path) const;
  // The whole path of a key as --set and --sweep take it. A key of the engine's profile may be
  // short, since its name is unique: engine.max_num_seqs or engine.scheduler.max_num_seqs for
  // engine.overrides.scheduler.max_num_seqs. `place` is what messages call its place.
  std::string full_path(const std::string& key, std::string_view place) const;

 private:
  explicit VerbKeys(const std::string& verb);

  void add(const Field& field, const std::string& path, std::vector<std::string> names,
           const std::string& heading, char letter = 0);
  void add_key(const std::string& path, const std::string& heading);
  void add_group(const std::string& group, const std::string& word = "");
  void add_deployment();
  void add_leaves(const Field& group);
  void add_engine_keys();
  void add_run();
  bool has_group(const std::string& name) const;

  std::string verb_, example_;
  Kind kind_ = Kind::kGroup;
  ScenarioValues defaults_;  // the defaults that the declarations show
  EngineProfile profile_;
  Fields fields_, engine_;
  std::deque<VerbKey> keys_;
  std::vector<std::pair<std::string, std::string>> presets_;
};

inline constexpr const char* kAskedHeading = "what is asked about";
inline constexpr const char* kEngineHeading = "the engine's constants (default: its profile's)";

}  // namespace orrery::face
