// Measured figures of a real service or training job, and the prediction of the same run.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/node.h"
#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/measured/compared_figure.h"
#include "orrery/scenario/measured/service_comparison.h"
#include "orrery/scenario/measured/training_log.h"

namespace orrery::face {

// A run of a load generator, which is the `number`th of `of` in its file, and its simulation.
struct ComparedRun {
  std::size_t number = 1, of = 1;
  ServiceResult measured;
  Comparison comparison;
};

// The runs of a result file, or one of them (1 is the first; 0: all), each compared with the
// service that `document` describes. `meter` is told of the simulated requests; null: nobody looks.
std::vector<ComparedRun> compare_service(const std::string& file, std::size_t run,
                                         const Node& document, const Bundle& bundle,
                                         WorkMeter* meter = nullptr);

// The log of a training job, compared with the answer for it.
struct ComparedJob {
  TrainingLog log;
  std::string contradiction;  // where the log contradicts the question; empty: nowhere
  std::vector<ComparedFigure> figures;
};
ComparedJob compare_training(const std::string& file, const Answer& answer);

// The JSON that -o json prints.
nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures);
std::string json_text(const std::vector<ComparedRun>& runs);
std::string json_text(const ComparedJob& job);

}  // namespace orrery::face
