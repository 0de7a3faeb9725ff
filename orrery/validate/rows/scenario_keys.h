// The scenario document that asks for a measured row's figure, written key by key.
//
//   ScenarioKeys keys;
//   keys.set("model", "llama-3-70b");
//   keys.set("parallel.tp", 8);
//   keys.yaml();                    // "{model: llama-3-70b, parallel: {tp: 8}}"
//   runner.run(keys.scenario());    // what `orrery run` answers for a file with that line
//
// Rows are asked through documents, so that everything that a validation asks can be asked by a
// user in the same words.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/document/scenario_sweep.h"

namespace orrery {

class ScenarioKeys {
 public:
  // Sets a key by its path ("workload.isl"); a key that is set already keeps its place.
  void set(std::string_view key, std::string value);
  void set(std::string_view key, const char* value) { set(key, std::string(value)); }
  template <std::integral T>
  void set(std::string_view key, T value) {
    set(key, std::to_string(value));
  }
  // Sets a constant of the engine's profile ("scheduler.max_num_seqs"), below engine.overrides.
  void set_engine(std::string_view key, std::string value);
  void erase(std::string_view key);
  // Erases every key below a group ("workload").
  void erase_group(std::string_view group);

  // The value of a key as it was written; empty if it is not set.
  std::string text(std::string_view key) const;
  std::string engine_text(std::string_view key) const;
  // The value of a key that holds a whole number; `otherwise` if it is not set.
  std::int64_t number(std::string_view key, std::int64_t otherwise = 1) const;

  Node document() const;
  // The document on one line, in YAML's flow style.
  std::string yaml() const;
  // InputError as read_scenario.
  ScenarioSweep scenario() const { return read_scenario(all_kinds(), document()); }

 private:
  std::vector<std::pair<std::string, std::string>> values_;  // in the order in which they were set
};

}  // namespace orrery
