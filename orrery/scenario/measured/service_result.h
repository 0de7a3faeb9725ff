// Results of load generators on a real service, for comparison with the simulation of the same
// load: vLLM's `bench serve --save-result` JSON, AIPerf's profile_export.jsonl (a record for each
// request) or profile_export_aiperf.json (totals), GuideLLM's benchmarks.json. Told by their keys.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/serving/requests/request.h"

namespace orrery {

struct ServiceResult {
  std::string tool;  // "vllm", "aiperf", "guidellm"
  // The requests that were answered, as they were sent. Where the file has totals only: as many
  // requests of the mean lengths, at the file's rate (all at once if that is infinite, or if the
  // file states a concurrency alone; Poisson, at a rate from throughput and latency, if it states
  // neither).
  RequestLoad load;
  bool exact_load = true;
  std::int64_t max_concurrency = 0;  // 0: none stated
  // Measured figures by the names of the answer's metrics: "ttft" (mean), "ttft_p50", "ttft_p99",
  // "tpot", "e2e", "output_throughput", ... in the answer's units.
  std::map<std::string, double> figures;
};

// InputError: not JSON, none of the three forms, or a key that is missing or out of range.
ServiceResult read_service_result(const std::filesystem::path& path);

// One line of the comparison.
struct ComparedFigure {
  std::string name, unit;
  double measured = 0;
  Metric predicted;
  double difference() const { return 100 * (predicted.value / measured - 1); }  // percent
  bool within() const { return measured >= predicted.low90 && measured <= predicted.high90; }
};

struct Comparison {
  std::vector<ComparedFigure> figures;
  // What the differences point to, most likely first; empty if all are within their intervals.
  std::vector<std::string> causes;
};

// `predicted`: the simulated point of the same load.
Comparison compare(const ServiceResult& measured, const Point& predicted);

}  // namespace orrery
