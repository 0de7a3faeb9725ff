#include "apps/cli/output/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <string_view>

#include "apps/cli/flags/help.h"
#include "apps/face/answers.h"
#include "apps/face/pictures.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kFormats = {"table", "json", "jsonl", "csv",
                                           "md"};  // in the enum's order
const std::vector<std::string> kServiceFormats = {"table", "json", "jsonl", "csv",
                                                  "md",    "vllm", "aiperf"};

void flatten(const Json& value, const std::string& name,
             std::vector<std::pair<std::string, std::string>>& out) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items())
      flatten(member, name.empty() ? key : name + "." + key, out);
    return;
  }
  std::string text;
  if (value.is_array()) {
    for (const Json& item : value) {
      text +=
          (text.empty() ? "" : "; ") + (item.is_string() ? item.get<std::string>() : item.dump());
    }
  } else if (!value.is_null()) {
    text = value.is_string() ? value.get<std::string>() : value.dump();
  }
  out.emplace_back(name, text);
}

void write_traces(std::span<const Answer> answers, const std::string& prefix) {
  const bool one = answers.size() == 1 && answers[0].points.size() == 1;
  if (!one) throw InputError("--chakra: expected one point, got a sweep");
  const Point& p = answers[0].points[0];
  if (p.chakra.empty() && !p.feasibility.fits) return;
  if (p.chakra.empty()) throw InputError("--chakra: no step of a model to write");
  for (const auto& [end, bytes] : p.chakra)
    write_file(fmt::format("{}.{}", prefix, end), bytes, "--chakra");
}

}  // namespace

void add_format_flag(CLI::App& app, Format& format, bool simulates) {
  const std::vector<std::string>& formats = simulates ? kServiceFormats : kFormats;
  app.add_option_function<std::string>(
         "-o,--output",
         [&format, &formats](const std::string& name) {
           const auto found = std::find(formats.begin(), formats.end(), name);
           if (found == formats.end()) {
             throw InputError(fmt::format("--output: expected {}, got '{}'{}",
                                          fmt::join(formats, ", "), name,
                                          did_you_mean(name, formats)));
           }
           format = static_cast<Format>(found - formats.begin());
         },
         simulates ? "table, json, jsonl, csv or md; or vllm or aiperf, the result formats of "
                     "these tools "
                     "[table]"
                   : "table, json, jsonl, csv or md [table]")
      ->group("output")
      ->type_name("FORMAT");
}

void add_output_flags(CLI::App& app, OutputOptions& o, bool has_steps, bool simulates) {
  add_format_flag(app, o.format, simulates);
  app.add_option("--html", o.html, "also write the answer as a self-contained page")
      ->group("output")
      ->type_name("FILE");
  app.add_option("--svg", o.svg, "also draw one picture of the answer")
      ->group("output")
      ->type_name("FILE");
  app.add_option("--picture", o.picture,
                 fmt::format("which picture --svg draws: {} [the first that the answer has]",
                             fmt::join(face::picture_names(), ", ")))
      ->group("output")
      ->type_name("NAME");
  if (!has_steps) return;
  app.add_option("--trace", o.trace,
                 "write one prefill and one decode step as a timeline for ui.perfetto.dev")
      ->group("output")
      ->type_name("FILE");
  app.add_flag("--breakdown,!--no-breakdown", o.breakdown,
               "show the time of every kernel, not totals alone [on]")
      ->group("output");
}

void write_pages(std::span<const Answer> answers, const OutputOptions& o) {
  if (!o.html.empty()) write_file(o.html, html(answers), "--html");
  if (o.svg.empty() && !o.picture.empty())
    throw InputError("--picture: has no effect; it needs --svg");
  if (o.svg.empty()) return;
  if (answers.size() != 1) throw InputError("--svg: expected one scenario");
  write_file(o.svg, face::picture_of(answers[0], Catalog(), o.picture), "--svg");
}

void write_picture(const Answer& answer, const std::string& file, const std::string& picture,
                   const std::string& flag) {
  if (file.empty()) return;
  const std::string svg = face::picture_of(answer, Catalog(), picture, flag);
  write_file(file, file.ends_with(".html") ? html({&answer, 1}) : svg, flag);
}

void print(std::span<const Answer> answers, const OutputOptions& o) {
  write_pages(answers, o);
  if (!o.trace.empty()) write_file(o.trace, perfetto_trace(answers), "--trace");
  if (!o.chakra.empty()) write_traces(answers, o.chakra);
  switch (o.format) {
    case Format::kTable:
      for (const Answer& a : answers) {
        if (&a != answers.data()) fmt::print("\n\n");
        fmt::print("{}", table(a, o.breakdown, colour_terminal(), terminal_columns()));
      }
      break;
    case Format::kJson:
      fmt::print("{}", face::json_text(answers, o.breakdown));
      break;
    case Format::kJsonl:
      fmt::print("{}", jsonl(answers, o.breakdown));
      break;
    case Format::kCsv:
      fmt::print("{}", csv(answers));
      break;
    case Format::kMd:
      for (const Answer& a : answers)
        fmt::print("{}{}", &a == answers.data() ? "" : "\n", markdown(a, o.breakdown));
      break;
    case Format::kVllm:
      fmt::print("{}", vllm_result(answers[0]));
      break;
    case Format::kAiperf:
      fmt::print("{}", aiperf_result(answers[0]));
      break;
  }
}

std::string facts_text(const std::vector<Json>& rows, Format format) {
  if (format == Format::kJson) return Json(rows).dump(1) + "\n";
  std::string out;
  if (format == Format::kJsonl) {
    for (const Json& r : rows) out += r.dump() + "\n";
    return out;
  }
  std::vector<std::vector<std::pair<std::string, std::string>>> flat;
  std::vector<std::string> names;
  for (const Json& r : rows) {
    flatten(r, "", flat.emplace_back());
    for (const auto& [name, text] : flat.back()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  auto add_line = [&](std::vector<std::string> cells) {
    if (format == Format::kMd) {
      out += markdown_row(cells);
      return;
    }
    for (std::string& cell : cells) cell = csv_field(cell);
    out += fmt::format("{}\n", fmt::join(cells, ","));
  };
  add_line(names);
  if (format == Format::kMd) add_line(std::vector<std::string>(names.size(), "---"));
  for (const auto& row : flat) {
    std::vector<std::string> cells(names.size());
    for (const auto& [name, text] : row) {
      cells[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())] =
          text;
    }
    add_line(std::move(cells));
  }
  return out;
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

void Notes::print() const {
  for (const std::string& note : notes_) fmt::print("{}", wrapped(note, 80, "  "));
}

bool colour_terminal() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

std::size_t terminal_columns() {
  constexpr std::size_t kUnknown = 80, kNarrowest = 80;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest ? size.ws_col
                                                                                   : kUnknown;
}

void write_file(const std::string& path, const std::string& text, const std::string& flag) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out)
    throw InputError(fmt::format("{} {}: cannot be written: {}", flag, path, std::strerror(errno)));
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

}  // namespace orrery::cli
