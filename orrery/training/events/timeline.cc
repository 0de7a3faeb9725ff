#include "orrery/training/events/timeline.h"

#include <fmt/format.h>

#include <array>
#include <iterator>
#include <string_view>

#include "orrery/base/index.h"

namespace orrery {
namespace {

std::string name_of(const TimelineEvent& e) {
  using K = TimelineEvent::Kind;
  switch (e.kind) {
    case K::kGather:
      return fmt::format("gather {}", e.virtual_stage);
    case K::kReduce:
      return fmt::format("reduce {}", e.virtual_stage);
    case K::kTensor:
      return fmt::format("tensor {}", e.micro_batch);
    case K::kContext:
      return fmt::format("context {}", e.micro_batch);
    case K::kOffload:
      return fmt::format("offload {}", e.micro_batch);
    case K::kReload:
      return fmt::format("reload {}", e.micro_batch);
    case K::kExchange:
      return fmt::format("exchange {}", e.micro_batch);
    default:
      return fmt::format("{} {}", to_text(static_cast<Pass>(e.kind)), e.micro_batch);
  }
}

}  // namespace

std::string pipeline_trace(const PipelineResult& result) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  out += R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"pipeline"}})";
  const auto add = [&](int thread, const TimelineEvent& e, const std::string& name) {
    fmt::format_to(
        std::back_inserter(out),
        ",\n"
        R"({{"ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","args":{{"virtual_stage":{}}}}})",
        thread, e.start.value() * 1e6, (e.end - e.start).value() * 1e6, name, e.virtual_stage);
  };
  constexpr std::array<std::string_view, kStreams> kNames = {"",         " data",   " tensor",
                                                             " context", " expert", " host"};
  std::vector<bool> named;
  const auto& events = result.events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const TimelineEvent& e = events[i];
    const int thread = kStreams * e.stage + static_cast<int>(e.stream);
    const auto t = static_cast<std::size_t>(thread);
    if (named.size() <= t) named.resize(t + 1);
    if (!named[t]) {
      named[t] = true;
      fmt::format_to(
          std::back_inserter(out),
          ",\n"
          R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":"stage {}{}"}}}})",
          thread, e.stage, kNames[index(e.stream)]);
    }
    if (e.paired && i + 1 < events.size() && events[i + 1].paired) {
      add(thread, e, name_of(e) + " + " + name_of(events[i + 1]));
      ++i;
    } else {
      add(thread, e, name_of(e));
    }
  }
  return out + "\n]}\n";
}

}  // namespace orrery
