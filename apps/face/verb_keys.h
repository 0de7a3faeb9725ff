// A verb that asks a scenario, with its keys. Every face offers the verbs of all kinds of questions
// (orrery/scenario/kind/verb.h). Two more are the faces' own: `run` answers documents and takes the
// keys of `estimate`; `compare` asks about a measured service with the keys of `simulate`.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/kind/verb.h"
#include "orrery/workload/plan/engine.h"

namespace orrery::face {

class VerbKeys {
 public:
  // A verb and its keys, which are made once. InputError: no verb with this name asks a scenario.
  static const VerbKeys& of(std::string_view verb);
  // The verbs of the kinds, in the order of lists.
  static const std::vector<std::string>& verbs();
  // These and the faces' own.
  static const std::vector<std::string>& names();

  VerbKeys(const VerbKeys&) = delete;  // keys refer to its fields
  VerbKeys& operator=(const VerbKeys&) = delete;

  const Verb& verb() const { return verb_; }
  const std::deque<VerbKey>& all() const { return keys_.all(); }
  // By any of its names, with '-' or '_'; nullptr if there is none.
  const VerbKey* find(std::string_view name) const { return keys_.find(name); }

  const Fields& fields() const { return keys_.fields(); }  // of a scenario
  // The field at a path; nullptr if there is none.
  const Field* field_at(const std::string& path) const;
  // The whole path of a key as --set and --sweep take it. A key of the engine's profile may be
  // short, since its name is unique: engine.max_num_seqs or engine.scheduler.max_num_seqs for
  // engine.overrides.scheduler.max_num_seqs. `place` is what messages call its place.
  std::string full_path(const std::string& key, std::string_view place) const;

 private:
  explicit VerbKeys(const Verb& verb);

  Verb verb_;
  EngineProfile profile_;  // the defaults that the declarations show
  Fields engine_;
  VerbKeyList keys_;
};

}  // namespace orrery::face
