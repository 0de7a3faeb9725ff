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

// In the order of the enum.
const std::vector<std::string> kFormats = {"table", "json", "jsonl", "csv", "md"};

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

[[noreturn]] void refuse_format(const std::string& name, const std::vector<std::string>& known) {
  throw InputError(fmt::format("--output: expected {}, got '{}'{}", fmt::join(known, ", "), name,
                               did_you_mean(name, known)));
}

// Whether a form takes the place of a general one.
bool is_general(const AnswerForm& form) {
  return std::find(kFormats.begin(), kFormats.end(), form.name) != kFormats.end();
}

// The flag -o with forms of the verb's own.
void add_forms_flag(CLI::App& app, OutputOptions& o, std::span<const AnswerForm> forms) {
  std::vector<std::string> known = kFormats, own;
  for (const AnswerForm& form : forms)
    if (!is_general(form)) own.emplace_back(form.name);
  if (own.empty()) return add_format_flag(app, o.format);
  known.insert(known.end(), own.begin(), own.end());
  app.add_option_function<std::string>(
         "-o,--output",
         [&o, known, forms](const std::string& name) {
           const auto found = std::find(known.begin(), known.end(), name);
           if (found == known.end()) refuse_format(name, known);
           const auto index = static_cast<std::size_t>(found - known.begin());
           o.format = static_cast<Format>(std::min(index, kFormats.size()));
           for (const AnswerForm& form : forms)
             if (o.format == Format::kOther && form.name == name) o.form = &form;
         },
         fmt::format("table, json, jsonl, csv or md; or {}, the result formats of these tools "
                     "[table]",
                     fmt::join(own, " or ")))
      ->group("output")
      ->type_name("FORMAT");
}

}  // namespace

void add_format_flag(CLI::App& app, Format& format) {
  app.add_option_function<std::string>(
         "-o,--output",
         [&format](const std::string& name) {
           const auto found = std::find(kFormats.begin(), kFormats.end(), name);
           if (found == kFormats.end()) refuse_format(name, kFormats);
           format = static_cast<Format>(found - kFormats.begin());
         },
         "table, json, jsonl, csv or md [table]")
      ->group("output")
      ->type_name("FORMAT");
}

void add_output_flags(CLI::App& app, OutputOptions& o, bool has_steps,
                      std::span<const AnswerForm> forms) {
  add_forms_flag(app, o, forms);
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
    case Format::kOther:
      fmt::print("{}", o.form->text(answers[0]));
      break;
  }
}

std::string_view name_of(Format format) { return kFormats[static_cast<std::size_t>(format)]; }

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

}  // namespace orrery::cli
