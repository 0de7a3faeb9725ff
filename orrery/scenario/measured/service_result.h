// Reads what load generators measured on a real service, for comparison with the simulation of the
// same load. The format is recognised by its keys:
//
//   vLLM       `vllm bench serve --save-result` writes one JSON object; with --save-detailed it has
//              every request, and with --append-result the file has one object after another
//   SGLang     `sglang.bench_serving` appends one JSON object a run (JSON lines)
//   AIPerf     profile_export.jsonl (one line a request), or profile_export_aiperf.json (totals)
//   GuideLLM   benchmarks.json (its first benchmark)
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "orrery/serving/requests/request.h"

namespace orrery {

// How much the file says about the load.
enum class LoadDetail {
  kRequests,  // when every request was sent, and its lengths
  kLengths,   // the lengths of every request, but not when it was sent
  kTotals,    // mean lengths only
};

struct ServiceResult {
  std::string tool;  // "vllm", "sglang", "aiperf", "guidellm"
  // The answered requests. Properties that the file lacks are assumed: lengths are the means;
  // arrivals are Poisson (or gamma with the stated burstiness) at the stated rate, all at once if
  // that is infinite or only a concurrency is stated, and otherwise at the rate that follows from
  // the throughput.
  RequestLoad load;
  LoadDetail detail = LoadDetail::kRequests;
  std::int64_t max_concurrency = 0;  // requests under way at once; 0: the file states no limit
  // The load in words, for headings: "4 requests/s, 200 requests".
  std::string about;
  // Measured figures by the names and in the units of the answer's metrics: "ttft" (the mean),
  // "ttft_p50", "ttft_p99", "tpot", "e2e", "output_throughput", ...
  std::map<std::string, double> figures;
};

// All runs of the file, in its order; at least one.
// InputError: not JSON, none of these formats, or a key that is missing or out of range.
std::vector<ServiceResult> read_service_results(const std::filesystem::path& path);

}  // namespace orrery
