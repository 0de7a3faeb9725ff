// Flags of the verbs whose question is a deployment: estimate, memory, simulate, run and compare.
//
// Every key of the deployment is a flag of the same name, and so are the keys of the workload or of
// the load, and the keys of an engine's profile that vLLM has flags for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/cli/flags/flags.h"

namespace orrery::cli {

class ScenarioFlags : public KeyFlags {
 public:
  // The kind of question: a workload in closed form, a service under load, or a plan for one.
  enum class Of { kWorkload, kService, kPlan };
  explicit ScenarioFlags(CLI::App& app, Of of = Of::kWorkload);

  // Lays what was given over `document`: the limits of --slo and --goodput, then all other flags.
  void apply(Node& document) const;
  // The document that the flags describe. InputError: --model or --gpu is missing, as in
  // `example`.
  Node document(const std::string& example) const;
  // The question that the flags describe.
  ScenarioSweep scenario() const;

 private:
  void add_leaves(CLI::App& app, const Field& group);
  // Whether the verb has flags for the keys of a group.
  bool has(const Field& group) const;
  // Flags of a run that is planned: those of `training` and `chance` that the plan does not choose.
  void add_run(CLI::App& app);
  void add_engine_keys(CLI::App& app);
  void add_limits(CLI::App& app);

  Of of_;
  std::string verb_;
  bool train_ = false;                // of --train
  std::string slo_;                   // of --slo
  std::vector<std::string> goodput_;  // of --goodput
};

}  // namespace orrery::cli
