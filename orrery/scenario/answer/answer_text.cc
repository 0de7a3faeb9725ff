#include "orrery/scenario/answer/answer_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace orrery {

std::string wrapped(std::string_view text, std::size_t columns, std::string_view indent) {
  std::string out, line(indent);
  while (true) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() > indent.size() && line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line = indent;
    }
    if (line.size() > indent.size()) line += ' ';
    line += word;
    if (end == text.size()) return out + line + "\n";
    text.remove_prefix(end + 1);
  }
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string markdown_row(std::span<const std::string> cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

void Notes::add(const std::string& note) {
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
}

std::string Notes::text() const {
  std::string out;
  for (const std::string& note : notes_) out += wrapped(note, 80, "  ");
  return out;
}

std::string text_at(const Point& p, const char* key) {
  const auto v = p.at.find(key);
  if (v == p.at.end()) return "";
  return v->is_string() ? v->get<std::string>() : v->dump();
}

std::string number(double v) {
  constexpr double kExponentFrom = 1e7, kExponentBelow = 1e-3;
  const bool tiny = v != 0 && std::abs(v) < kExponentBelow;
  if (std::abs(v) >= kExponentFrom || tiny) return fmt::format("{:.4g}", v);
  if (v == std::floor(v)) return fmt::format("{:.0f}", v);
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(v)))) + 1;
  return fmt::format("{:.{}f}", v, std::clamp(4 - digits, 0, 6));
}

Metric readable(Metric m) {
  struct Unit {
    std::string_view name;
    double joules;
  };
  constexpr Unit kHours[] = {{"mWh", 3.6},   {"Wh", 3.6e3},   {"kWh", 3.6e6},
                             {"MWh", 3.6e9}, {"GWh", 3.6e12}, {"TWh", 3.6e15}};
  constexpr Unit kJoules[] = {{"uJ", 1e-6}, {"mJ", 1e-3}, {"J", 1},
                              {"kJ", 1e3},  {"MJ", 1e6},  {"GJ", 1e9}};
  constexpr double kLeastHours = 0.1, kLeastJoules = 1e-3, kMost = 1e4;
  const double size = std::abs(m.value);
  const auto show = [&](std::span<const Unit> units, double least) {
    const auto own =
        std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == m.unit; });
    if (own == units.end() || size == 0 || (size >= least && size < kMost)) return;
    const Unit* best = &units.front();  // the largest unit that the energy has one of
    for (const Unit& u : units)
      if (size * own->joules >= u.joules) best = &u;
    const double factor = own->joules / best->joules;
    for (double* v : {&m.value, &m.low50, &m.high50, &m.low90, &m.high90}) *v *= factor;
    m.unit = best->name;
  };
  show(kHours, kLeastHours), show(kJoules, kLeastJoules);
  return m;
}

std::string interval90(const Metric& m) {
  if (!m.has_interval()) return "";
  return fmt::format("[{}, {}]", number(m.low90), number(m.high90));
}

std::string spread90(double value, double low90, double high90) {
  if (value <= 0) return "";
  constexpr double kEven = 0.5, kTimes = 11;
  const double half = (high90 - low90) / (2 * value);
  if (half <= kEven) return fmt::format("+-{:.0f}%", 100 * half);
  const double low = 100 * (1 - low90 / value), high = high90 / value;
  if (high >= kTimes) return fmt::format("-{:.0f}/x{:.0f}", low, high);
  return fmt::format("-{:.0f}/+{:.0f}%", low, 100 * (high - 1));
}

std::string place(const Point& p) {
  std::string out;
  for (const auto& [key, value] : p.at.items()) {
    if (value.is_structured()) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", key,
                       value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

std::string misfit(const Point& p) {
  constexpr std::string_view kLead = "does not fit: ";
  const std::string& reason = p.feasibility.reason;
  return "DOES NOT FIT: " + (reason.starts_with(kLead) ? reason.substr(kLead.size()) : reason);
}

}  // namespace orrery
