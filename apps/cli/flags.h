// Flags made from declared fields: every leaf of a Scenario and of an EngineProfile is a flag of the same name.
//
// The name is the field's with '_' as '-' (`--max-num-seqs`); names and aliases are accepted with '_' too. What
// was given is collected as a document of the same shape as a scenario file, so that flags, --set and files go
// through one reader and one set of checks.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/scenario.h"

namespace orrery::cli {

class ScenarioFlags {
 public:
  // Adds the flags of the scenario and of the engine to `app`, and --set.
  explicit ScenarioFlags(CLI::App& app);

  // What was given, laid over `document`: --set first, then flags.
  void apply(Node& document) const;

  // As a scenario, without a file.
  Scenario scenario() const;

 private:
  void add_leaves(CLI::App& app, const Fields& fields, const std::string& prefix, const std::string& group);

  struct Given {
    std::string path;   // in the document: "workload.isl"
    std::string flag;   // as written: "--isl"
    std::string text;
    bool set = false;
  };
  Scenario scenario_;      // holds the defaults that the declarations show
  EngineProfile engine_;
  Fields scenario_fields_, engine_fields_;
  std::deque<Given> given_;
  std::vector<std::string> assignments_;  // of --set
};

}  // namespace orrery::cli
