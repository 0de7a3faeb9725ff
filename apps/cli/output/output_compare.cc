#include "apps/cli/output/output_compare.h"

#include <fmt/format.h>

#include "apps/cli/flags/document.h"
#include "apps/cli/output/output.h"
#include "apps/face/pictures/compared.h"

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

std::string compared_page(const std::string& title, const std::vector<ComparedPart>& parts) {
  std::string out = fmt::format("<h1>{}</h1>\n", escaped_html(title));
  for (const ComparedPart& part : parts) {
    if (!part.title.empty()) out += fmt::format("<h2>{}</h2>\n", escaped_html(part.title));
    out += face::draw_compared(part.figures);
    out +=
        "<table><tr><th>figure<th class=\"r\">measured<th class=\"r\">predicted<th>unit"
        "<th class=\"r\">difference<th>90 % interval</tr>\n";
    for (const ComparedFigure& f : part.figures) {
      out += fmt::format(
          "<tr><td>{}<td class=\"r\">{}<td class=\"r\">{}<td>{}<td class=\"r\">{:+.1f} "
          "%<td{}>{}</tr>\n",
          escaped_html(f.name), number(f.measured), number(f.predicted.value),
          escaped_html(f.predicted.unit), f.difference(), f.within() ? "" : " class=\"fail\"",
          interval90(f.predicted));
    }
    out += "</table>\n";
    if (part.remarks.empty()) continue;
    out += "<ul>\n";
    for (const std::string& remark : part.remarks)
      out += fmt::format("<li>{}\n", escaped_html(remark));
    out += "</ul>\n";
  }
  return html_page(title, out);
}

}  // namespace orrery::cli
