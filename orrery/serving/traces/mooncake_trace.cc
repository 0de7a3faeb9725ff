// Mooncake's traces (github.com/kvcache-ai/Mooncake, FAST25-release/traces; Qin et al. 2024,
// arXiv:2407.00079).
//
//   {"timestamp": ms, "input_length", "output_length", "hash_ids": [one for each 512 tokens]}
//
// AIPerf's extension: a line with a "session_id" seen before may have a "delay" (ms) instead of a
// timestamp. It is sent so long after the end of the session's previous request.
#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/serving/traces/trace_format.h"

namespace orrery {
namespace {

class Mooncake : public JsonTraceFormat {
 public:
  bool takes(const nlohmann::json& j) const override { return j.contains("input_length"); }

  void add(const nlohmann::json& j, const std::string& where, TraceCollector& collector) override {
    TraceLine line;
    line.input = json_number(j, "input_length");
    line.output = json_number(j, "output_length");
    Trace& trace = collector.trace();
    trace.load.id_tokens = 512;
    line.ids = json_hash_ids(j);
    if (const auto s = j.find("session_id"); s != j.end() && !s->is_null())
      line.session = s->dump();
    const auto timestamp = optional_json_number(j, "timestamp"),
               delay = optional_json_number(j, "delay");
    const bool later = !line.session.empty() && collector.knows(line.session);
    if (timestamp && delay)
      throw InputError(fmt::format("{}: a timestamp or a delay, not both", where));
    if (!timestamp && later) {
      line.follows = delay.value_or(0) * 1e-3;
    } else {
      if (!timed_) trace.has_arrivals = timestamp.has_value();
      if (timed_ && trace.has_arrivals != timestamp.has_value())
        throw InputError(
            fmt::format("{}: some requests have a timestamp, others have none", where));
      timed_ = true;
      line.arrival = timestamp.value_or(0) * 1e-3;
    }
    collector.add(line, where);
  }

 private:
  bool timed_ = false;  // whether it is known if requests have timestamps
};

}  // namespace

std::unique_ptr<JsonTraceFormat> make_mooncake_trace() { return std::make_unique<Mooncake>(); }

}  // namespace orrery
