// LLMServingSim's traces (github.com/casys-kaist/LLMServingSim).
//
//   {"input_toks", "output_toks", "arrival_time_ns"[, "input_tok_ids"][, "output_tok_ids"]}
//   {"session_id", "arrival_time_ns", "sub_requests": [{"input_toks", "output_toks",
//    "tool_duration_ns", ...}]}
//
// A file may mix both. Each sub-request is sent when the one before has ended and its tool has run.
#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/serving/traces/trace_format.h"

namespace orrery {
namespace {

constexpr std::int32_t kBlock = 16;  // tokens of an id

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

class LlmServingSim : public JsonTraceFormat {
 public:
  bool takes(const nlohmann::json& j) const override {
    return j.contains("sub_requests") || j.contains("input_toks");
  }

  void add(const nlohmann::json& j, const std::string& where, TraceCollector& collector) override {
    if (j.contains("sub_requests")) {
      add_session(j, where, collector);
      return;
    }
    TraceLine line = line_of(j, where, collector.trace());
    line.arrival = json_number(j, "arrival_time_ns") * 1e-9;
    collector.add(line, where);
  }

 private:
  static std::vector<std::int64_t> tokens(const nlohmann::json& j, const char* key, double expected,
                                          const std::string& where) {
    const auto it = j.find(key);
    if (it == j.end() || it->is_null()) return {};
    auto out = it->get<std::vector<std::int64_t>>();
    if (!out.empty() && static_cast<double>(out.size()) != expected)
      throw InputError(
          fmt::format("{}: {} has {} tokens, expected {}", where, key, out.size(), expected));
    return out;
  }

  static TraceLine line_of(const nlohmann::json& j, const std::string& where, Trace& trace) {
    TraceLine line;
    line.input = json_number(j, "input_toks");
    line.output = json_number(j, "output_toks");
    trace.load.id_tokens = kBlock;
    auto all = tokens(j, "input_tok_ids", line.input, where);
    if (all.empty()) return line;
    const auto made = tokens(j, "output_tok_ids", line.output, where);
    all.insert(all.end(), made.begin(), made.end());
    // Only whole blocks have ids: they name outputs where these are given.
    trace.load.names_outputs = true;
    line.ids = block_ids(all);
    return line;
  }

  static void add_session(const nlohmann::json& j, const std::string& where,
                          TraceCollector& collector) {
    const double arrival = json_number(j, "arrival_time_ns") * 1e-9;
    const std::string session = j.at("session_id").dump();
    double tool = 0;
    bool first = !collector.knows(session);
    if (!first) throw InputError(fmt::format("{}: session {} is given twice", where, session));
    for (const nlohmann::json& turn : j.at("sub_requests")) {
      if (collector.full()) return;
      TraceLine line = line_of(turn, where, collector.trace());
      line.arrival = arrival;
      line.session = session;
      if (!first && collector.knows(session)) line.follows = tool;
      collector.add(line, where);
      tool = optional_json_number(turn, "tool_duration_ns").value_or(0) * 1e-9;
      first = false;
    }
  }
};

}  // namespace

std::unique_ptr<JsonTraceFormat> make_llm_serving_sim_trace() {
  return std::make_unique<LlmServingSim>();
}

}  // namespace orrery
