// Compares a service's measured figures with the simulation of the same load, and says what may
// cause the differences.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/scenario/measured/compared_figure.h"
#include "orrery/scenario/measured/service_result.h"

namespace orrery {

struct Comparison {
  std::vector<ComparedFigure> figures;
  // Possible causes of the differences, the most likely first; empty if all measurements lie in
  // their intervals. A cause names a key of the engine only if simulating with that key set moved
  // the figure towards the measurement.
  std::vector<std::string> causes;
};

// Simulates the question again with one key of a scenario file changed.
using Resimulate = std::function<Point(const std::string& key, const std::string& value)>;

// `predicted` is the simulated point of the measured load, and `resolved` the configuration of its
// answer. Without `again` no keys are advised.
Comparison compare(const ServiceResult& measured, const Point& predicted,
                   const nlohmann::ordered_json& resolved, const Resimulate& again = {});

}  // namespace orrery
