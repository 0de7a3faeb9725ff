// Request traces: files that say when requests arrive and how long their prompts and outputs are.
//
// A file whose name ends in .jsonl or .json has one JSON object a line. Every other file is CSV,
// plain or gzip. The format follows from the header (CSV) or from the keys of each line (JSON
// lines). Each format is one source file of this folder and one entry of trace_formats.def, which
// documents its columns or keys. The first arrival of a trace becomes time 0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/serving/requests/request.h"

namespace orrery {

struct TraceOptions {
  // Factor on arrival times, > 0; 0.5 doubles the rate. Delays within a session stay as they are.
  double time_scale = 1;
  // Factor on the lengths of prompts and outputs, > 0. Scaled lengths are rounded, to at least 1.
  double length_scale = 1;
  std::int64_t requests = 0;  // reads the first `requests` requests; 0: all
};

struct Trace {
  RequestLoad load;
  bool has_arrivals = true;       // false: the trace has lengths only, and all arrivals are 0
  std::int64_t zero_lengths = 0;  // requests without prompt or output, which are left out
};

// Reads a file. Throws InputError with file and line if the format is unknown, a time is negative,
// not a number or before the time above it, a length is no whole number or above 2^24, or the
// number of token ids differs from the number of tokens.
Trace read_trace(const std::filesystem::path& path, const TraceOptions& options = {});
// Reads a text as read_trace does. Messages call it `name`, whose ending tells CSV from JSON lines.
Trace parse_trace(std::string_view text, const std::string& name, const TraceOptions& options = {});

// Names of all formats, in the order of trace_formats.def.
std::vector<std::string> trace_format_names();

}  // namespace orrery
