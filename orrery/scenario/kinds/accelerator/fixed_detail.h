// Layers on systolic arrays, and under dataflows of directives.
#pragma once

#include <string>
#include <vector>

#include "orrery/accelerator/dataflow/directive_hardware.h"
#include "orrery/accelerator/systolic/scalesim_input.h"
#include "orrery/scenario/kinds/accelerator/accelerator_detail.h"

namespace orrery {

struct SystolicDetail : AcceleratorDetail {
  ScaleSimConfig config;
  std::vector<ScaleSimLayer> layers;
  std::vector<SystolicRun> runs;  // one for each layer, of one of its products

  // A line for each layer and their sum.
  std::string summary() const override;
  // The columns of SCALE-Sim's reports (COMPUTE_REPORT.csv, DETAILED_ACCESS_REPORT.csv).
  std::string csv() const override;
  nlohmann::ordered_json json() const override;
  std::vector<DetailPicture> pictures() const override;
};

struct DirectiveDetail : AcceleratorDetail {
  DirectiveHardware hardware;
  std::vector<DirectiveLayer> layers;
  std::vector<DirectiveCost> costs;

  // A line for each layer and their sum, and the buffers and networks that are too small.
  std::string summary() const override;
  std::string csv() const override;
  nlohmann::ordered_json json() const override;
  std::vector<DetailPicture> pictures() const override;
};

}  // namespace orrery
