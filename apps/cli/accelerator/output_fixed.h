// Renders layers on systolic arrays and under dataflows of directives.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/accelerator/dataflow/directive_hardware.h"
#include "orrery/accelerator/systolic/scalesim_input.h"

namespace orrery::cli {

struct SystolicAnswer {
  ScaleSimConfig config;
  std::vector<ScaleSimLayer> layers;
  std::vector<SystolicRun> runs;  // one for each layer, of one of its products
};

// A line for each layer and their sum; 80 columns.
std::string table(const SystolicAnswer& a);
// The columns of SCALE-Sim's reports (COMPUTE_REPORT.csv, DETAILED_ACCESS_REPORT.csv).
std::string csv(const SystolicAnswer& a);
nlohmann::ordered_json to_json(const SystolicAnswer& a);

struct DirectiveAnswer {
  DirectiveHardware hardware;
  std::vector<DirectiveLayer> layers;
  std::vector<DirectiveCost> costs;
};

// A line for each layer and their sum, and the buffers and networks that are too small; 80 columns.
std::string table(const DirectiveAnswer& a);
std::string csv(const DirectiveAnswer& a);
nlohmann::ordered_json to_json(const DirectiveAnswer& a);

}  // namespace orrery::cli
