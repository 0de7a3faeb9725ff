#include "orrery/serving/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr double kLongest = 1 << 24;
constexpr double kLatest = 100 * 86400.0;  // seconds; simulated time ends at 106 days

// One line of a trace before scaling.
struct Line {
  double arrival = 0;  // seconds
  double input = 0, output = 0;
  std::string session;
  std::vector<std::uint64_t> ids;
};

// Gathers lines into a load, checking each; `where` names the line in messages.
class Collector {
 public:
  Collector(Trace& trace, const TraceOptions& options) : trace_(trace), options_(options) {}

  bool full() const {
    return options_.requests > 0 &&
           static_cast<std::int64_t>(trace_.load.requests.size()) >= options_.requests;
  }

  void add(const Line& line, const std::string& where) {
    if (!(line.arrival >= 0 && line.arrival * options_.time_scale <= kLatest))
      throw InputError(
          fmt::format("{}: arrival {} s: expected 0 to {}", where, line.arrival, kLatest));
    if (line.arrival < latest_) {
      throw InputError(
          fmt::format("{}: arrival {} s is before the line above ({} s); sort the trace", where,
                      line.arrival, latest_));
    }
    latest_ = line.arrival;
    if (first_ < 0) first_ = line.arrival;
    const std::int32_t input = length(line.input, where), output = length(line.output, where);
    if (input == 0 || output == 0) {
      ++trace_.zero_lengths;
      return;
    }
    Request r;
    r.arrival = sim_seconds((line.arrival - first_) * options_.time_scale);
    r.input = input;
    r.output = output;
    if (!line.session.empty()) {
      r.session = sessions_.emplace(line.session, static_cast<std::int32_t>(sessions_.size()))
                      .first->second;
    }
    auto& ids = trace_.load.ids;
    r.first_id = static_cast<std::uint32_t>(ids.size());
    r.ids = static_cast<std::uint32_t>(line.ids.size());
    ids.insert(ids.end(), line.ids.begin(), line.ids.end());
    trace_.load.requests.push_back(r);
  }

 private:
  std::int32_t length(double v, const std::string& where) const {
    if (!(v >= 0 && v <= kLongest && v == std::floor(v))) {
      throw InputError(
          fmt::format("{}: a length of {}: expected a whole number up to {}", where, v, kLongest));
    }
    if (v == 0) return 0;
    return static_cast<std::int32_t>(
        std::lround(std::clamp(v * options_.length_scale, 1.0, kLongest)));
  }

  Trace& trace_;
  const TraceOptions& options_;
  double latest_ = 0, first_ = -1;
  std::map<std::string, std::int32_t> sessions_;
};

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

// "2023-11-16 18:17:03.9799600" as seconds since 1970 (days by Howard Hinnant's formula).
double read_date(std::string_view text, const std::string& where) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0;
  double s = 0;
  if (std::sscanf(std::string(text).c_str(), "%d-%d-%d %d:%d:%lf", &y, &mo, &d, &h, &mi, &s) != 6 ||
      y < 0 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 24 || mi < 0 ||
      mi > 59 || !(s >= 0 && s < 61)) {
    throw InputError(fmt::format("{}: expected a time such as 2023-11-16 18:17:03.98, got '{}'",
                                 where, shortened(text)));
  }
  y -= mo <= 2;
  const int era = y / 400, year = y - era * 400;
  const int day = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int days = era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
  return days * 86400.0 + h * 3600 + mi * 60 + s;
}

// Which columns of a CSV trace hold what.
struct Columns {
  std::optional<int> arrival, input, output, session, ids;
  bool dates = false;
};

Columns columns_of(const CsvReader& csv, const std::string& name) {
  struct Known {
    const char *arrival, *input, *output;
    bool dates;
  };
  constexpr Known kKnown[] = {
      {"arrival_s", "input_tokens", "output_tokens", false},
      {"TIMESTAMP", "ContextTokens", "GeneratedTokens", true},
      {"Timestamp", "Request tokens", "Response tokens", false},
      {"arrived_at", "num_prefill_tokens", "num_decode_tokens", false},
      {"arrival_timestamp", "prompt_size", "token_size", false},
  };
  for (const Known& k : kKnown) {
    Columns c{csv.find(k.arrival),    csv.find(k.input),     csv.find(k.output),
              csv.find("session_id"), csv.find("block_ids"), k.dates};
    // Lengths alone, as VIDUR's length files.
    if (c.input && c.output) return c;
  }
  throw InputError(fmt::format(
      "{}: not a trace that is known; expected columns arrival_s, input_tokens, output_tokens, or "
      "those of the Azure, BurstGPT, VIDUR or Splitwise traces",
      name));
}

void read_csv(CsvReader& csv, const std::string& name, const TraceOptions& options, Trace& trace) {
  const Columns c = columns_of(csv, name);
  Collector collector(trace, options);
  bool first = true, known_size = false;
  double start = 0;
  while (!collector.full() && csv.next()) {
    const std::string where = fmt::format("{}:{}", name, csv.line());
    Line line;
    const bool timed = c.arrival && !csv.empty(*c.arrival);
    if (first) trace.has_arrivals = timed;
    if (timed != trace.has_arrivals) {
      throw InputError(fmt::format("{}: some requests have an arrival, others have none", where));
    }
    if (timed) {
      line.arrival = c.dates ? read_date(csv.text(*c.arrival), where) : csv.number(*c.arrival);
      // Days since 1970 are beyond what simulated time holds.
      if (c.dates) {
        if (first) start = line.arrival;
        line.arrival -= start;
      }
    }
    line.input = csv.number(*c.input);
    line.output = csv.number(*c.output);
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
  Collector collector(trace, options);
  std::string text;
  for (int number = 1; !collector.full() && std::getline(in, text); ++number) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::string where = fmt::format("{}:{}", name, number);
    try {
      const auto j = nlohmann::json::parse(text);
      const auto num = [&](const char* key) { return j.at(key).get<double>(); };
      Line line;
      if (j.contains("input_toks")) {
        line.arrival = num("arrival_time_ns") * 1e-9;
        line.input = num("input_toks");
        line.output = num("output_toks");
      } else {
        const bool bailian = j.contains("chat_id");
        line.arrival = num("timestamp") * (bailian ? 1 : 1e-3);
        line.input = num("input_length");
        line.output = num("output_length");
        trace.load.id_tokens = bailian ? 16 : 512;
        if (const auto ids = j.find("hash_ids"); ids != j.end())
          line.ids = ids->get<std::vector<std::uint64_t>>();
        if (const auto s = j.find("session_id"); s != j.end()) line.session = s->dump();
      }
      collector.add(line, where);
    } catch (const nlohmann::json::exception& e) {
      std::string_view why = e.what();
      why.remove_prefix(std::min(why.find("] ") + 2, why.size()));  // the library's error number
      throw InputError(
          fmt::format("{}: expected a line of a Mooncake, Qwen-Bailian or LLMServingSim trace: {}",
                      where, shortened(why, 200)));
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

Trace read_trace(const std::filesystem::path& path, const TraceOptions& options) {
  const std::string name = path.string();
  if (!std::filesystem::is_regular_file(path))
    throw InputError(fmt::format("{}: no such file", name));
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
