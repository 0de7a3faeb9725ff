// Renders Answers: a table for people, json, jsonl, csv and md for programs, a self-contained HTML
// page, and a timeline for Perfetto. Nothing here computes; every number is the Answer's.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/answer_text.h"
#include "orrery/scenario/kind/verb.h"

namespace orrery::cli {

// kOther: a form of the verb's own (AnswerForm).
enum class Format { kTable, kJson, kJsonl, kCsv, kMd, kOther };

struct OutputOptions {
  Format format = Format::kTable;
  const AnswerForm* form = nullptr;  // of kOther
  std::string html, trace;           // files that are also written; empty: none
  std::string svg;                   // a file for one picture
  std::string picture;    // its name (apps/face/pictures.h); empty: the first that there is
  bool breakdown = true;  // the time of every kernel in json, md and table
};

// The name of a general form. REQUIRES another one than kOther.
std::string_view name_of(Format format);

// Adds the flag -o table|json|jsonl|csv|md.
void add_format_flag(CLI::App& app, Format& format);
// Adds the flags -o, with the forms of the verb, --html, --svg and --picture. `steps`: also --trace
// and --[no-]breakdown.
void add_output_flags(CLI::App& app, OutputOptions& options, bool steps,
                      std::span<const AnswerForm> forms = {});

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

// Renders facts (objects of scalars, lists and small objects) as json, jsonl, csv or md. Each fact
// is a row; the columns are the keys of all facts, nested ones as "peaks_tflop_s.bf16".
std::string facts_text(const std::vector<nlohmann::ordered_json>& rows, Format format);

std::string escaped_html(const std::string& text);
// Whether standard output is a terminal that may be coloured (NO_COLOR is heeded), and its width
// (80 if unknown).
bool colour_terminal();
std::size_t terminal_columns();

// Writes `text` to `path`; InputError beginning with `flag` if that is not possible.
void write_file(const std::string& path, const std::string& text, const std::string& flag);

}  // namespace orrery::cli
