// The self-contained page of a drawing: title, picture, legend, and the drawn values as a table.
#pragma once

#include <string>

namespace orrery::cli {

struct PlotPage {
  std::string title, label;  // `label` is the text of the picture for screen readers
  double width, height;      // of the picture, pixels
  std::string svg;           // elements of the picture
  std::string legend;        // <li> elements
  std::string header, rows;  // <th> elements and <tr> elements
};

std::string html(const PlotPage& page);

}  // namespace orrery::cli
