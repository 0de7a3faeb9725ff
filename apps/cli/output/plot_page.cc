#include "apps/cli/output/plot_page.h"

#include <fmt/format.h>

#include "apps/cli/output/output.h"

namespace orrery::cli {

std::string html(const PlotPage& p) {
  return fmt::format(
      "<!doctype html>\n<html lang=en><meta charset=utf-8><title>{0}</title>\n"
      "<style>body{{font:15px sans-serif;margin:2em auto;max-width:{1}px}}svg "
      "text{{font-size:12px}}.grid{{stroke:#ddd}}td,th{{padding:2px 10px;text-align:right}}"
      "</style>\n<h1>{0}</h1>\n<svg viewBox='0 0 {1} {2}' role=img aria-label='{3}'>{4}</svg>\n"
      "<ul>{5}</ul>\n<table><tr>{6}</tr>\n{7}</table>\n</html>\n",
      escaped_html(p.title), p.width, p.height, p.label, p.svg, p.legend, p.header, p.rows);
}

}  // namespace orrery::cli
