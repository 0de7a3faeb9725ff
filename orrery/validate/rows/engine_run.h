// Runs as in data/inference/request_level: folders with config.json (the engine's own settings),
// requests.csv.gz and timeseries.csv.gz; and the models that predict such a run from its settings
// alone.
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

// One request as the engine recorded it; times in seconds.
struct RunRequest {
  double arrival, queued, scheduled, first, last;
  std::int64_t input, output;
};

class EngineRun {
 public:
  // `dir`: the run's folder, named GPU_... InputError: a file that is missing or malformed. NoData,
  // Infeasible: as the models.
  EngineRun(const std::filesystem::path& dir, const Bundle& bundle);

  std::string name;
  Gpu gpu;
  Architecture model;
  ParallelPlan plan;
  Deployment deployment;
  Scenario scenario;                      // from the settings
  std::optional<std::int64_t> kv_blocks;  // that the engine reported
  std::vector<RunRequest> requests;

  // The engine as it is simulated.
  SimulationConfig config() const;
  const StepModel& steps() const { return *steps_; }
  const MemoryModel& memory() const { return *memory_; }

 private:
  std::unique_ptr<KernelModel> kernels_;
  std::unique_ptr<NetworkModel> network_;
  std::unique_ptr<StepModel> steps_;
  std::unique_ptr<MemoryModel> memory_;
};

// Folders of `dir` that hold a whole run, by name; `only`: empty or the one wanted. InputError if
// there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& dir,
                                               const std::string& only);

}  // namespace orrery
