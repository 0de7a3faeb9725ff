#include "apps/cli/output/output_compare.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/output/output.h"

namespace orrery::cli {

std::string figures_table(const std::vector<ComparedFigure>& figures) {
  std::string out = fmt::format("{:<18} {:>9} {:>9} {:<10} {:>7} {}\n", "", "measured", "predicted",
                                "", "diff", "90 % interval");
  bool all_within = true;
  for (const ComparedFigure& f : figures) {
    out += fmt::format("{:<18} {:>9} {:>9} {:<10} {:>+6.1f}% {}{}\n", f.name, number(f.measured),
                       number(f.predicted.value), f.predicted.unit, f.difference(),
                       interval90(f.predicted), f.within() ? "" : " *");
    all_within &= f.within();
  }
  return all_within ? out : out + "* the measurement lies outside the interval\n";
}

nlohmann::ordered_json figures_json(const std::vector<ComparedFigure>& figures) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const ComparedFigure& f : figures) {
    j[f.name] = {{"unit", f.predicted.unit},
                 {"measured", f.measured},
                 {"predicted", f.predicted.value},
                 {"interval90", {f.predicted.low90, f.predicted.high90}},
                 {"difference_percent", f.difference()},
                 {"within", f.within()}};
  }
  return j;
}

}  // namespace orrery::cli
