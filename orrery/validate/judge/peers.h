// Adds the predictions of other tools to judged rows (ValidationRow::peers).
#pragma once

#include <filesystem>
#include <vector>

#include "orrery/validate/report/report.h"

namespace orrery {

// Adds AIConfigurator's TTFT and TPOT of closed loops (peer_predictions_aiconfigurator.csv, matched
// by the row's source reference) and the figures that simulators predict for whole runs
// (peer_errors.csv, where "Llama-3.1-8B on RTX4090, ..." is the run whose name has both). `dir` is
// data/inference. An absent file adds nothing.
void add_inference_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows);

// Adds the predictions of the roofline, Habitat and Li et al. to the rows of neusight_labels.csv.
// NeuSight's own predictions are rows of the report (neusight.h). `dir` is data/training.
void add_neusight_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows);

}  // namespace orrery
