// A recorded run of an engine as in data/inference/request_level, and the models that predict it
// from its settings alone. A run is a folder with config.json (the settings), requests.csv.gz and
// timeseries.csv.gz.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/memory_model.h"
#include "orrery/model/architecture.h"
#include "orrery/scenario/service/service_config.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/step/step_model.h"

namespace orrery {

// One request as the engine recorded it. Times are in seconds.
struct RunRequest {
  double arrival, queued, scheduled, first, last;
  std::int64_t input, output;
};

class EngineRun {
 public:
  // Reads the run's folder, whose name begins with the GPU and '_'. InputError: a file is missing
  // or malformed. NoData and Infeasible as the models.
  EngineRun(const std::filesystem::path& dir, const Bundle& bundle);

  std::string name;
  Gpu gpu;
  Architecture model;
  ParallelPlan plan;
  Deployment deployment;
  Scenario scenario;                      // the question that the settings ask
  std::optional<std::int64_t> kv_blocks;  // number of KV blocks that the engine reported
  std::vector<RunRequest> requests;

  // The configuration of its simulation.
  SimulationConfig config() const;
  const StepModel& steps() const { return *steps_; }
  const MemoryModel& memory() const { return *memory_; }

 private:
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;
  std::unique_ptr<StepModel> steps_;
  std::unique_ptr<MemoryModel> memory_;
};

// The folders of `dir` that hold a whole run, by name; only the one called `only` unless that is
// empty. InputError if there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& dir,
                                               const std::string& only);

}  // namespace orrery
