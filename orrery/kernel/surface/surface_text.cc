// Files of surfaces: reading and writing the text form of surface.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"
#include "orrery/kernel/surface/surface.h"

namespace orrery {
namespace {

constexpr char kFirstDigit = '!', kRun = '{';
constexpr int kBase = 45;
constexpr double kSharedSteps = 10'000;
constexpr long kMostSteps = 30'000;  // e^300: factors must not follow a typing error

// Packs values as surface.h describes.
std::string packed(const std::vector<float>& values, std::size_t row) {
  std::string out;
  const auto number = [&](long v) {
    char digits[8];
    int n = 0;
    do digits[n++] = static_cast<char>(v % kBase);
    while ((v /= kBase) > 0);
    while (n-- > 0) out.push_back(static_cast<char>(kFirstDigit + digits[n] + (n > 0 ? kBase : 0)));
  };
  std::vector<long> above(row);
  long left = 0, above_left = 0, zeros = 0;
  const auto end_run = [&] {
    if (zeros > 2) {
      out.push_back(kRun);
      number(zeros);
    } else {
      out.append(static_cast<std::size_t>(zeros), kFirstDigit);
    }
    zeros = 0;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const long v = std::lround(static_cast<double>(values[i]) / kValueStep);
    if (i % row == 0) left = above_left = 0;
    const long difference = v - (left + above[i % row] - above_left);
    above_left = above[i % row];
    left = above[i % row] = v;
    if (difference == 0) {
      ++zeros;
      continue;
    }
    end_run();
    number(difference > 0 ? 2 * difference : -2 * difference - 1);
  }
  end_run();
  return out;
}

// In lines of a length that editors bear.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 120;
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += kWidth) out += text.substr(i, kWidth) + "\n";
  return out;
}

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
  std::uint64_t key() {
    const std::string_view w = word();
    std::uint64_t v = 0;
    const auto [rest, error] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (error != std::errc() || rest != w.data() + w.size() || v == 0)
      fail(fmt::format("expected a key, got '{}'", shown(w)));
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
  // `count` packed values (surface.h), rows of the last axis being `row` long.
  std::vector<float> packed(std::size_t count, std::size_t row) {
    std::vector<float> out;
    out.reserve(count);
    std::vector<long> above(row);  // the row before
    long left = 0, above_left = 0;
    const auto add = [&](long difference) {
      const std::size_t at = out.size() % row;
      if (at == 0) left = above_left = 0;
      const long value = left + above[at] - above_left + difference;
      if (std::abs(value) > kMostSteps) fail("a value beyond all physics");
      above_left = above[at];
      left = above[at] = value;
      out.push_back(static_cast<float>(static_cast<double>(value) * kValueStep));
    };
    while (out.size() < count) {
      skip();
      if (at_ == end_) fail("the file ends too early");
      if (*at_ == kRun) {
        ++at_;
        const long run = digits();
        if (static_cast<std::size_t>(run) > count - out.size()) fail("more values than nodes");
        for (long i = 0; i < run; ++i) add(0);
      } else {
        const long v = digits();
        add(v % 2 ? -(v + 1) / 2 : v / 2);
      }
    }
    return out;
  }
  [[noreturn]] void fail(std::string_view message) const {
    throw InputError(fmt::format("{}:{}: {}", name_, line_, message));
  }

 private:
  long digits() {
    long v = 0;
    while (!at_end()) {  // a line may end within a number
      const int digit = *at_ - kFirstDigit;
      if (digit < 0 || digit >= 2 * kBase) fail("expected a digit of a packed value");
      ++at_;
      v = v * kBase + digit % kBase;
      if (digit < kBase) return v;
      if (v > kMostSteps * 4) fail("a value beyond all physics");
    }
    fail("the file ends too early");
  }
  void skip() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n')) line_ += *at_++ == '\n';
  }
  const char* at_;
  const char* end_;
  const std::string& name_;
  int line_ = 1;
};

SurfaceAxes read_axes(Words& words, int most) {
  SurfaceAxes out;
  const int axes = words.count(most);
  for (int a = 0; a < axes; ++a) out.nodes.emplace_back(static_cast<std::size_t>(words.count(64)));
  for (auto& axis : out.nodes) {
    for (std::size_t i = 0; i < axis.size(); ++i) {
      axis[i] = words.number();
      if (i > 0 && axis[i] <= axis[i - 1]) words.fail("axis nodes must increase");
    }
  }
  // The largest family has 30,000 points; more is no surface, and memory must not follow a typing
  // error.
  constexpr std::size_t kMostPoints = 100'000;
  if (out.size() > kMostPoints) {
    words.fail(fmt::format("a grid of {} points; expected at most {}", out.size(), kMostPoints));
  }
  return out;
}

// Sizes are read as logarithms that may be a rounding error off their node.
constexpr double kSame = 1e-6;

MeasuredRange read_range(Words& words, const SurfaceAxes& axes) {
  MeasuredRange range;
  const std::string_view ends = words.word();
  if (ends.size() != 2 * axes.nodes.size()) words.fail("expected two nodes of each axis");
  for (std::size_t a = 0; a < axes.nodes.size(); ++a) {
    const std::vector<double>& nodes = axes.nodes[a];
    const int last = static_cast<int>(nodes.size()) - 1;
    const int low = ends[2 * a] - kFirstDigit, high = ends[2 * a + 1] - kFirstDigit;
    if (low < 0 || low > last || high < low) words.fail("a range beyond the axis");
    if (low > 0) range.low[a] = nodes[index(low)] - kSame;
    range.high[a] = nodes[index(std::min(high, last))] + std::max(0, high - last) + kSame;
  }
  range.most = words.number() + kSame;
  return range;
}

std::string range_text(const MeasuredRange& range, const SurfaceAxes& axes) {
  if (!range.is_known()) return "";
  std::string ends;
  for (std::size_t a = 0; a < axes.nodes.size(); ++a) {
    const std::vector<double>& nodes = axes.nodes[a];
    // The last node at or below, the first at or above, or doublings beyond the last.
    std::size_t low = 0, high = nodes.size() - 1;
    while (low + 1 < nodes.size() && nodes[low + 1] <= range.low[a] + 2 * kSame) ++low;
    while (high > low && nodes[high - 1] >= range.high[a] - 2 * kSame) --high;
    high += static_cast<std::size_t>(
        std::max(0.0, std::ceil(range.high[a] - 2 * kSame - nodes.back())));
    ends.push_back(static_cast<char>(kFirstDigit + static_cast<int>(low)));
    ends.push_back(static_cast<char>(kFirstDigit + static_cast<int>(high)));
  }
  return fmt::format(" range {} {:g}", ends, std::ceil(10 * (range.most - 2 * kSame)) / 10);
}

std::string axes_text(const SurfaceAxes& axes) {
  std::string out = fmt::format("{}", axes.nodes.size());
  for (const auto& axis : axes.nodes) out += fmt::format(" {}", axis.size());
  out += "\n";
  for (const auto& axis : axes.nodes) out += fmt::format("{}\n", fmt::join(axis, " "));
  return out;
}

}  // namespace

std::string surface_path(std::string_view family, std::string_view framework,
                         std::string_view gpu) {
  return fmt::format("kernels/{}/{}-{}.txt.gz", family, framework, gpu);
}

float written(double value) {
  return static_cast<float>(static_cast<double>(std::lround(value / kValueStep)) * kValueStep);
}

SurfaceFile parse_surfaces(std::string_view text, const std::string& name) {
  constexpr std::size_t kMostValues = 8'000'000;  // of a file
  Words words(text, name);
  SurfaceFile file;
  words.expect("orrery-kernels");
  words.expect("2");
  file.comment = words.comment();
  words.expect("axes");
  file.axes = read_axes(words, kMostAxes);
  const std::size_t points = file.axes.size(), row = file.axes.nodes.back().size();
  std::size_t values = 0;
  while (!words.at_end()) {
    const std::string_view word = words.word();
    if (word == "series-axes" && file.surfaces.empty()) {
      file.series_axes = read_axes(words, kMostSeriesAxes);
      continue;
    }
    const bool is_series =
        word == "series" && !file.series_axes.nodes.empty() && !file.surfaces.empty();
    values += is_series ? file.series_axes.size() : points;
    if (values > kMostValues) words.fail("more values than a file may have");
    if (is_series) {
      std::vector<SurfaceSeries>& series = file.surfaces.back().series;
      const std::uint64_t key = words.key();
      if (!series.empty() && series.back().key >= key) words.fail("keys of series must increase");
      series.push_back(
          {key, words.packed(file.series_axes.size(), file.series_axes.nodes.back().size())});
      continue;
    }
    if (word != "class") words.fail(fmt::format("expected 'class', got '{}'", Words::shown(word)));
    Surface& s = file.surfaces.emplace_back();
    s.kernel_class = words.word();
    words.expect("floor");
    s.floor = microseconds(words.number());
    words.expect("own");
    s.own = words.number();
    words.expect("shared");
    s.shared = words.number();
    std::string_view next = words.word();
    if (next == "range") {
      s.measured_range = read_range(words, file.axes);
      next = words.word();
    }
    if (next != "regimes")
      words.fail(fmt::format("expected 'regimes', got '{}'", Words::shown(next)));
    for (double& r : s.regimes) {
      r = words.number();
      if (r < 0 || r > 100) words.fail("a regime's factor must lie in 0 to 100");
    }
    if (s.floor < Seconds(0) || s.own < 0 || s.shared < 0)
      words.fail("floor and errors must not be negative");
    s.values = words.packed(points, row);
  }
  return file;
}

std::string to_text(const SurfaceFile& file) {
  std::string out = "orrery-kernels 2\n" + file.comment + "axes " + axes_text(file.axes);
  if (!file.series_axes.nodes.empty()) out += "series-axes " + axes_text(file.series_axes);
  for (const Surface& s : file.surfaces) {
    out += fmt::format("class {} floor {:.4g} own {:.3g} shared {:.3g}{} regimes {:.2g}\n",
                       s.kernel_class, s.floor.value() * 1e6, s.own,
                       std::round(s.shared * kSharedSteps) / kSharedSteps,
                       range_text(s.measured_range, file.axes), fmt::join(s.regimes, " "));
    out += wrapped(packed(s.values, file.axes.nodes.back().size()));
    for (const SurfaceSeries& x : s.series) {
      out += fmt::format("series {}\n", x.key);
      out += wrapped(packed(x.values, file.series_axes.nodes.back().size()));
    }
  }
  return out;
}

}  // namespace orrery
