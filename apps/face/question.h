// The question of a verb, given key by key, as the document of a scenario.
//
// The values that a face was given are collected as a document of the same shape as a scenario
// file, so that flags, keyword arguments, forms and files go through one reader and one set of
// checks (scenario_sweep.h). A key takes lists and ranges ("1,2,4", "1-64*2"); the reader makes a
// sweep of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/face/verb_keys.h"
#include "orrery/base/bundle.h"
#include "orrery/base/node.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery::face {

// The name of a scenario that no file and no key names.
inline constexpr const char* kUnnamed = "command line";

struct Question {
  explicit Question(const VerbKeys& of) : keys(&of) {}
  explicit Question(std::string_view verb) : Question(VerbKeys::of(verb)) {}

  const VerbKeys* keys;
  Node given;                            // by keys, at their paths
  std::vector<std::string> assignments;  // KEY=VALUE, of any key of a scenario
  std::vector<std::string> sweeps;       // KEY=VALUES
  GivenTexts texts;                      // the verb's own words (Verb::texts)

  // Gives keys by name. A name is that of a key of the verb, with '-' or '_', the dotted path of a
  // key of a scenario, a group of a scenario with a map, one of the verb's texts, or `set` or
  // `sweep` (maps of dotted keys). Null is as not given. InputError: another name, with the nearest
  // one.
  void give(const Node& map);

  // Lays what was given over `document`: texts, then assignments, keys and sweeps. A value that is
  // given ends a sweep of the same key in the document. InputError: no such key.
  void lay_over(Node& document) const;

  // The document of the question. InputError: it lacks what the verb needs, such as a model.
  Node document(const Bundle& bundle) const;
  // The points that it asks for.
  ScenarioSweep points(const Bundle& bundle) const;

 private:
  bool give_text(const std::string& name, const Node& value);
  void give_one(const std::string& name, const Node& value);
};

}  // namespace orrery::face
