// The interface of trace formats, and their registry.
//
// Adding a format: a source file with either a function that names its CSV columns or a class
// behind JsonTraceFormat, and one entry of trace_formats.def.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/serving/traces/trace_collector.h"

namespace orrery {

// A CSV format: the names of its columns. A header with the columns of input and output is of the
// format. Columns session_id, block_ids and priority are read in every CSV format that has them.
struct CsvTraceFormat {
  std::string arrival, input, output;
  // Converts the text of an arrival to seconds since any fixed date. Null: the column holds seconds
  // since the start of the trace.
  double (*seconds)(std::string_view text, const std::string& where) = nullptr;
};

// A format of JSON lines. One object reads one file from its first to its last line.
class JsonTraceFormat {
 public:
  virtual ~JsonTraceFormat() = default;
  // Whether the line is of this format, judged by its keys.
  virtual bool takes(const nlohmann::json& line) const = 0;
  // Adds the requests of a line that it takes. `where` is the file and line for messages. May throw
  // nlohmann::json::exception, to which the caller adds `where`.
  virtual void add(const nlohmann::json& line, const std::string& where,
                   TraceCollector& collector) = 0;
};

// One entry of trace_formats.def. Exactly one of `csv` and `json` is set.
struct TraceFormatKind {
  std::string_view name, doc;
  CsvTraceFormat (*csv)();
  std::unique_ptr<JsonTraceFormat> (*json)();
};
// All formats, in the order of trace_formats.def, in which files are matched against them.
const std::vector<TraceFormatKind>& trace_format_kinds();

// The number under a key. Throws nlohmann::json::exception if there is none.
inline double json_number(const nlohmann::json& line, const char* key) {
  return line.at(key).get<double>();
}
// The number under a key; nothing if the key is absent or null.
inline std::optional<double> optional_json_number(const nlohmann::json& line, const char* key) {
  const auto it = line.find(key);
  if (it == line.end() || it->is_null()) return std::nullopt;
  return it->get<double>();
}
// The list of ids under the key hash_ids; empty if it is absent or null.
inline std::vector<std::uint64_t> json_hash_ids(const nlohmann::json& line) {
  const auto ids = line.find("hash_ids");
  if (ids == line.end() || ids->is_null()) return {};
  return ids->get<std::vector<std::uint64_t>>();
}

}  // namespace orrery
