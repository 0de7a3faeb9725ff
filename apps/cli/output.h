// Renders Answers: a table for people, json, jsonl, csv and md for programs, a self-contained HTML page, and a
// timeline for Perfetto. Nothing here computes; every number is the Answer's.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "orrery/scenario/answer.h"

namespace orrery::cli {

enum class Format { kTable, kJson, kJsonl, kCsv, kMd };

struct OutputOptions {
  Format format = Format::kTable;
  std::string html, trace;   // files to write as well; empty: none
  bool breakdown = true;     // kernels in json and table
};

// Adds -o, --html, --trace, --no-breakdown.
void add_output_flags(CLI::App& app, OutputOptions& options);

// Prints the answer in the chosen format and writes the files asked for.
void print(const Answer& answer, const OutputOptions& options);

// One renderer each; text without colour unless stated.
std::string table(const Answer& answer, bool breakdown, bool colour, int columns);
std::string csv(const Answer& answer);
std::string markdown(const Answer& answer, bool breakdown);
std::string html(const Answer& answer);
std::string perfetto_trace(const Answer& answer);

// Whether standard output is a terminal that may be coloured (NO_COLOR is heeded), and its width (80 if unknown).
bool colour_terminal();
int terminal_columns();

// Writes `text` to `path`; InputError if that is not possible.
void write_file(const std::string& path, const std::string& text);

// "12.3", "0.0456", "123456": four significant digits, never an exponent below 1e7.
std::string number(double v);
// "[11.2, 13.9]"; empty for exact values.
std::string interval90(const Metric& m);

}  // namespace orrery::cli
