// A simulated service as files: its requests and steps, and the results of load generators.
//
// - vLLM `bench serve --save-result` (0.19): totals, {mean,median,std,p99}_{ttft,tpot,e2el}_ms;
//   detailed lists input_lens, output_lens, ttfts (s), start_times (s), errors. Of ITL only what
//   the simulation keeps, its mean, median and P99: no std_itl_ms, no itls, no
//   max_output_tokens_per_s.
// - AIPerf profile_export_aiperf.json: tag -> {unit, avg, min, max, p50, p90, p95, p99, std}; and
//   profile_export.jsonl, a record for each request. Its inter_token_latency of a request is the
//   mean of its gaps, our TPOT.
#pragma once

#include <string>
#include <string_view>

#include "orrery/scenario/answer/answer.h"

namespace orrery {

// The one simulation of an answer. InputError, which begins with `flag`: a sweep. Infeasible: it
// does not fit.
const Point& only_simulation(const Answer& answer, std::string_view flag);

std::string vllm_result(const Answer& answer);
std::string aiperf_result(const Answer& answer);
std::string aiperf_records(const Answer& answer);
std::string requests_csv(const Point& point);
std::string requests_jsonl(const Point& point);
// A row for each step as csv, and sums over every second.
std::string steps_csv(const Point& point);
std::string series_csv(const Point& point);

}  // namespace orrery
