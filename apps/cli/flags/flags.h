// Flags made from declared fields: one flag for a key of a scenario.
//
// The flags of a command line are collected as a document of the same shape as a scenario file, so
// that flags, --set, --sweep and files go through one reader and one set of checks
// (scenario_sweep.h). A flag takes lists and ranges where its key does ("1,2,4", "1-64*2"); the
// reader makes a sweep of them.
//
// --set KEY=VALUE writes any key of a scenario file. A key of the engine's profile may be written
// short, since its name is unique: engine.max_num_seqs or engine.scheduler.max_num_seqs for
// engine.overrides.scheduler.max_num_seqs. --sweep KEY=VALUES asks for several values of any key,
// which may be written as the flag's name: --sweep pp=1,2,4.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/document/scenario_keys.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/workload/plan/engine.h"

namespace orrery::cli {

// A field's line of help: its doc, choices and default.
std::string help_of(const Field& field);
// The placeholder of a field's value in the help: "N", "NAME", "SIZES".
std::string type_name(const Field& field);
// The name of a key as the name of a flag: "--max-num-seqs" of "max_num_seqs".
std::string flag_name(std::string key);
// The names of a field as CLI11 takes them: "--tp,--tensor-parallel-size".
std::string flag_names(const Field& field);

// Whether the document, or its sweep, has a value at `path`.
bool is_set(const Node& document, std::string_view path);

// InputError: no --model or no --gpu; `example` is a command that has them.
// `gpu`: the key of --gpu.
void check_asked(const Node& document, std::string_view example,
                 std::string_view gpu = "hardware.gpu");

// The flags of one verb. It must outlive the parsing of the command line.
class KeyFlags {
 public:
  KeyFlags();
  KeyFlags(const KeyFlags&) = delete;  // flags refer to it
  KeyFlags& operator=(const KeyFlags&) = delete;

  const Fields& fields() const { return fields_; }         // of a scenario
  const Fields& engine_fields() const { return engine_; }  // of an engine's profile

  // A flag for the field that the document has at `path`. `names` are those that CLI11 takes, such
  // as "-m,--model". Returns it, for its group in the help.
  CLI::Option* add(CLI::App& app, const Field& field, const std::string& path,
                   const std::string& names, const std::string& help);
  // A flag for the key at `path` of a scenario, with the names and the help of its declaration.
  void add_key(CLI::App& app, const std::string& path, const std::string& help_group);
  // A flag for every key of `group`. The key `word` is no flag but the word after the verb.
  void add_group(CLI::App& app, const std::string& group, const std::string& word = "");
  // --set and --sweep.
  void add_assignments(CLI::App& app, const std::string& help_group);

  // The value that the document has at `path` where nothing is given.
  void preset(const std::string& path, const std::string& text);

  // Lays what was given over `document`: first --set, then the flags, then --sweep. A value that is
  // given ends a sweep of the same key in the document. InputError: no such key.
  void apply(Node& document) const;
  // The presets, and what was given over them.
  Node document() const;

 private:
  struct Key {
    std::string flag;  // its long name: "--isl"
    const Field* field;
    std::string path;
  };
  // The path of a key as --set and --sweep have it; `flag` is which of the two, for messages.
  std::string full_path(const std::string& key, const char* flag) const;
  const Field* field_at(const std::string& path) const;

  ScenarioValues defaults_;  // the defaults that the declarations show
  EngineProfile profile_;
  Fields fields_, engine_;
  std::deque<Key> keys_;  // those that have a flag
  Node presets_;
  Node given_;  // by flags
  std::vector<std::string> assignments_, sweeps_;
};

}  // namespace orrery::cli
