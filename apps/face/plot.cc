#include "apps/face/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::face {
namespace {

constexpr double kWidth = 900, kHeight = 440, kLeft = 78, kRight = 20, kBottom = 52;
constexpr double kMostLeft = 380;                         // longer names beside the axis are cut
constexpr double kKeyTop = 32, kKeyLine = 20, kRow = 30;  // of the legend; beside names
constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr int kSeries = 8;

constexpr const char* kPictureStyle =
    ".o{font:13px system-ui,sans-serif}.o .t{fill:#1a1f27}"
    ".o .s{fill:#596273}.o .g{stroke:#dde1e8}.o .a{stroke:#8a93a3}.o .p{fill:#fff}"
    ".o .c0{--c:#1f5fa8}.o .c1{--c:#c2571a}.o .c2{--c:#2f7d4f}.o .c3{--c:#7b3fa0}"
    ".o .c4{--c:#8a6d1d}.o .c5{--c:#0f7f8c}.o .c6{--c:#a8325f}.o .c7{--c:#5b6472}"
    ".o .ci{--c:#1a1f27}.o .l{fill:none;stroke:var(--c);stroke-width:2}"
    ".o .f{fill:var(--c)}.o .b{fill:var(--c);opacity:.16}"
    "@media(prefers-color-scheme:dark){.o .t{fill:#e7eaef}.o .s{fill:#a3adbc}"
    ".o .g{stroke:#323945}.o .a{stroke:#7c8799}.o .p{fill:#1a1e25}.o .c0{--c:#7fb2ec}"
    ".o .c1{--c:#f0a06a}.o .c2{--c:#79c598}.o .c3{--c:#c79ae6}.o .c4{--c:#d9bd68}"
    ".o .c5{--c:#6ecbd6}.o .c6{--c:#ec8fb1}.o .c7{--c:#a9b2c0}.o .ci{--c:#e7eaef}}";

std::string colour_class(int series) {
  return series == kPlotInk ? "ci" : fmt::format("c{}", series % kSeries);
}

constexpr double kLetter = 7.2;  // pixels, on average

double text_width(const std::string& text) { return kLetter * static_cast<double>(text.size()); }

// The name, with dots in place of what has no room beside the axis.
std::string cut_name(const std::string& name) {
  constexpr auto kMost = static_cast<std::size_t>((kMostLeft - 16) / kLetter);
  if (name.size() <= kMost) return name;
  std::size_t end = kMost - 2;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0) == 0x80) --end;  // UTF-8
  return name.substr(0, end) + "..";
}

// Round values from `low` to `high`, some five of them.
std::vector<double> ticks(double low, double high, bool logarithmic) {
  std::vector<double> out;
  if (logarithmic) {
    const int from = static_cast<int>(std::ceil(std::log10(low) - 1e-9));
    const int to = static_cast<int>(std::floor(std::log10(high) + 1e-9));
    for (int d = from; d <= to; ++d) out.push_back(std::pow(10, d));
    if (out.size() >= 2) return out;
    out.clear();
  }
  const double raw = (high - low) / 5, power = std::pow(10, std::floor(std::log10(raw)));
  const double step = raw / power < 1.5 ? power : raw / power < 3.5 ? 2 * power : 5 * power;
  for (double v = std::ceil(low / step) * step; v <= high + step * 1e-6; v += step)
    out.push_back(std::abs(v) < step * 1e-6 ? 0 : v);
  return out;
}

}  // namespace

std::string escaped_xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string short_number(double v) {
  const double a = std::abs(v);
  if (a >= 1e12) return fmt::format("{:.4g}", v);
  for (const auto& [unit, letter] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e4, "k"}})
    if (a >= unit) return fmt::format("{:.4g}{}", v / (unit == 1e4 ? 1e3 : unit), letter);
  return fmt::format("{:.4g}", v);
}

// From values to pixels.
struct Plot::Scale {
  double low, high, from, to;
  bool logarithmic;
  double at(double v) const {
    const auto of = [this](double x) { return logarithmic ? std::log10(x) : x; };
    const double share = (of(v) - of(low)) / (of(high) - of(low));
    return from + std::clamp(share, 0.0, 1.0) * (to - from);
  }
};

Plot::Plot(std::string title, PlotAxis x, PlotAxis y)
    : title_(std::move(title)),
      x_(std::move(x)),
      y_(std::move(y)),
      least_x_(kNothing),
      most_x_(-kNothing),
      least_y_(kNothing),
      most_y_(-kNothing) {}

void Plot::reach(double x, double y) {
  least_x_ = std::min(least_x_, x), most_x_ = std::max(most_x_, x);
  least_y_ = std::min(least_y_, y), most_y_ = std::max(most_y_, y);
}

void Plot::line(int series, const Points& points, const std::string& label, bool dashed) {
  Mark mark{Mark::Kind::kLine, series, {}, 0, dashed, ""};
  for (const auto& [x, y] : points) {
    mark.at.push_back({x, y, y});
    reach(x, y);
  }
  marks_.push_back(std::move(mark));
  if (!label.empty()) key(series, label);
}

void Plot::band(int series, const std::vector<Band>& bands) {
  for (const Band& b : bands) reach(b.x, b.low), reach(b.x, b.high);
  marks_.push_back({Mark::Kind::kBand, series, bands, 0, false, ""});
}

void Plot::dot(int series, double x, double y, double size, const std::string& text) {
  reach(x, y);
  marks_.push_back({Mark::Kind::kDot, series, {{x, y, y}}, size, false, text});
}

void Plot::box(int series, double from, double to, double y, double half, const std::string& text) {
  reach(from, y - half), reach(to, y + half);
  marks_.push_back({Mark::Kind::kBox, series, {{from, y, y}, {to, y, y}}, half, false, text});
}

void Plot::bar(int series, double x, double y, double half, const std::string& text) {
  reach(x - half, 0), reach(x + half, y);
  marks_.push_back({Mark::Kind::kBar, series, {{x, 0, y}}, half, false, text});
}

void Plot::mark(double x, double y, double half, const std::string& text) {
  reach(x, y - half), reach(x, y + half);
  marks_.push_back({Mark::Kind::kMark, kPlotInk, {{x, y, y}}, half, false, text});
}

void Plot::key(int series, const std::string& label) {
  const std::pair<int, std::string> entry(series, label);
  if (std::find(keys_.begin(), keys_.end(), entry) == keys_.end()) keys_.push_back(entry);
}

// The places of a picture.
struct Plot::Frame {
  double left = kLeft, top = 0, bottom = 0;
  Scale x, y;
};

// In as many lines as it needs; `frame.top` is below it.
std::string Plot::legend(Frame& frame) const {
  std::string out;
  double at = frame.left, top = kKeyTop;
  for (const auto& [series, label] : keys_) {
    const double width = 28 + text_width(label);
    if (at > frame.left && at + width > kWidth) at = frame.left, top += kKeyLine;
    out += fmt::format(
        "<g class=\"{}\"><rect class=\"f\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"11\" height=\"11\" "
        "rx=\"2\"/><text class=\"s\" x=\"{:.0f}\" y=\"{:.0f}\">{}</text></g>\n",
        colour_class(series), at, top, at + 16, top + 10, escaped_xml(label));
    at += width;
  }
  frame.top = keys_.empty() ? kKeyTop : top + kKeyLine + 6;
  return out;
}

std::string Plot::axes(const Frame& f) const {
  std::string out;
  for (const auto& [axis, is_x] : {std::pair{&x_, true}, {&y_, false}}) {
    const Scale& s = is_x ? f.x : f.y;
    std::vector<double> at;
    for (std::size_t i = 0; i < axis->names.size(); ++i) at.push_back(static_cast<double>(i));
    if (axis->names.empty()) at = ticks(s.low, s.high, s.logarithmic);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double p = s.at(at[i]);
      const std::string text =
          escaped_xml(axis->names.empty() ? short_number(at[i]) : cut_name(axis->names[i]));
      out += is_x ? fmt::format(
                        "<line class=\"g\" x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" "
                        "y2=\"{2}\"/><text class=\"s\" x=\"{0:.1f}\" y=\"{3}\" "
                        "text-anchor=\"middle\">{4}</text>\n",
                        p, f.top, f.bottom, f.bottom + 18, text)
                  : fmt::format(
                        "<line class=\"g\" x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" "
                        "y2=\"{0:.1f}\"/><text class=\"s\" x=\"{3}\" y=\"{4:.1f}\" "
                        "text-anchor=\"end\">{5}</text>\n",
                        p, f.left, kWidth - kRight, f.left - 7, p + 4, text);
    }
  }
  return out + fmt::format(
                   "<line class=\"a\" x1=\"{0}\" y1=\"{2}\" x2=\"{1}\" y2=\"{2}\"/>"
                   "<text class=\"s\" x=\"{3}\" y=\"{4}\" text-anchor=\"middle\">{5}</text>"
                   "<text class=\"s\" transform=\"translate(18 {6}) rotate(-90)\" "
                   "text-anchor=\"middle\">{7}</text>\n",
                   f.left, kWidth - kRight, f.bottom, (f.left + kWidth) / 2,
                   f.bottom + kBottom - 12, escaped_xml(x_.label), (f.top + f.bottom) / 2,
                   escaped_xml(y_.label));
}

std::string Plot::drawn(const Mark& m, const Frame& f) const {
  using Kind = Mark::Kind;
  const std::string title =
      m.text.empty() ? "" : fmt::format("<title>{}</title>", escaped_xml(m.text));
  const Band& first = m.at.empty() ? Band{} : m.at.front();
  if (m.kind == Kind::kLine || m.kind == Kind::kBand) {
    std::string points;
    for (const Band& b : m.at) points += fmt::format("{:.1f},{:.1f} ", f.x.at(b.x), f.y.at(b.high));
    if (m.kind == Kind::kLine)
      return fmt::format("<polyline class=\"l\"{} points=\"{}\"/>",
                         m.dashed ? " stroke-dasharray=\"6 4\"" : "", points);
    for (auto b = m.at.rbegin(); b != m.at.rend(); ++b)
      points += fmt::format("{:.1f},{:.1f} ", f.x.at(b->x), f.y.at(b->low));
    return fmt::format("<polygon class=\"b\" points=\"{}\"/>", points);
  }
  if (m.kind == Kind::kMark)
    return fmt::format(
        "<polyline class=\"l\" points=\"{0:.1f},{1:.1f} {0:.1f},{2:.1f}\">{3}</polyline>",
        f.x.at(first.x), f.y.at(first.low + m.size), f.y.at(first.low - m.size), title);
  if (m.kind == Kind::kDot)
    return fmt::format(
        "<circle class=\"f\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" "
        "fill-opacity=\".8\">{}</circle>",
        f.x.at(first.x), f.y.at(first.low), m.size, title);
  const bool bar = m.kind == Kind::kBar;
  const double begin = f.x.at(bar ? first.x - m.size : first.x);
  const double right = f.x.at(bar ? first.x + m.size : m.at.back().x);
  const double top = f.y.at(bar ? first.high : first.low + m.size);
  const double bottom = f.y.at(bar ? 0 : first.low - m.size);
  return fmt::format(
      "<rect class=\"f\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\">{}</rect>",
      begin, top, std::max(0.3, right - begin), bottom - top, title);
}

std::string Plot::svg() const {
  Frame f;
  for (const std::string& name : y_.names)
    f.left = std::clamp(text_width(name) + 16, f.left, kMostLeft);
  const std::string keys = legend(f);
  f.bottom = y_.names.empty() ? kHeight - kBottom
                              : f.top + kRow * static_cast<double>(y_.names.size() + 1);
  const auto scale = [](const PlotAxis& axis, double low, double high, double from, double to) {
    if (!(low <= high)) low = 1, high = 2;
    if (axis.logarithmic) {
      if (high / low < 1.001) low /= 2, high *= 2;
      return Scale{low / 1.08, high * 1.08, from, to, true};
    }
    double room = (high - low) * 0.04;
    if (room <= 0) room = std::max(std::abs(high) * 0.1, 1e-9);
    const double below = low >= 0 && low - room < 0 ? 0 : low - room;
    return Scale{low == 0 ? 0 : below, high + room, from, to, false};
  };
  f.x = scale(x_, least_x_, most_x_, f.left, kWidth - kRight);
  f.y = scale(y_, least_y_, most_y_, f.bottom, f.top);
  std::string out = fmt::format(
      "<svg class=\"o\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
      "aria-label=\"{2}\"><title>{2}</title><style>{3}</style>"
      "<rect class=\"p\" width=\"{0}\" height=\"{1}\"/>"
      "<text class=\"t\" x=\"{4}\" y=\"20\" font-weight=\"600\">{2}</text>\n",
      kWidth, f.bottom + kBottom, escaped_xml(title_), kPictureStyle, f.left);
  out += keys + axes(f);
  for (const Mark& m : marks_)
    out += fmt::format("<g class=\"{}\">{}</g>\n", colour_class(m.series), drawn(m, f));
  return out + "</svg>\n";
}

}  // namespace orrery::face
