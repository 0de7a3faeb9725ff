#include "orrery/base/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace orrery {
namespace {

struct Prefix {
  std::string_view text;
  double factor;
};

constexpr std::array<Prefix, 14> kPrefixes = {{{"", 1},
                                               {"k", 1e3},
                                               {"K", 1e3},
                                               {"M", 1e6},
                                               {"G", 1e9},
                                               {"T", 1e12},
                                               {"P", 1e15},
                                               {"E", 1e18},
                                               {"Z", 1e21},
                                               {"Ki", 0x1p10},
                                               {"Mi", 0x1p20},
                                               {"Gi", 0x1p30},
                                               {"Ti", 0x1p40},
                                               {"Pi", 0x1p50}}};

std::optional<double> prefix_factor(std::string_view text, bool binary_allowed) {
  for (const Prefix& p : kPrefixes) {
    if (p.text == text && (binary_allowed || p.text.size() < 2)) return p.factor;
  }
  return std::nullopt;
}

// Strips any of `endings` from `unit` and reads what stands before it as a prefix.
std::optional<double> prefixed(std::string_view unit, std::initializer_list<Prefix> endings,
                               bool binary_allowed) {
  for (const Prefix& ending : endings) {
    if (!unit.ends_with(ending.text)) continue;
    auto f = prefix_factor(unit.substr(0, unit.size() - ending.text.size()), binary_allowed);
    if (f) return *f * ending.factor;
  }
  return std::nullopt;
}

std::string scaled(double value, double step, std::span<const std::string_view> names,
                   std::size_t base_index) {
  // Rounded to three digits first, so that 999.7 kB becomes "1 MB"; from 1000 of the last unit on,
  // whole.
  auto rounded = [](double v) {
    if (std::abs(v) >= 100) return std::round(v);
    double r = v;
    const std::string text = fmt::format("{:.3g}", v);
    std::from_chars(text.data(), text.data() + text.size(), r);
    return r;
  };
  std::size_t i = base_index;
  while (value != 0 && std::abs(rounded(value)) < 1 && i > 0) value *= step, --i;
  while (std::abs(rounded(value)) >= step && i + 1 < names.size()) value /= step, ++i;
  const double shown = rounded(value);
  return std::abs(shown) >= 1000 ? fmt::format("{:.0f} {}", shown, names[i])
                                 : fmt::format("{:.3g} {}", shown, names[i]);
}

}  // namespace

std::optional<double> unit_factor(Dimension dimension, std::string_view unit) {
  switch (dimension) {
    case Dimension::kNone:
      return std::nullopt;
    case Dimension::kTime:
      for (const Prefix& p :
           {Prefix{"s", 1}, Prefix{"ms", 1e-3}, Prefix{"us", 1e-6}, Prefix{"ns", 1e-9},
            Prefix{"min", 60}, Prefix{"h", 3600}, Prefix{"d", 86400}}) {
        if (p.text == unit) return p.factor;
      }
      return std::nullopt;
    case Dimension::kFrequency:
      return prefixed(unit, {{"Hz", 1}}, false);
    case Dimension::kBytes:
      return prefixed(unit, {{"B", 1}}, true);
    case Dimension::kBandwidth:
      return prefixed(
          unit, {{"B/s", 1}, {"Bps", 1}, {"bit/s", 0.125}, {"b/s", 0.125}, {"bps", 0.125}}, true);
    case Dimension::kFlops:
      return prefixed(unit, {{"FLOP", 1}, {"FLOPs", 1}, {"OP", 1}}, false);
    case Dimension::kFlopRate:
      return prefixed(unit, {{"FLOP/s", 1}, {"FLOPS", 1}, {"OP/s", 1}, {"OPS", 1}}, false);
    case Dimension::kEnergy:
      return prefixed(unit, {{"J", 1}, {"Wh", 3600}}, false);
    case Dimension::kPower:
      if (unit == "mW") return 1e-3;
      return prefixed(unit, {{"W", 1}}, false);
  }
  return std::nullopt;
}

std::string_view unit_example(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime:
      return "25 us";
    case Dimension::kFrequency:
      return "1980 MHz";
    case Dimension::kBytes:
      return "80 GiB";
    case Dimension::kBandwidth:
      return "3.35 TB/s";
    case Dimension::kFlops:
      return "1.5 TFLOP";
    case Dimension::kFlopRate:
      return "989 TFLOP/s";
    case Dimension::kEnergy:
      return "12 kJ";
    case Dimension::kPower:
      return "700 W";
    case Dimension::kNone:
      break;
  }
  return "";
}

std::string_view base_unit(Dimension dimension) {
  switch (dimension) {
    case Dimension::kTime:
      return "s";
    case Dimension::kFrequency:
      return "Hz";
    case Dimension::kBytes:
      return "B";
    case Dimension::kBandwidth:
      return "B/s";
    case Dimension::kFlops:
      return "FLOP";
    case Dimension::kFlopRate:
      return "FLOP/s";
    case Dimension::kEnergy:
      return "J";
    case Dimension::kPower:
      return "W";
    case Dimension::kNone:
      break;
  }
  return "";
}

std::optional<double> parse_quantity(Dimension dimension, std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  while (unit.ends_with(' ')) unit.remove_suffix(1);
  auto factor = unit_factor(dimension, unit);
  if (!factor || !std::isfinite(number * *factor)) return std::nullopt;
  return number * *factor;
}

namespace {

std::string new_exact_text(Dimension dimension, double value) {
  const std::string_view base = base_unit(dimension);
  std::string shortest = fmt::format("{} {}", value, base);
  const auto consider = [&](std::string_view prefix) {
    const std::string unit = fmt::format("{}{}", prefix, base);
    const std::optional<double> factor = unit_factor(dimension, unit);
    if (!factor) return;
    const double number = value / *factor;
    std::string text = fmt::format("{:.15g} {}", number, unit);
    const bool as_short = text.size() == shortest.size() && std::abs(number) >= 1;
    if ((text.size() < shortest.size() || as_short) && parse_quantity(dimension, text) == value)
      shortest = std::move(text);
  };
  for (const std::string_view below : {"n", "u", "m"})
    if (dimension == Dimension::kTime) consider(below);
  for (const Prefix& p : kPrefixes)
    if (p.text != "K") consider(p.text);
  return shortest;
}

}  // namespace

std::string exact_text(Dimension dimension, double value) {
  // Finding a text tries a dozen units. Every answer repeats the same defaults and constants, so
  // that each thread keeps the texts that it found.
  constexpr std::size_t kMostKept = 4096;
  thread_local std::map<std::pair<Dimension, double>, std::string> kept;
  if (std::isnan(value)) return new_exact_text(dimension, value);  // has no place in an order
  const auto at = kept.find({dimension, value});
  if (at != kept.end() && std::signbit(at->first.second) == std::signbit(value)) return at->second;
  if (kept.size() >= kMostKept) kept.clear();
  return kept[{dimension, value}] = new_exact_text(dimension, value);
}

std::string to_text(Seconds t) {
  static constexpr std::array<std::string_view, 4> kNames = {"ns", "us", "ms", "s"};
  return scaled(t.value(), 1000, kNames, 3);
}

std::string to_text(Bytes b) {
  static constexpr std::array<std::string_view, 6> kNames = {"B", "kB", "MB", "GB", "TB", "PB"};
  return scaled(b.value(), 1000, kNames, 0);
}

std::string to_text(BytesPerSecond r) {
  static constexpr std::array<std::string_view, 5> kNames = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(r.value(), 1000, kNames, 0);
}

std::string to_text(FlopsPerSecond r) {
  static constexpr std::array<std::string_view, 6> kNames = {"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                                             "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  return scaled(r.value(), 1000, kNames, 0);
}

}  // namespace orrery
