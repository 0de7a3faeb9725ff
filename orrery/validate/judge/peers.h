// What other tools predict for rows that we judge: put into ValidationRow::peers.
#pragma once

#include <filesystem>
#include <vector>

#include "orrery/validate/report/report.h"

namespace orrery {

// `dir`: data/inference. AIConfigurator's TTFT and TPOT of closed loops
// (peer_predictions_aiconfigurator.csv, by the source's reference of a row), and what simulators
// predict for whole runs (peer_errors.csv: "Llama-3.1-8B on RTX4090, ..." is the run whose name has
// both). Files that are absent add nothing.
void add_inference_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows);

// `dir`: data/training. The roofline, Habitat and Li et al. on the rows of neusight_labels.csv;
// NeuSight's own predictions are rows of the report (neusight.h).
void add_neusight_peers(const std::filesystem::path& dir, std::vector<ValidationRow>& rows);

}  // namespace orrery
