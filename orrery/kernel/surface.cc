#include "orrery/kernel/surface.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Words of a text, with the line for messages.
class Words {
 public:
  Words(std::string_view text, const std::string& name)
      : at_(text.data()), end_(text.data() + text.size()), name_(name) {}

  bool at_end() {
    skip();
    return at_ == end_;
  }
  std::string_view word() {
    skip();
    const char* begin = at_;
    while (at_ != end_ && *at_ != ' ' && *at_ != '\n') ++at_;
    if (begin == at_) fail("the file ends too early");
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }
  void expect(std::string_view wanted) {
    const std::string_view w = word();
    if (w != wanted) fail(fmt::format("expected '{}', got '{}'", wanted, shown(w)));
  }
  double number() {
    const std::string_view w = word();
    double v = 0;
    const auto [rest, error] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (error != std::errc() || rest != w.data() + w.size() || !std::isfinite(v)) {
      fail(fmt::format("expected a number, got '{}'", shown(w)));
    }
    return v;
  }
  double number_within(double most) {
    const double v = number();
    if (std::abs(v) > most)
      fail(fmt::format("expected a number of -{} to {}, got {}", most, most, v));
    return v;
  }
  int count(int most) {
    const double v = number();
    if (v < 1 || v > most || v != std::floor(v))
      fail(fmt::format("expected a whole number of 1 to {}", most));
    return static_cast<int>(v);
  }
  // The rest of comment lines at this place.
  std::string comment() {
    std::string out;
    while (true) {
      skip();
      if (at_ == end_ || *at_ != '#') return out;
      const char* stop = std::find(at_, end_, '\n');
      out.append(at_, stop).push_back('\n');
      at_ = stop;
    }
  }
  // A word for a message: its beginning, without what a terminal cannot show.
  static std::string shown(std::string_view w) {
    std::string out(w.substr(0, 40));
    for (char& c : out) {
      if (c < 0x20 || c == 0x7F) c = '?';
    }
    return out;
  }
  [[noreturn]] void fail(std::string_view message) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line_, message));
  }

 private:
  void skip() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n')) line_ += *at_++ == '\n';
  }
  const char* at_;
  const char* end_;
  const std::string& name_;
  int line_ = 1;
};

}  // namespace

std::size_t SurfaceAxes::size() const {
  std::size_t n = 1;
  for (const auto& axis : nodes) n *= axis.size();
  return n;
}

SurfaceCell cell_at(const SurfaceAxes& axes, std::span<const double> x) {
  SurfaceCell cell;
  cell.count = 1;
  cell.index[0] = 0;
  cell.weight[0] = 1;
  for (std::size_t a = 0; a < axes.nodes.size(); ++a) {
    const std::vector<double>& nodes = axes.nodes[a];
    std::size_t low = 0;
    double fraction = 0;
    if (nodes.size() > 1) {
      while (low + 2 < nodes.size() && x[a] >= nodes[low + 1]) ++low;
      fraction = std::clamp((x[a] - nodes[low]) / (nodes[low + 1] - nodes[low]), 0.0, 1.0);
    }
    for (std::size_t i = 0; i < cell.count; ++i) cell.index[i] = cell.index[i] * nodes.size() + low;
    if (nodes.size() > 1) {
      for (std::size_t i = 0; i < cell.count; ++i) {
        cell.index[cell.count + i] = cell.index[i] + 1;
        cell.weight[cell.count + i] = cell.weight[i] * fraction;
        cell.weight[i] *= 1 - fraction;
      }
      cell.count *= 2;
    }
  }
  return cell;
}

double Surface::at(const SurfaceCell& cell) const {
  double v = 0;
  for (std::size_t i = 0; i < cell.count; ++i)
    v += cell.weight[i] * static_cast<double>(values[cell.index[i]]);
  return v;
}

const Surface* SurfaceFile::find(std::string_view kernel_class) const {
  for (const Surface& s : surfaces) {
    if (s.kernel_class == kernel_class) return &s;
  }
  return nullptr;
}

std::string surface_path(std::string_view family, std::string_view framework,
                         std::string_view gpu) {
  return fmt::format("kernels/{}/{}-{}.txt", family, framework, gpu);
}

SurfaceFile parse_surfaces(std::string_view text, const std::string& name) {
  Words words(text, name);
  SurfaceFile file;
  words.expect("orrery-kernels");
  words.expect("1");
  file.comment = words.comment();
  words.expect("axes");
  const int axes = words.count(4);
  for (int a = 0; a < axes; ++a)
    file.axes.nodes.emplace_back(static_cast<std::size_t>(words.count(64)));
  for (auto& axis : file.axes.nodes) {
    for (std::size_t i = 0; i < axis.size(); ++i) {
      axis[i] = words.number();
      if (i > 0 && axis[i] <= axis[i - 1]) words.fail("axis nodes must increase");
    }
  }
  // The largest family has 1,100 points; more is no surface, and memory must not follow a typing
  // error.
  constexpr std::size_t kMostPoints = 100'000;
  if (file.axes.size() > kMostPoints) {
    words.fail(
        fmt::format("a grid of {} points; expected at most {}", file.axes.size(), kMostPoints));
  }
  while (!words.at_end()) {
    words.expect("class");
    Surface& s = file.surfaces.emplace_back();
    s.kernel_class = words.word();
    words.expect("floor");
    s.floor = microseconds(words.number());
    words.expect("own");
    s.own = words.number();
    words.expect("shared");
    s.shared = words.number();
    if (s.floor < Seconds(0) || s.own < 0 || s.shared < 0)
      words.fail("floor and errors must not be negative");
    constexpr double kMostValue = 20'000;  // a factor of e^20
    s.values.reserve(file.axes.size());
    for (std::size_t i = 0; i < file.axes.size(); ++i)
      s.values.push_back(static_cast<float>(words.number_within(kMostValue) / 1000));
  }
  return file;
}

std::string to_text(const SurfaceFile& file) {
  std::string out =
      "orrery-kernels 1\n" + file.comment + fmt::format("axes {}", file.axes.nodes.size());
  for (const auto& axis : file.axes.nodes) out += fmt::format(" {}", axis.size());
  out += "\n";
  for (const auto& axis : file.axes.nodes) {
    for (std::size_t i = 0; i < axis.size(); ++i) out += fmt::format("{}{}", i ? " " : "", axis[i]);
    out += "\n";
  }
  for (const Surface& s : file.surfaces) {
    out += fmt::format("class {} floor {:.4g} own {:.3g} shared {:.3g}\n", s.kernel_class,
                       s.floor.value() * 1e6, s.own, s.shared);
    const std::size_t per_line = file.axes.nodes.back().size();
    for (std::size_t i = 0; i < s.values.size(); ++i) {
      out += fmt::format("{}{}", std::lround(s.values[i] * 1000),
                         (i + 1) % per_line == 0 ? "\n" : " ");
    }
  }
  return out;
}

}  // namespace orrery
