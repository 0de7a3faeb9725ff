// The meaning of each metric of an Answer, as `orrery list metrics` and `orrery show` print it.
//
// Their units stand in the answer. A metric without an entry here fails a test
// (tests/golden/metric_meanings_test.cc).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace orrery {

struct MetricMeaning {
  std::string_view name;
  std::string_view asked;    // the questions that have it: "simulate", "train", ...
  std::string_view meaning;  // in a sentence
};

// All meanings, in the order of the questions: memory and steady state, services, training,
// networks, kernels.
std::span<const MetricMeaning> metric_meanings();

// The name of a percentile of a metric, from 0 to 100: "tpot_p95".
std::string percentile_metric(std::string_view metric, double percentile);

// The meaning of a metric. "ttft_p99" and "collocated_ttft" have that of ttft. If several questions
// have the name, the meaning is that of the first. Null if there is none.
const MetricMeaning* find_metric_meaning(std::string_view name);

}  // namespace orrery
