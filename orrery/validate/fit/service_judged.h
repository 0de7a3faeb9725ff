// How the rows of measured services are met by a fit, and what a fit says of them in its files.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/quantile.h"
#include "orrery/validate/fit/fit_services.h"

namespace orrery {

using ServiceFigures =
    std::array<std::optional<double>, 2>;  // log(predicted / measured): TPOT, TTFT

// Absolute errors of both figures, in percent.
struct Percents {
  std::vector<double> of[2];
  void add(const ServiceFigures& e) {
    for (std::size_t i = 0; i < 2; ++i)
      if (e[i]) of[i].push_back(100 * std::abs(std::expm1(*e[i])));
  }
  double median(std::size_t i) const { return of[i].empty() ? 0 : quantile(of[i], 0.5); }
};

// Figures of the rows of one class of GPUs.
struct JudgedClass {
  Percents before, after, left_out;
  // By the group that is left out: rows that are fitted otherwise, all rows, and constants.
  std::map<std::string, std::vector<LeftOut>> rows, firsts;
  std::map<std::string, std::vector<double>> without;
  std::vector<double> constants;  // with all groups
  bool shapes = false;
};
// The classes of an engine.
using JudgedClasses = std::vector<JudgedClass>;

// Writes the errors and texts of the classes `fitted` of an engine, which `judged` are.
void write_texts(const JudgedClasses& judged, const std::string& date,
                 std::vector<FittedServices>& fitted);

}  // namespace orrery
