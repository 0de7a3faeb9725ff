#include "orrery/serving/traces/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <sstream>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/node_builder.h"
#include "orrery/serving/traces/trace_format.h"

namespace orrery {

#define CSV_TRACE(name, columns, doc) CsvTraceFormat columns();
#define JSON_TRACE(name, make, doc) std::unique_ptr<JsonTraceFormat> make();
#include "orrery/serving/traces/trace_formats.def"
#undef CSV_TRACE
#undef JSON_TRACE

const std::vector<TraceFormatKind>& trace_format_kinds() {
  static const std::vector<TraceFormatKind> kinds = {
#define CSV_TRACE(name, columns, doc) {name, doc, columns, nullptr},
#define JSON_TRACE(name, make, doc) {name, doc, nullptr, make},
#include "orrery/serving/traces/trace_formats.def"
#undef CSV_TRACE
#undef JSON_TRACE
  };
  return kinds;
}

namespace {

// Names of the formats that are CSV, or JSON lines.
std::vector<std::string> format_names(bool csv) {
  std::vector<std::string> names;
  for (const TraceFormatKind& k : trace_format_kinds()) {
    if ((k.csv != nullptr) == csv) names.emplace_back(k.name);
  }
  return names;
}

// "12 13-17 40": ids and runs of ids.
std::vector<std::uint64_t> read_runs(std::string_view text, const std::string& where) {
  constexpr std::uint64_t kMostIds = 1 << 20;  // of a request
  std::vector<std::uint64_t> ids;
  const char *at = text.data(), *end = at + text.size();
  while (at != end) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    std::uint64_t first = 0;
    auto r = std::from_chars(at, end, first);
    std::uint64_t last = first;
    if (r.ec == std::errc() && r.ptr != end && *r.ptr == '-')
      r = std::from_chars(r.ptr + 1, end, last);
    if (r.ec != std::errc() || (r.ptr != end && *r.ptr != ' ') || last < first ||
        last - first >= kMostIds - ids.size()) {
      throw InputError(
          fmt::format("{}: block ids: expected numbers and runs such as '12 13-17', got '{}'",
                      where, shortened(text)));
    }
    for (std::uint64_t id = first; id <= last; ++id) ids.push_back(id);
    at = r.ptr;
  }
  return ids;
}

// The columns of a CSV trace.
struct TraceColumns {
  std::optional<int> arrival, input, output, session, ids, priority;
  double (*seconds)(std::string_view, const std::string&) = nullptr;
};

TraceColumns columns_of(const CsvReader& csv, const std::string& name) {
  for (const TraceFormatKind& k : trace_format_kinds()) {
    if (!k.csv) continue;
    const CsvTraceFormat format = k.csv();
    const TraceColumns c{csv.find(format.arrival),
                         csv.find(format.input),
                         csv.find(format.output),
                         csv.find("session_id"),
                         csv.find("block_ids"),
                         csv.find("priority"),
                         format.seconds};
    // A file of lengths has no column of arrivals.
    if (c.input && c.output) return c;
  }
  throw InputError(fmt::format(
      "{}: not a trace that is known; expected columns arrival_s, input_tokens, output_tokens, or "
      "those of another format ({})",
      name, fmt::join(format_names(true), ", ")));
}

void read_csv(CsvReader& csv, const std::string& name, const TraceOptions& options, Trace& trace) {
  const TraceColumns c = columns_of(csv, name);
  TraceCollector collector(trace, options);
  bool first = true, known_size = false;
  double start = 0;
  std::string where;
  while (!collector.full() && csv.next()) {
    where.assign(name).append(":").append(fmt::format_int(csv.line()).c_str());
    TraceLine line;
    const bool timed = c.arrival && !csv.empty(*c.arrival);
    if (first) trace.has_arrivals = timed;
    if (timed != trace.has_arrivals) {
      throw InputError(fmt::format("{}: some requests have an arrival, others have none", where));
    }
    if (timed) {
      line.arrival = c.seconds ? c.seconds(csv.text(*c.arrival), where) : csv.number(*c.arrival);
      // Days since 1970 are beyond what simulated time holds.
      if (c.seconds) {
        if (first) start = line.arrival;
        line.arrival -= start;
      }
    }
    line.input = csv.number(*c.input);
    line.output = csv.number(*c.output);
    if (c.priority) line.priority = csv.number(*c.priority);
    if (c.session) line.session = std::string(csv.text(*c.session));
    if (c.ids) line.ids = read_runs(csv.text(*c.ids), where);
    if (!line.ids.empty() && !known_size) {
      // Whole blocks of 16, or blocks of 512 of which the last may be cut.
      trace.load.id_tokens =
          static_cast<double>(line.ids.size()) == std::floor(line.input / 16) ? 16 : 512;
      known_size = true;
    }
    first = false;
    collector.add(line, where);
  }
}

void read_jsonl(std::istream& in, const std::string& name, const TraceOptions& options,
                Trace& trace) {
  TraceCollector collector(trace, options);
  std::vector<std::unique_ptr<JsonTraceFormat>> formats;
  for (const TraceFormatKind& k : trace_format_kinds()) {
    if (k.json) formats.push_back(k.json());
  }
  std::string text;
  for (int line = 1; !collector.full() && std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::string where = fmt::format("{}:{}", name, line);
    const auto refuse = [&where](std::string_view why) {
      throw InputError(fmt::format("{}: expected a line of a trace ({}): {}", where,
                                   fmt::join(format_names(false), ", "), shortened(why, 200)));
    };
    try {
      const auto json = nlohmann::json::parse(text);
      const auto format = std::find_if(formats.begin(), formats.end(),
                                       [&json](const auto& f) { return f->takes(json); });
      if (format == formats.end()) refuse("its keys are those of no format");
      (*format)->add(json, where, collector);
    } catch (const nlohmann::json::exception& e) {
      std::string_view why = e.what();
      why.remove_prefix(std::min(why.find("] ") + 2, why.size()));  // the library's error number
      refuse(why);
    }
  }
}

bool is_json(const std::string& name) {
  return name.ends_with(".jsonl") || name.ends_with(".json");
}

Trace checked(Trace trace, const std::string& name) {
  if (trace.load.requests.empty())
    throw InputError(fmt::format("{}: the trace has no requests with tokens", name));
  return trace;
}

}  // namespace

std::vector<std::string> trace_format_names() {
  std::vector<std::string> names;
  for (const TraceFormatKind& k : trace_format_kinds()) names.emplace_back(k.name);
  return names;
}

Trace read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  const std::string name = path.string();
  require_file(path);
  Trace trace;
  if (is_json(name)) {
    std::ifstream in(path);
    read_jsonl(in, name, options, trace);
  } else {
    CsvReader csv(path);
    read_csv(csv, name, options, trace);
  }
  return checked(std::move(trace), name);
}

Trace parse_trace(std::string_view text, const std::string& name, const TraceOptions& options) {
  Trace trace;
  if (is_json(name)) {
    std::istringstream in{std::string(text)};
    read_jsonl(in, name, options, trace);
  } else {
    CsvReader csv(text, name);
    read_csv(csv, name, options, trace);
  }
  return checked(std::move(trace), name);
}

}  // namespace orrery
