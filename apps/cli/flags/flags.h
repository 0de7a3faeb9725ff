// Flags made from declared fields: every leaf of a Scenario is a flag of the same name, and so are
// the keys of an engine's profile that vLLM has flags for.
//
// The name is the field's with '_' as '-' (`--max-num-seqs`). What was given is collected as a
// document of the same shape as a scenario file, so that flags, --set and files go through one
// reader and one set of checks.
//
// --set KEY=VALUE writes any key of a scenario file. Keys of the engine's profile may be written
// short, since their names are unique: engine.max_num_seqs or engine.scheduler.max_num_seqs for
// engine.overrides.scheduler.max_num_seqs.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/scenario_keys.h"
#include "orrery/scenario/question/scenario_sweep.h"

namespace orrery::cli {

// help_of is the line of help of a field: its doc, choices and default. type_name is the
// placeholder of its value, such as TEXT.
std::string help_of(const Field& field);
std::string type_name(const Field& field);

// Sets what a flag says of `field`. Several values of a key that takes one ("h100,a100", "1-8*2")
// are a sweep of it, as under `sweep` of a scenario file.
void set_flag(Node& document, const Field& field, const std::string& path, const std::string& text,
              const std::string& flag);

// Whether the document, or its sweep, has a value at `path`.
bool is_set(const Node& document, std::string_view path);

// InputError: no --model or no --gpu; `example` is a command that has them.
void check_asked(const Node& document, std::string_view example);

class ScenarioFlags {
 public:
  // The kind of question: a workload in closed form, or a service under load.
  enum class Of { kWorkload, kService };
  // Adds the flags of the scenario and of the engine to `app`, and --set.
  explicit ScenarioFlags(CLI::App& app, Of of = Of::kWorkload);

  // Lays what was given over `document`: first --set, then the flags.
  void apply(Node& document) const;

  // The scenario that the flags describe. InputError: --model or --gpu is missing.
  ScenarioSweep scenario() const;

 private:
  struct Given {
    const Field* field;
    std::string path;  // in the document: "workload.isl"
    std::string flag;  // as the user knows it: "--isl"
    std::string text;
    bool set = false;
  };

  void add_leaves(CLI::App& app, const Fields& fields, const std::string& prefix,
                  const std::string& group);
  // `names` as CLI11 takes them: "-m,--model".
  void add_flag(CLI::App& app, const Field& field, const std::string& path,
                const std::string& names, const std::string& group);
  std::string full_path(const std::string& key) const;  // of --set

  ScenarioValues scenario_;  // holds the defaults that the declarations show
  EngineProfile engine_;
  Fields scenario_fields_, engine_fields_;
  Of of_;
  std::string verb_;
  std::deque<Given> given_;
  std::vector<std::string> assignments_;  // of --set
  std::string slo_;                       // of --slo
  std::vector<std::string> goodput_;      // of --goodput
};

// --set KEY=VALUE for a verb that collects a document by itself; defined before its other flags, so
// that they win.
void add_set_flag(CLI::App& app, const std::shared_ptr<Node>& document);

}  // namespace orrery::cli
