// Renders Answers: a table for people, json, jsonl, csv and md for programs, a self-contained HTML
// page, and a timeline for Perfetto. Nothing here computes; every number is the Answer's.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"

namespace orrery::cli {

// kVllm and kAiperf are the result formats of these tools; they exist for simulated services only.
enum class Format { kTable, kJson, kJsonl, kCsv, kMd, kVllm, kAiperf };

struct OutputOptions {
  Format format = Format::kTable;
  std::string html, trace;  // files that are also written; empty: none
  std::string svg;          // a file for one picture
  std::string picture;      // its name (apps/face/pictures.h); empty: the first that there is
  std::string chakra;       // prefix of further files, those of Point::chakra
  bool breakdown = true;    // the time of every kernel in json, md and table
};

// Adds the flag -o table|json|jsonl|csv|md, for simulated services also vllm and aiperf.
void add_format_flag(CLI::App& app, Format& format, bool simulates = false);
// Adds the flags -o, --html, --svg and --picture. `has_steps`: also --trace and --[no-]breakdown.
void add_output_flags(CLI::App& app, OutputOptions& options, bool has_steps,
                      bool simulates = false);

// Writes the files of `options`, then prints the answers in the chosen format. In JSON one answer
// is an object, several are an array of objects. jsonl and csv have a line for each point.
void print(std::span<const Answer> answers, const OutputOptions& options);

// Writes the page and the picture of `options` alone.
void write_pages(std::span<const Answer> answers, const OutputOptions& options);
// Writes one picture to a file, or the page of --html where the file's name ends in ".html". An
// empty name writes nothing. InputError, which begins with `flag`: the answer lacks the picture.
void write_picture(const Answer& answer, const std::string& file, const std::string& picture,
                   const std::string& flag);

// Renderers, one for each format. Text has no colour unless stated.
// Several points as a table with one line a point: the values that vary, then the metrics. Metrics
// for which a line has no room continue in a further block of lines. Points without an answer are
// marked, and the reasons follow the table.
std::string sweep_table(const Answer& answer, bool colour, std::size_t columns);
std::string table(const Answer& answer, bool breakdown, bool colour, std::size_t columns);
std::string jsonl(std::span<const Answer> answers, bool breakdown);
std::string csv(std::span<const Answer> answers);
std::string markdown(const Answer& answer, bool breakdown);
std::string html(std::span<const Answer> answers);
std::string perfetto_trace(std::span<const Answer> answers);

// The files of other tools for a simulated point (output_service.cc): the result file of vLLM's
// `bench serve`, AIPerf's profile_export_aiperf.json and profile_export.jsonl, and its requests as
// csv or jsonl. InputError: a sweep. Infeasible: it does not fit.
const Point& only_point(const Answer& answer, const std::string& flag);
std::string vllm_result(const Answer& answer);
std::string aiperf_result(const Answer& answer);
std::string aiperf_records(const Answer& answer);
std::string requests_csv(const Point& point);
std::string requests_jsonl(const Point& point);
// Renders Point::steps with one row for each step as csv, and as sums over every second.
std::string steps_csv(const Point& point);
std::string series_csv(const Point& point);

// Renders facts (objects of scalars, lists and small objects) as json, jsonl, csv or md. Each fact
// is a row; the columns are the keys of all facts, nested ones as "peaks_tflop_s.bf16".
std::string facts_text(const std::vector<nlohmann::ordered_json>& rows, Format format);

std::string escaped_html(const std::string& text);
// The text as one field of a csv line, or the cells as a row of a Markdown table.
std::string csv_field(const std::string& text);
std::string markdown_row(std::span<const std::string> cells);

// Notes below a table, each printed once, in the order in which they were added.
class Notes {
 public:
  void add(const std::string& note);
  // Prints the notes in 80 columns, indented.
  void print() const;

 private:
  std::vector<std::string> notes_;
};

// Prints the money and the emissions of calls of kernels and collectives: a line for each point and
// a column for each figure that the question asks for; nothing where it asks for none. `keys`: of
// the values in `at` that begin a line.
void print_call_accounts(const Answer& answer, std::span<const std::string_view> keys);

// Whether standard output is a terminal that may be coloured (NO_COLOR is heeded), and its width
// (80 if unknown).
bool colour_terminal();
std::size_t terminal_columns();

// Writes `text` to `path`; InputError beginning with `flag` if that is not possible.
void write_file(const std::string& path, const std::string& text, const std::string& flag);

// A number with four significant digits: "12.3", "0.0456", "123456", "387". Whole numbers have no
// decimals, and numbers from 0.001 to 1e7 no exponent.
std::string number(double v);
// An energy in the unit of its magnitude, as a reader is shown it: 0.0014 MWh are 1.4 kWh. Other
// metrics are as they are, and so are energies below 10,000 of their unit and above 0.1 watt-hours
// or 0.001 joules of it. JSON and CSV always have the metric's own unit.
Metric readable(Metric m);
// The interval as "[11.2, 13.9]"; empty for exact values.
std::string interval90(const Metric& m);
// The 90 % interval relative to its value, in at most 9 characters: "+-12%" (half its width), or
// its two ends if half the width exceeds 50 %: "-44/+79%", and "-93/x15" from ten times on.
std::string spread90(double value, double low90, double high90);
// The values that identify a point: "model=llama-3-8b gpu=h100-sxm tp=8 ...".
std::string place(const Point& point);
// The text "DOES NOT FIT: " and the reason.
std::string misfit(const Point& point);

}  // namespace orrery::cli
