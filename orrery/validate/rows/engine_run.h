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
#include "orrery/model/architecture/architecture.h"
#include "orrery/scenario/kinds/service/service_config.h"
#include "orrery/scenario/setup/served_model.h"
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
  Scenario scenario;                      // from the settings
  std::optional<std::int64_t> kv_blocks;  // that the engine reported
  std::vector<RunRequest> requests;

  // The configuration of its simulation.
  SimulationConfig config() const;
  const ServedModel& served() const { return *served_; }
  const StepModel& steps() const { return *served_->steps; }
  const MemoryModel& memory() const { return *served_->memory; }

 private:
  std::unique_ptr<Facts> facts_;  // which served_ borrows
  std::shared_ptr<const ServedModel> served_;
};

// The folders of `dir` that hold a whole run, by name; only the one called `only` unless that is
// empty. InputError if there is none.
std::vector<std::filesystem::path> run_folders(const std::filesystem::path& dir,
                                               const std::string& only);

}  // namespace orrery
