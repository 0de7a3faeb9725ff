#include "apps/cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>

#include "orrery/base/error.h"

namespace orrery::cli {

void add_output_flags(CLI::App& app, OutputOptions& o) {
  const std::map<std::string, Format> formats = {{"table", Format::kTable},
                                                 {"json", Format::kJson},
                                                 {"jsonl", Format::kJsonl},
                                                 {"csv", Format::kCsv},
                                                 {"md", Format::kMd}};
  app.add_option_function<std::string>(
         "-o,--output",
         [&o, formats](const std::string& name) {
           const auto f = formats.find(name);
           if (f == formats.end()) {
             throw InputError(fmt::format("--output: expected table, json, jsonl, csv or md, got '{}'", name));
           }
           o.format = f->second;
         },
         "table, json, jsonl, csv or md [table]")
      ->group("Output");
  app.add_option("--html", o.html, "write the answer as a self-contained page too")->group("Output")->type_name("FILE");
  app.add_option("--trace", o.trace, "write one prefill and one decode step as a timeline for ui.perfetto.dev")
      ->group("Output")
      ->type_name("FILE");
  app.add_flag("--breakdown,!--no-breakdown", o.breakdown, "kernel by kernel, or totals only")->group("Output");
}

void print(const Answer& answer, const OutputOptions& o) {
  switch (o.format) {
    case Format::kTable:
      fmt::print("{}", table(answer, o.breakdown, colour_terminal(), terminal_columns()));
      break;
    case Format::kJson:
      fmt::print("{}\n", to_json(answer, o.breakdown).dump(1));
      break;
    case Format::kJsonl:
      for (const Point& p : answer.points) fmt::print("{}\n", to_json(p, o.breakdown).dump());
      break;
    case Format::kCsv:
      fmt::print("{}", csv(answer));
      break;
    case Format::kMd:
      fmt::print("{}", markdown(answer, o.breakdown));
      break;
  }
  if (!o.html.empty()) write_file(o.html, html(answer));
  if (!o.trace.empty()) write_file(o.trace, perfetto_trace(answer));
}

bool colour_terminal() {
  const char* no_colour = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

int terminal_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 80;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw InputError(fmt::format("{}: cannot be written", path));
}

std::string number(double v) {
  if (v == 0) return "0";
  const int digits = static_cast<int>(std::floor(std::log10(std::abs(v)))) + 1;
  if (digits > 7) return fmt::format("{:.4g}", v);
  return fmt::format("{:.{}f}", v, std::clamp(4 - digits, 0, 6));
}

std::string interval90(const Metric& m) {
  if (m.origin == Origin::kExact) return "";
  return fmt::format("[{}, {}]", number(m.low90), number(m.high90));
}

}  // namespace orrery::cli
