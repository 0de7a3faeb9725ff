#include "orrery/serving/requests/trace.h"

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
#include "orrery/base/node.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr double kLongestField = 1 << 24;
constexpr std::int32_t kBlock = 16;        // tokens of an id
constexpr double kLatest = 100 * 86400.0;  // seconds; simulated time ends at 106 days

// One request of a trace before scaling.
struct Line {
  double arrival = 0;             // seconds
  std::optional<double> follows;  // its arrival is this long after the end of its session's last
  double input = 0, output = 0, priority = 0;
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

  // Whether requests of that session came before.
  bool knows(const std::string& session) const { return sessions_.contains(session); }

  void add(const Line& line, const std::string& where) {
    line.follows ? check_delay(*line.follows, where) : check_arrival(line, where);
    const std::int32_t input = length(line.input, where), output = length(line.output, where);
    if (input == 0 || output == 0) {
      ++trace_.zero_lengths;
      if (line.follows) sessions_.at(line.session).delay += *line.follows;
      return;
    }
    Request r;
    r.arrival = sim_seconds((latest_ - std::max(first_, 0.0)) * options_.time_scale);
    r.input = input;
    r.output = output;
    r.priority = priority(line.priority, where);
    Session* session = nullptr;
    if (!line.session.empty()) {
      const auto number = static_cast<std::int32_t>(sessions_.size());
      session = &sessions_.try_emplace(line.session, Session{number}).first->second;
      r.session = session->number;
    }
    auto& ids = trace_.load.ids;
    r.first_id = static_cast<std::uint32_t>(ids.size());
    r.ids = static_cast<std::uint32_t>(line.ids.size());
    ids.insert(ids.end(), line.ids.begin(), line.ids.end());
    auto& requests = trace_.load.requests;
    requests.push_back(r);
    if (!trace_.load.follow_ups.empty()) trace_.load.follow_ups.resize(requests.size());
    if (!session) return;
    if (line.follows && session->last >= 0) {
      trace_.load.follow(static_cast<std::size_t>(session->last), requests.size() - 1,
                         sim_seconds(*line.follows + session->delay));
    }
    session->last = static_cast<std::int64_t>(requests.size()) - 1;
    session->delay = 0;
  }

 private:
  struct Session {
    std::int32_t number = 0;
    std::int64_t last = -1;  // its last request
    double delay = 0;        // seconds, of turns that were left out after it
  };

  static void check_delay(double delay, const std::string& where) {
    if (!(delay >= 0 && delay <= kLatest))
      throw InputError(fmt::format("{}: a delay of {} s: expected 0 to {}", where, delay, kLatest));
  }

  void check_arrival(const Line& line, const std::string& where) {
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
  }

  std::int32_t length(double v, const std::string& where) const {
    if (!(v >= 0 && v <= kLongestField && v == std::floor(v))) {
      throw InputError(fmt::format("{}: a length of {}: expected a whole number up to {}", where, v,
                                   kLongestField));
    }
    if (v == 0) return 0;
    return static_cast<std::int32_t>(
        std::lround(std::clamp(v * options_.length_scale, 1.0, kLongestField)));
  }

  static std::int32_t priority(double v, const std::string& where) {
    if (!(std::abs(v) <= 1e9 && v == std::floor(v)))
      throw InputError(fmt::format("{}: a priority of {}: expected a whole number", where, v));
    return static_cast<std::int32_t>(v);
  }

  Trace& trace_;
  const TraceOptions& options_;
  double latest_ = 0, first_ = -1;
  std::map<std::string, Session> sessions_;
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
  std::optional<int> arrival, input, output, session, ids, priority;
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
    Columns c{csv.find(k.arrival),
              csv.find(k.input),
              csv.find(k.output),
              csv.find("session_id"),
              csv.find("block_ids"),
              csv.find("priority"),
              k.dates};
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

using Json = nlohmann::json;

double number(const Json& j, const char* key) { return j.at(key).get<double>(); }

// Absent or null: none.
std::optional<double> optional_number(const Json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || it->is_null()) return std::nullopt;
  return it->get<double>();
}

// Ids of whole blocks of 16 tokens, each of all tokens up to its end (FNV-1a, chained).
std::vector<std::uint64_t> block_ids(const std::vector<std::int64_t>& tokens) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325u, kPrime = 0x100000001b3u;
  std::vector<std::uint64_t> ids;
  std::uint64_t hash = kBasis;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(tokens[i])) * kPrime;
    if (i % kBlock == kBlock - 1) ids.push_back(hash);
  }
  return ids;
}

// Lines of JSON. A trace is of one tool; LLMServingSim mixes single requests with sessions.
class JsonLines {
 public:
  JsonLines(Trace& trace, const TraceOptions& options)
      : trace_(trace), collector_(trace, options) {}

  bool full() const { return collector_.full(); }

  void add(const Json& j, const std::string& where) {
    if (j.contains("sub_requests")) {
      add_session(j, where);
    } else if (j.contains("input_toks")) {
      Line line = serving_sim_line(j, where);
      line.arrival = number(j, "arrival_time_ns") * 1e-9;
      collector_.add(line, where);
    } else if (j.contains("chat_id")) {
      add_bailian(j, where);
    } else {
      add_mooncake(j, where);
    }
  }

 private:
  static std::vector<std::int64_t> tokens(const Json& j, const char* key, double expected,
                                          const std::string& where) {
    const auto it = j.find(key);
    if (it == j.end() || it->is_null()) return {};
    auto out = it->get<std::vector<std::int64_t>>();
    if (!out.empty() && static_cast<double>(out.size()) != expected)
      throw InputError(
          fmt::format("{}: {} has {} tokens, expected {}", where, key, out.size(), expected));
    return out;
  }

  Line serving_sim_line(const Json& j, const std::string& where) {
    Line line;
    line.input = number(j, "input_toks");
    line.output = number(j, "output_toks");
    trace_.load.id_tokens = kBlock;
    auto all = tokens(j, "input_tok_ids", line.input, where);
    if (all.empty()) return line;
    const auto made = tokens(j, "output_tok_ids", line.output, where);
    all.insert(all.end(), made.begin(), made.end());
    // Only whole blocks have ids: they name outputs where these are given.
    trace_.load.names_outputs = true;
    line.ids = block_ids(all);
    return line;
  }

  void add_session(const Json& j, const std::string& where) {
    const double arrival = number(j, "arrival_time_ns") * 1e-9;
    const std::string session = j.at("session_id").dump();
    double tool = 0;
    bool first = !collector_.knows(session);
    if (!first) throw InputError(fmt::format("{}: session {} stands twice", where, session));
    for (const Json& turn : j.at("sub_requests")) {
      if (collector_.full()) return;
      Line line = serving_sim_line(turn, where);
      line.arrival = arrival;
      line.session = session;
      if (!first && collector_.knows(session)) line.follows = tool;
      collector_.add(line, where);
      tool = optional_number(turn, "tool_duration_ns").value_or(0) * 1e-9;
      first = false;
    }
  }

  static void add_hash_ids(const Json& j, Line& line) {
    if (const auto ids = j.find("hash_ids"); ids != j.end() && !ids->is_null())
      line.ids = ids->get<std::vector<std::uint64_t>>();
  }

  void add_bailian(const Json& j, const std::string& where) {
    Line line;
    line.arrival = number(j, "timestamp");
    line.input = number(j, "input_length");
    line.output = number(j, "output_length");
    trace_.load.id_tokens = kBlock;
    add_hash_ids(j, line);
    // A chat goes on under another id; its first one names the session.
    const std::string chat = j.at("chat_id").dump();
    const auto parent = j.find("parent_chat_id");
    const auto root = parent == j.end() ? roots_.end() : roots_.find(parent->dump());
    line.session = root == roots_.end() ? chat : std::string(root->second);
    roots_[chat] = line.session;
    collector_.add(line, where);
  }

  void add_mooncake(const Json& j, const std::string& where) {
    Line line;
    line.input = number(j, "input_length");
    line.output = number(j, "output_length");
    trace_.load.id_tokens = 512;
    add_hash_ids(j, line);
    if (const auto s = j.find("session_id"); s != j.end() && !s->is_null())
      line.session = s->dump();
    const auto timestamp = optional_number(j, "timestamp"), delay = optional_number(j, "delay");
    const bool later = !line.session.empty() && collector_.knows(line.session);
    if (timestamp && delay)
      throw InputError(fmt::format("{}: a timestamp or a delay, not both", where));
    if (!timestamp && later) {
      line.follows = delay.value_or(0) * 1e-3;
    } else {
      if (!timed_) trace_.has_arrivals = timestamp.has_value();
      if (timed_ && trace_.has_arrivals != timestamp.has_value())
        throw InputError(
            fmt::format("{}: some requests have a timestamp, others have none", where));
      timed_ = true;
      line.arrival = timestamp.value_or(0) * 1e-3;
    }
    collector_.add(line, where);
  }

  Trace& trace_;
  Collector collector_;
  std::map<std::string, std::string> roots_;  // of Bailian's chats
  bool timed_ = false;                        // whether requests have timestamps is known
};

void read_jsonl(std::istream& in, const std::string& name, const TraceOptions& options,
                Trace& trace) {
  JsonLines lines(trace, options);
  std::string text;
  for (int line = 1; !lines.full() && std::getline(in, text); ++line) {
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    const std::string where = fmt::format("{}:{}", name, line);
    try {
      lines.add(Json::parse(text), where);
    } catch (const Json::exception& e) {
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
