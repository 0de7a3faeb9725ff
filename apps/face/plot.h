// One small writer of pictures: a plot of lines, bands, dots and boxes over two axes, as SVG that
// needs nothing else and follows the reader's light or dark colours.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace orrery::face {

struct PlotAxis {
  std::string label;
  bool logarithmic = false;        // REQUIRES all values > 0
  std::vector<std::string> names;  // not empty: values are places 0, 1, ... with these names
};

// The series that has the colour of the text.
inline constexpr int kPlotInk = -1;

class Plot {
 public:
  Plot(std::string title, PlotAxis x, PlotAxis y);

  using Points = std::vector<std::pair<double, double>>;
  struct Band {
    double x, low, high;
  };
  // `series` chooses the colour; a label makes an entry of the legend.
  void line(int series, const Points& points, const std::string& label = "", bool dashed = false);
  void band(int series, const std::vector<Band>& bands);
  // `text` is shown under the pointer. `size`: its radius in pixels.
  void dot(int series, double x, double y, double size, const std::string& text);
  // A box from one x to another at height y, `half` above and below.
  void box(int series, double from, double to, double y, double half, const std::string& text);
  // An upright bar from zero.
  void bar(int series, double x, double y, double half, const std::string& text);
  // An upright line in the colour of the text at x, `half` above and below y.
  void mark(double x, double y, double half, const std::string& text);
  void key(int series, const std::string& label);

  // The picture, as an element of a page. Axes hold all that was drawn. Its height follows the
  // number of names beside the axis.
  std::string svg() const;

 private:
  struct Mark {
    enum class Kind { kLine, kBand, kDot, kBox, kBar, kMark } kind;
    int series;
    std::vector<Band> at;  // a point has low == high; a box from x = at[0].x to at[1].x
    double size = 0;
    bool dashed = false;
    std::string text;
  };
  struct Scale;
  struct Frame;
  void reach(double x, double y);
  std::string legend(Frame& frame) const;
  std::string axes(const Frame& frame) const;
  std::string drawn(const Mark& mark, const Frame& frame) const;

  std::string title_;
  PlotAxis x_, y_;
  std::vector<Mark> marks_;
  std::vector<std::pair<int, std::string>> keys_;
  double least_x_, most_x_, least_y_, most_y_;
};

// The text in an element or attribute.
std::string escaped_xml(const std::string& text);
// At most four digits, as people read them.
std::string short_number(double v);

}  // namespace orrery::face
