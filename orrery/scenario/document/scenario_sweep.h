// A scenario document read into the points that it asks for. A list or a range at any key is a
// sweep: the document asks once for each combination of the values.
//
//   parallel: {tp: [4, 8]}
//   workload: {isl: [1024, 8192], batch: 1-64*2}
//   sweep: {precision: {quantization: [fp8, bf16]}, load: {max_concurrency: [1, 8, 64]}}
//
// Keys of `sweep` are written as they stand in a scenario. A list at the key itself means the same.
// The last key runs fastest: first the keys of `sweep` in their order, then other keys with lists
// in the order of the document, then the sizes that every question of a kind lists by itself
// (numbers of GPUs first, then as they are declared: tp, pp, rate, isl, osl, batch).
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orrery/scenario/kind/kinds.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

struct ScenarioSweep {
  struct Key {
    std::string path;                 // "load.max_concurrency"
    std::vector<std::string> values;  // as written
  };

  ScenarioSweep() = default;
  // One point.
  ScenarioSweep(Scenario scenario);  // NOLINT: a scenario is a sweep of one

  std::string name, question;
  std::vector<Key> keys;         // stated by each point under the key's last name
  std::vector<Key> sizes;        // sizes that every point of the kind of question states
  std::vector<Scenario> points;  // one for each combination; at least one

  // Number of consecutive points that differ only in `sizes`.
  std::size_t group() const;
};

// Reads a document that asks one of `kinds`.
// InputError with file:line:key: what a key does not take, an unknown key, a value that has an
// effect at no point, more than 10,000 combinations of keys or 100,000 points. A document with an
// `include` is read by read_scenario_document first (scenario_file.h).
ScenarioSweep read_scenario(const Kinds& kinds, const Node& document);
ScenarioSweep read_scenario(const Kinds& kinds, const std::filesystem::path& file);

// InputError at the key `format` of a file: it is no version, or one that this program does not
// read.
void check_format(const Node& document);

// `document` with all values of the sweep. `document` is to_json of the first point, or its
// resolved configuration.
nlohmann::ordered_json with_sweep(nlohmann::ordered_json document, const ScenarioSweep& sweep);
// A document that read_scenario reads back as the same sweep.
nlohmann::ordered_json to_json(const ScenarioSweep& sweep);

// The values of `keys` at a point, under the keys' last names where these differ.
nlohmann::ordered_json swept_values(const ScenarioSweep& sweep, std::size_t point);

}  // namespace orrery
