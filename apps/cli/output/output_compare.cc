#include "apps/cli/output/output_compare.h"

#include <fmt/format.h>

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

}  // namespace orrery::cli
