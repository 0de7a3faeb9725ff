#include "orrery/scenario/kinds/service/service_detail.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace orrery {

Timeline ServiceDetail::timeline() const {
  if (steps.empty()) return {};
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  std::map<std::int64_t, bool> named;
  const char* separator = "";
  const auto add = [&](const std::string& event) {
    out += separator;
    out += event;
    separator = ",\n";
  };
  for (const StepRow& s : steps) {
    if (!std::exchange(named[s.engine], true)) {
      add(fmt::format(
          R"({{"ph":"M","pid":{0},"name":"process_name","args":{{"name":"engine {0}"}}}})",
          s.engine));
    }
    const double ts = s.start.value() * 1e6;
    const char* kind = s.prompts == 0 ? "decode" : s.decodes == 0 ? "prefill" : "mixed";
    add(fmt::format(
        R"({{"ph":"X","pid":{},"tid":0,"ts":{:.3f},"dur":{:.3f},"name":"{}","args":{{"decodes":{},"prompts":{},"prompt_tokens":{}}}}})",
        s.engine, ts, (s.end - s.start).value() * 1e6, kind, s.decodes, s.prompts,
        s.prompt_tokens));
    add(fmt::format(
        R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"requests","args":{{"running":{},"waiting":{}}}}})",
        s.engine, ts, s.running, s.waiting));
    add(fmt::format(
        R"({{"ph":"C","pid":{},"ts":{:.3f},"name":"kv_use","args":{{"share":{:.4f}}}}})", s.engine,
        ts, s.kv_use));
  }
  return {"Timeline of the steps", out + "\n]}\n"};
}

const ServiceDetail& service_detail(const Point& point) {
  return dynamic_cast<const ServiceDetail&>(*point.detail);
}

}  // namespace orrery
