// The keys that a verb takes by a name of its own: `tp` of `parallel.tp`. Every face offers them:
// the command line as flags (--tp 8), Python as keyword arguments (tp=8), HTTP as members of a
// body, the page as fields of a form.
//
// A kind lists them for each of its verbs, a group or a key at a time; names, aliases and help are
// those of the declaration:
//
//   keys.add_group("kernel", {.word = "op"});
//   keys.add_key("hardware.gpu", "hardware");
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/fields.h"

namespace orrery {

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

inline constexpr const char* kAskedHeading = "what is asked about";
inline constexpr const char* kEngineHeading = "the engine's constants (default: its profile's)";

// How the keys of a group are named.
struct GroupNames {
  std::string_view prefix = {};   // in front of every name: "slo" makes slo-ttft; empty: none
  std::string_view word = {};     // the key that is the word after the verb; empty: none
  std::string_view heading = {};  // empty: the group's own text
  // Keys with another name than their own.
  std::vector<std::pair<std::string_view, std::string_view>> renamed = {};
  std::vector<std::pair<std::string_view, char>> letters = {};  // short names
  std::function<bool(const Field& key)> without = {};  // the keys that are left out; empty: none
};

class VerbKeyList {
 public:
  // `fields`: of a scenario; `engine`: of an engine's profile. Both outlive the list.
  VerbKeyList(const Fields& fields, const Fields& engine) : fields_(fields), engine_(engine) {}
  VerbKeyList(const VerbKeyList&) = delete;
  VerbKeyList& operator=(const VerbKeyList&) = delete;

  // A key by its path. REQUIRES that there is one. GPUs, models, devices and names of one letter
  // are short names, too.
  void add_key(const std::string& path, std::string_view heading);
  // The keys of a group, without those that are groups themselves.
  void add_group(const std::string& group, const GroupNames& names = {});
  // The keys of an engine's profile that vLLM has flags for; `queues`: also those that say which
  // request is served first.
  void add_engine_keys(bool queues);

  const std::deque<VerbKey>& all() const { return keys_; }
  const Fields& fields() const { return fields_; }
  // By any of its names, with '-' or '_'; nullptr if there is none.
  const VerbKey* find(std::string_view name) const;

 private:
  void add(const Field& field, const std::string& path, std::vector<std::string> names,
           std::string_view heading);

  const Fields& fields_;
  const Fields& engine_;
  std::deque<VerbKey> keys_;
};

// The groups of a deployment: model_overrides, hardware, parallel, precision, engine, workload,
// cost and energy. `batch`: all keys of `workload`; otherwise those that services have, too.
void add_deployment_keys(VerbKeyList& keys, bool batch);
// The keys of `workload` that services and plans have.
void add_workload_keys(VerbKeyList& keys);

// The path of the constants of an engine's profile in a scenario.
inline constexpr std::string_view kEngineKeys = "engine.overrides.";

}  // namespace orrery
