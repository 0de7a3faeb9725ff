#include "orrery/scenario/kinds/service/result_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/quantile.h"
#include "orrery/scenario/kinds/service/service_detail.h"
#include "orrery/serving/requests/arrivals.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<RequestRow>& requests_of(const Point& p) { return service_detail(p).requests; }

double ms(Seconds t) { return t / milliseconds(1); }

// One figure over all completed requests.
template <class Of>
std::vector<double> figures(const Point& p, Of of) {
  std::vector<double> out;
  for (const RequestRow& r : requests_of(p)) {
    if (r.outcome == "done") out.push_back(of(r));
  }
  return out;
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return x.empty() ? 0 : sum / static_cast<double>(x.size());
}

double deviation(const std::vector<double>& x) {
  double sum = 0;
  const double m = mean(x);
  for (double v : x) sum += (v - m) * (v - m);
  return x.empty() ? 0 : std::sqrt(sum / static_cast<double>(x.size()));
}

double at(const std::vector<double>& x, double p) { return x.empty() ? 0 : quantile(x, p); }

double value(const Point& p, std::string_view name) {
  const Metric* m = p.find(name);
  return m ? m->value : 0;
}

std::vector<double> tpots(const Point& p) {
  std::vector<double> out;
  for (const RequestRow& r : requests_of(p)) {
    if (r.outcome == "done" && r.output > 1) out.push_back(ms(r.tpot));
  }
  return out;
}

}  // namespace

std::string requests_csv(const Point& p) {
  std::string out =
      "id,arrival_s,input_tokens,output_tokens,outcome,queue_ms,ttft_ms,tpot_ms,e2e_ms,"
      "cached_tokens,evictions,stalls,replica,front_end_ms\n";
  std::size_t id = 0;
  for (const RequestRow& r : requests_of(p)) {
    out += fmt::format("{},{:.6f},{},{},{},{:.4f},{:.4f},{:.5f},{:.4f},{},{},{},{},{:.4f}\n", id++,
                       r.arrival.value(), r.input, r.output, r.outcome, ms(r.queue), ms(r.ttft),
                       ms(r.tpot), ms(r.e2e), r.cached, r.evictions, r.stalls, r.replica,
                       ms(r.front_end));
  }
  return out;
}

std::string requests_jsonl(const Point& p) {
  std::string out;
  std::size_t id = 0;
  for (const RequestRow& r : requests_of(p)) {
    out += Json{{"id", id++},
                {"arrival_s", r.arrival.value()},
                {"input_tokens", r.input},
                {"output_tokens", r.output},
                {"outcome", r.outcome},
                {"front_end_ms", ms(r.front_end)},
                {"queue_ms", ms(r.queue)},
                {"ttft_ms", ms(r.ttft)},
                {"tpot_ms", ms(r.tpot)},
                {"e2e_ms", ms(r.e2e)},
                {"cached_tokens", r.cached},
                {"evictions", r.evictions},
                {"stalls", r.stalls},
                {"replica", r.replica}}
               .dump() +
           "\n";
  }
  return out;
}

namespace {

// The largest number of requests that were under way at the same time.
std::int64_t most_at_once(const Point& p) {
  std::vector<std::pair<double, int>> changes;  // at equal times ends come first
  for (const RequestRow& r : requests_of(p)) {
    if (r.outcome != "done") continue;
    changes.emplace_back(r.arrival.value(), 1);
    changes.emplace_back((r.arrival + r.e2e).value(), -1);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace

const Point& only_simulation(const Answer& answer, std::string_view flag) {
  if (answer.points.size() != 1)
    throw InputError(fmt::format("{}: one simulation at a time; this is a sweep of {}", flag,
                                 answer.points.size()));
  const Point& p = answer.points.front();
  if (!p.feasibility.fits) throw Infeasible(p.feasibility.reason);
  return p;
}

std::string vllm_result(const Answer& answer) {
  const Point& p = only_simulation(answer, "--output vllm, --vllm-file");
  const Json& load = answer.resolved.at("load");
  const auto ttft = figures(p, [](const RequestRow& r) { return ms(r.ttft); });
  const auto e2e = figures(p, [](const RequestRow& r) { return ms(r.e2e); });
  const auto tpot = tpots(p);
  Json j = {{"date", ""},
            {"endpoint_type", "simulated"},
            {"backend", "orrery"},
            {"label", nullptr},
            {"model_id", p.at.value("model", "")},
            {"tokenizer_id", p.at.value("model", "")},
            {"num_prompts", requests_of(p).size()},
            {"request_rate", p.at.contains("rate") ? p.at.at("rate")
                             : !arrival_kind(load.at("arrivals").get<std::string>()).reads.rate
                                 ? Json("inf")
                                 : Json(nullptr)},
            {"burstiness", load.at("burstiness")},
            {"max_concurrency",
             load.at("max_concurrency") > 0 ? load.at("max_concurrency") : Json(nullptr)},
            {"duration", value(p, "duration")},
            {"completed", ttft.size()},
            {"failed", requests_of(p).size() - ttft.size()}};
  double input = 0, output = 0;
  Json input_lens = Json::array(), output_lens = Json::array(), ttfts = Json::array(),
       starts = Json::array(), errors = Json::array();
  for (const RequestRow& r : requests_of(p)) {
    const bool done = r.outcome == "done";
    if (done) input += static_cast<double>(r.input), output += static_cast<double>(r.output);
    input_lens.push_back(r.input);
    output_lens.push_back(done ? r.output : 0);
    ttfts.push_back(r.ttft.value());
    starts.push_back(r.arrival.value());
    errors.push_back(done ? "" : r.outcome);
  }
  j["total_input_tokens"] = input;
  j["total_output_tokens"] = output;
  j["request_throughput"] = value(p, "request_throughput");
  j["request_goodput"] = p.find("goodput") ? Json(value(p, "goodput")) : Json(nullptr);
  j["output_throughput"] = value(p, "output_throughput");
  j["total_token_throughput"] = value(p, "total_throughput");
  j["max_concurrent_requests"] = most_at_once(p);
  const auto add = [&](const char* name, const std::vector<double>& x) {
    j[fmt::format("mean_{}_ms", name)] = mean(x);
    j[fmt::format("median_{}_ms", name)] = at(x, 0.5);
    j[fmt::format("std_{}_ms", name)] = deviation(x);
    j[fmt::format("p99_{}_ms", name)] = at(x, 0.99);
  };
  add("ttft", ttft);
  add("tpot", tpot);
  j["mean_itl_ms"] = value(p, "itl");
  j["median_itl_ms"] = value(p, "itl_p50");
  j["p99_itl_ms"] = value(p, "itl_p99");
  add("e2el", e2e);
  j["input_lens"] = std::move(input_lens);
  j["output_lens"] = std::move(output_lens);
  j["ttfts"] = std::move(ttfts);
  j["start_times"] = std::move(starts);
  j["errors"] = std::move(errors);
  return j.dump(1) + "\n";
}

std::string aiperf_records(const Answer& answer) {
  const Point& p = only_simulation(answer, "--aiperf-file");
  std::string out;
  std::size_t id = 0;
  for (const RequestRow& r : requests_of(p)) {
    const double start = r.arrival.value() * 1e9, end = start + r.e2e.value() * 1e9;
    const bool done = r.outcome == "done";
    Json line = {{"metadata",
                  {{"session_num", id},
                   {"x_request_id", std::to_string(id)},
                   {"turn_index", 0},
                   {"request_start_ns", std::llround(start)},
                   {"request_end_ns", std::llround(end)},
                   {"benchmark_phase", "profiling"},
                   {"was_cancelled", false}}}};
    Json& m = line["metrics"];
    const auto put = [&m](const char* tag, const char* unit, Json value) {
      m[tag] = {{"value", std::move(value)}, {"unit", unit}};
    };
    if (done) {
      put("input_sequence_length", "tokens", r.input);
      put("output_sequence_length", "tokens", r.output);
      put("time_to_first_token", "ms", ms(r.ttft));
      if (r.output > 1) put("inter_token_latency", "ms", ms(r.tpot));
      put("request_latency", "ms", ms(r.e2e));
    } else {
      put("error_isl", "tokens", r.input);
    }
    line["error"] = done ? Json(nullptr) : Json{{"type", "Rejected"}, {"message", r.outcome}};
    out += line.dump() + "\n";
    ++id;
  }
  return out;
}

std::string aiperf_result(const Answer& answer) {
  const Point& p = only_simulation(answer, "--output aiperf, --aiperf-file");
  Json j;
  const auto add = [&](const char* tag, const char* unit, const std::vector<double>& x) {
    if (x.empty()) return;
    j[tag] = {{"unit", unit},
              {"avg", mean(x)},
              {"min", *std::min_element(x.begin(), x.end())},
              {"max", *std::max_element(x.begin(), x.end())},
              {"p50", at(x, 0.5)},
              {"p90", at(x, 0.9)},
              {"p95", at(x, 0.95)},
              {"p99", at(x, 0.99)},
              {"std", deviation(x)}};
  };
  add("time_to_first_token", "ms", figures(p, [](const RequestRow& r) { return ms(r.ttft); }));
  add("inter_token_latency", "ms", tpots(p));
  add("request_latency", "ms", figures(p, [](const RequestRow& r) { return ms(r.e2e); }));
  add("input_sequence_length", "tokens",
      figures(p, [](const RequestRow& r) { return static_cast<double>(r.input); }));
  add("output_sequence_length", "tokens",
      figures(p, [](const RequestRow& r) { return static_cast<double>(r.output); }));
  j["request_throughput"] = {{"unit", "requests/sec"}, {"avg", value(p, "request_throughput")}};
  j["output_token_throughput"] = {{"unit", "tokens/sec"}, {"avg", value(p, "output_throughput")}};
  j["request_count"] = {{"unit", "requests"},
                        {"avg", figures(p, [](const RequestRow& r) { return ms(r.e2e); }).size()}};
  return j.dump(1) + "\n";
}

}  // namespace orrery
