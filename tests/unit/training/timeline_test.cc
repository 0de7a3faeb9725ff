#include "orrery/training/events/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/training/events/pipeline.h"

namespace orrery {
namespace timeline_test {

using Json = nlohmann::json;

ScheduledChunk chunk(double forward, double backward_input, double backward_weight) {
  ScheduledChunk c;
  c.forward = milliseconds(forward);
  c.backward_input = milliseconds(backward_input);
  c.backward_weight = milliseconds(backward_weight);
  return c;
}

Json trace_of(std::string_view schedule, PipelineShape shape, const ScheduledChunk& c) {
  PipelineQuestion q;
  q.shape = shape;
  q.chunks.assign(static_cast<std::size_t>(shape.virtual_stages()), c);
  return Json::parse(pipeline_trace(run_pipeline(pipeline_schedule(schedule), q, true)));
}

// The slice of that name on the thread of that name, and how many there are.
Json slice(const Json& trace, const std::string& thread, const std::string& name) {
  std::map<std::string, int> threads;
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == "thread_name") threads[e["args"]["name"]] = e["tid"];
  }
  Json found;
  if (!threads.contains(thread)) return found;
  for (const Json& e : trace["traceEvents"]) {
    if (e["ph"] == "X" && e["tid"] == threads[thread] && e["name"] == name) {
      EXPECT_TRUE(found.is_null()) << name << " twice";
      found = e;
    }
  }
  return found;
}

// Two stages, one micro-batch: F 0-1, F 1-2, B 2-5, B 5-8; the gather is before, the reduction
// after.
TEST(Timeline, AThreadAStageAndOneForItsData) {
  ScheduledChunk c = chunk(1, 1, 2);
  c.parameter_gather = milliseconds(0.5);
  c.gradient_reduce = milliseconds(4);
  const Json trace = trace_of("1f1b", {2, 1, 1}, c);
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(slice(trace, "stage 0", "F 0")["ts"], 500);
  EXPECT_EQ(slice(trace, "stage 1", "F 0")["ts"], 1500);
  EXPECT_EQ(slice(trace, "stage 1", "B 0")["ts"], 2500);
  EXPECT_EQ(slice(trace, "stage 0", "B 0")["dur"], 3000);
  EXPECT_EQ(slice(trace, "stage 0 data", "gather 0")["dur"], 500);
  EXPECT_EQ(slice(trace, "stage 1 data", "reduce 1")["ts"], 5500);
  EXPECT_EQ(slice(trace, "stage 1 data", "reduce 1")["args"]["virtual_stage"], 1);
}

TEST(Timeline, NoDataThreadWithoutData) {
  const Json trace = trace_of("zb-h1", {2, 1, 3}, chunk(1, 1, 1));
  std::set<std::string> threads;
  for (const Json& e : trace["traceEvents"]) {
    if (e["name"] == "thread_name") threads.insert(e["args"]["name"]);
  }
  EXPECT_EQ(threads, (std::set<std::string>{"stage 0", "stage 1"}));
  for (const char* name : {"F 2", "I 2", "W 2"}) {
    EXPECT_FALSE(slice(trace, "stage 1", name).is_null()) << name;
  }
}

TEST(Timeline, APairIsOneSlice) {
  const Json trace = trace_of("dualpipe-v", {1, 2, 2}, chunk(1, 1, 1));
  EXPECT_EQ(slice(trace, "stage 0", "F 1 + B 0")["dur"], 3000);
  const auto& events = trace["traceEvents"];
  EXPECT_EQ(
      std::count_if(events.begin(), events.end(), [](const Json& e) { return e["ph"] == "X"; }),
      8 - 1 + 1);  // four forwards, three whole backwards, one in two; two of them a pair
}

TEST(Timeline, WithoutEventsItIsEmpty) {
  const Json trace = Json::parse(pipeline_trace({}));
  EXPECT_EQ(trace["traceEvents"].size(), 1u);
}

}  // namespace timeline_test
}  // namespace orrery
