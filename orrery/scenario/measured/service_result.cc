#include "orrery/scenario/measured/service_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/base/node_builder.h"
#include "orrery/base/quantile.h"
#include "orrery/serving/requests/arrivals.h"
#include "orrery/serving/requests/load.h"

namespace orrery {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kLargestFile = 1u << 30;

std::int32_t tokens(double v) {
  if (!(v >= 1 && v <= 1 << 24))
    throw InputError(fmt::format("a length of {} tokens: expected 1 to {}", v, 1 << 24));
  return static_cast<std::int32_t>(std::lround(v));
}

// One answered request; times in seconds.
struct Answered {
  double start, input, output, ttft, e2e;
};

void add_distribution(ServiceResult& r, const std::string& name, const std::vector<double>& ms) {
  if (ms.empty()) return;
  double sum = 0;
  for (double v : ms) sum += v;
  r.figures[name] = sum / static_cast<double>(ms.size());
  r.figures[name + "_p50"] = quantile(ms, 0.5);
  r.figures[name + "_p90"] = quantile(ms, 0.9);
  r.figures[name + "_p99"] = quantile(ms, 0.99);
}

// Load and figures from single requests.
void add_requests(ServiceResult& r, std::vector<Answered> all) {
  if (all.empty()) throw InputError("no request was answered");
  std::stable_sort(all.begin(), all.end(),
                   [](const Answered& a, const Answered& b) { return a.start < b.start; });
  std::vector<double> ttft, tpot, e2e;
  double output = 0, end = 0;
  constexpr double kLongest = 100 * 86400.0;  // simulated time ends at 106 days
  for (const Answered& a : all) {
    if (!(a.start - all.front().start <= kLongest && a.ttft > 0 && a.ttft <= a.e2e &&
          a.e2e <= kLongest))
      throw InputError(fmt::format(
          "a request with times that cannot be: started {} s after the first, first token "
          "after {} s, last after {} s",
          a.start - all.front().start, a.ttft, a.e2e));
    Request q;
    q.arrival = sim_seconds(a.start - all.front().start);
    q.input = tokens(a.input);
    q.output = tokens(a.output);
    r.load.requests.push_back(q);
    ttft.push_back(a.ttft * 1e3);
    e2e.push_back(a.e2e * 1e3);
    if (q.output > 1) tpot.push_back((a.e2e - a.ttft) / (q.output - 1) * 1e3);
    output += q.output;
    end = std::max(end, a.start + a.e2e);
  }
  add_distribution(r, "ttft", ttft);
  add_distribution(r, "tpot", tpot);
  add_distribution(r, "e2e", e2e);
  const double span = end - all.front().start;
  if (span > 0) {
    r.figures["output_throughput"] = output / span;
    r.figures["request_throughput"] = static_cast<double>(all.size()) / span;
  }
}

// The lengths of the answered requests, if the file lists them; failed requests have none. With
// `starts` the requests are sent at the listed times, relative to the first.
RequestLoad listed_load(const std::vector<double>& inputs, const std::vector<double>& outputs,
                        const std::vector<double>& starts) {
  RequestLoad load;
  const double first = starts.empty() ? 0 : *std::min_element(starts.begin(), starts.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (outputs[i] < 1) continue;  // failed
    Request q;
    if (!starts.empty()) q.arrival = sim_seconds(starts[i] - first);
    q.input = tokens(inputs[i]);
    q.output = tokens(outputs[i]);
    load.requests.push_back(q);
  }
  std::stable_sort(load.requests.begin(), load.requests.end(),
                   [](const Request& a, const Request& b) { return a.arrival < b.arrival; });
  return load;
}

// Arrivals as the file states them: a rate, or "inf"; SGLang writes an infinite rate as Infinity
// (null here) and the timestamps of a trace as "trace", which only the throughput replaces.
void set_stated_arrivals(const json& j, double count, LoadSpec& spec) {
  const auto rate = j.find("request_rate");
  spec.arrivals = "at-once";
  if (rate == j.end()) return;
  if (rate->is_number()) {
    spec.arrivals = "gamma";
    spec.parameters.rate = rate->get<double>();
    set_arrival_parameter(spec.parameters.own, spec.arrivals, "burstiness",
                          fmt::format("{}", j.value("burstiness", 1.0)));
  } else if (rate->is_string() && rate->get<std::string>() == "trace") {
    spec.arrivals = "poisson";
    spec.parameters.rate = count / j.at("duration").get<double>();
  }
}

// Results of vLLM and SGLang, whose keys differ only for the latency of whole requests.
ServiceResult read_bench(const json& j) {
  ServiceResult r;
  const bool sglang = j.contains("mean_e2e_latency_ms");
  r.tool = sglang ? "sglang" : "vllm";
  if (const auto c = j.find("max_concurrency"); c != j.end() && c->is_number())
    r.max_concurrency = c->get<std::int64_t>();
  const auto list = [&](const char* key) {
    const auto it = j.find(key);
    return it == j.end() || !it->is_array() ? std::vector<double>()
                                            : it->get<std::vector<double>>();
  };
  const std::vector<double> starts = list("start_times"), inputs = list("input_lens"),
                            outputs = list("output_lens");
  const std::size_t n = inputs.size();
  const bool listed = n > 0 && outputs.size() == n;
  LoadSpec spec;
  spec.requests = j.at("completed").get<std::int64_t>();
  if (spec.requests < 1) throw InputError("no request was answered");
  const auto count = static_cast<double>(spec.requests);
  set_stated_arrivals(j, count, spec);
  r.about = fmt::format("{}, {} requests",
                        !arrival_kind(spec.arrivals).reads.rate
                            ? std::string("all requests at once")
                            : fmt::format("{:.4g} requests/s", spec.parameters.rate),
                        spec.requests);
  if (r.max_concurrency > 0) r.about += fmt::format(", at most {} at a time", r.max_concurrency);
  if (listed && starts.size() == n) {
    r.load = listed_load(inputs, outputs, starts);
    // The start times include the waits that a limit on concurrency caused.
    r.max_concurrency = 0;
  } else if (listed) {
    r.detail = LoadDetail::kLengths;
    r.load = listed_load(inputs, outputs, {});
    if (r.load.requests.empty()) throw InputError("no request was answered");
    spec.requests = static_cast<std::int64_t>(r.load.requests.size());
    set_arrivals(spec, r.load);
  } else {
    r.detail = LoadDetail::kTotals;
    const auto mean = [&](const char* key) {
      return Lengths::parse(fmt::format("{}", tokens(j.at(key).get<double>() / count)));
    };
    spec.input = mean("total_input_tokens");
    spec.output = mean("total_output_tokens");
    r.load = make_load(spec);
  }
  const auto take = [&](const std::string& key, const std::string& name) {
    if (const auto it = j.find(key); it != j.end() && it->is_number())
      r.figures[name] = it->get<double>();
  };
  for (const auto& [key, name] : {std::pair{"ttft", "ttft"},
                                  {"tpot", "tpot"},
                                  {"itl", "itl"},
                                  {sglang ? "e2e_latency" : "e2el", "e2e"}}) {
    take(fmt::format("mean_{}_ms", key), name);
    take(fmt::format("median_{}_ms", key), std::string(name) + "_p50");
    take(fmt::format("p90_{}_ms", key), std::string(name) + "_p90");
    take(fmt::format("p99_{}_ms", key), std::string(name) + "_p99");
  }
  take("request_throughput", "request_throughput");
  take("output_throughput", "output_throughput");
  take("total_throughput", "total_throughput");
  return r;
}

ServiceResult read_guidellm(const json& j) {
  ServiceResult r;
  r.tool = "guidellm";
  std::vector<Answered> all;
  for (const json& q : j.at("benchmarks").at(0).at("requests").at("successful")) {
    all.push_back({.start = q.at("request_start_time").get<double>(),
                   .input = q.at("prompt_tokens").get<double>(),
                   .output = q.at("output_tokens").get<double>(),
                   .ttft = q.at("time_to_first_token_ms").get<double>() * 1e-3,
                   .e2e = q.at("request_latency").get<double>()});
  }
  add_requests(r, std::move(all));
  return r;
}

// A figure of AIPerf in seconds, by its unit ("unit is authoritative"; ms where there is none).
double seconds(const json& figure, const char* key) {
  const std::string unit = figure.value("unit", "ms");
  const double scale = unit == "ms"                        ? 1e-3
                       : unit == "s" || unit == "sec"      ? 1
                       : unit == "us" || unit == "\u00b5s" ? 1e-6
                       : unit == "ns"                      ? 1e-9
                                                           : 0;
  if (scale == 0) throw InputError(fmt::format("unknown unit '{}' of time", unit));
  return figure.at(key).get<double>() * scale;
}

// AIPerf's records. Requests that failed, were cancelled or only warmed up are left out.
ServiceResult read_aiperf_records(const std::vector<json>& lines) {
  ServiceResult r;
  r.tool = "aiperf";
  std::vector<Answered> all;
  for (const json& j : lines) {
    const json& about = j.at("metadata");
    const auto error = j.find("error");
    if ((error != j.end() && !error->is_null()) || about.value("was_cancelled", false) ||
        about.value("benchmark_phase", "profiling") != "profiling")
      continue;
    const json& m = j.at("metrics");
    const auto tokens_of = [&](const char* key) { return m.at(key).at("value").get<double>(); };
    const double latency = seconds(m.at("request_latency"), "value");
    // Without streaming there is no time of the first token, except for outputs of one token.
    const auto first = m.find("time_to_first_token");
    all.push_back({.start = about.at("request_start_ns").get<double>() * 1e-9,
                   .input = tokens_of("input_sequence_length"),
                   .output = tokens_of("output_sequence_length"),
                   .ttft = first == m.end() ? latency : seconds(*first, "value"),
                   .e2e = latency});
  }
  add_requests(r, std::move(all));
  return r;
}

// The first number under that key, however deep: AIPerf's versions nest their configuration
// differently.
std::optional<double> number_below(const json& j, const std::string& key) {
  if (!j.is_structured()) return std::nullopt;
  if (j.is_object()) {
    if (const auto it = j.find(key); it != j.end() && it->is_number()) return it->get<double>();
  }
  for (const json& member : j) {
    if (const auto found = number_below(member, key)) return found;
  }
  return std::nullopt;
}

ServiceResult read_aiperf_totals(const json& j) {
  ServiceResult r;
  r.tool = "aiperf";
  r.detail = LoadDetail::kTotals;
  const auto average = [&](const char* key) { return j.at(key).at("avg").get<double>(); };
  LoadSpec spec;
  const double count = average("request_count");
  if (!(count >= 1 && count <= 1e8)) throw InputError(fmt::format("{} requests", count));
  spec.requests = std::llround(count);
  spec.input = Lengths::parse(fmt::format("{}", tokens(average("input_sequence_length"))));
  spec.output = Lengths::parse(fmt::format("{}", tokens(average("output_sequence_length"))));
  const json config = j.value("input_config", json::object());
  const auto rate = number_below(config, "request_rate"),
             concurrency = number_below(config, "concurrency");
  if (concurrency) r.max_concurrency = static_cast<std::int64_t>(*concurrency);
  const bool paced = rate || !concurrency;
  spec.arrivals = paced ? "poisson" : "at-once";
  if (paced) {
    const double answered = average("request_throughput");
    // Requests arrived until about one latency before the last one was answered.
    const double span = count / answered - seconds(j.at("request_latency"), "avg");
    spec.parameters.rate = rate ? *rate : span > 0 ? count / span : answered;
  }
  r.load = make_load(spec);
  const auto take = [&](const char* tag, const std::string& name) {
    const auto it = j.find(tag);
    if (it == j.end()) return;
    for (const auto& [key, ending] :
         {std::pair{"avg", ""}, {"p50", "_p50"}, {"p90", "_p90"}, {"p99", "_p99"}}) {
      if (it->contains(key)) r.figures[name + ending] = seconds(*it, key) * 1e3;
    }
  };
  take("time_to_first_token", "ttft");
  take("inter_token_latency", "tpot");  // of each request the mean of its gaps
  take("request_latency", "e2e");
  r.figures["request_throughput"] = average("request_throughput");
  if (j.contains("output_token_throughput"))
    r.figures["output_throughput"] = average("output_token_throughput");
  return r;
}

// Python writes numbers that JSON does not have (Infinity, NaN): null in their place.
std::string without_infinities(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += c, out += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    const std::string_view rest = std::string_view(text).substr(i);
    bool replaced = false;
    for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
      if (quoted || !rest.starts_with(word)) continue;
      out += "null";
      i += word.size() - 1;
      replaced = true;
      break;
    }
    if (!replaced) out += c;
  }
  return out;
}

// The JSON values of a text: one value, or one per line.
std::vector<json> json_values(const std::string& text) {
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return {std::move(whole)};
  std::vector<json> values;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \r\t") == line.npos) continue;
    values.push_back(json::parse(line));
  }
  return values;
}

std::vector<ServiceResult> results_of(const std::vector<json>& values) {
  if (values.empty()) throw InputError("the file is empty");
  const json& first = values.front();
  if (first.contains("metadata") && first.contains("metrics")) return {read_aiperf_records(values)};
  if (first.contains("request_latency")) return {read_aiperf_totals(first)};
  if (first.contains("benchmarks")) return {read_guidellm(first)};
  std::vector<ServiceResult> runs;
  for (const json& j : values) {
    if (!j.contains("mean_ttft_ms"))
      throw InputError(
          "expected the result of vLLM's bench serve or sglang.bench_serving (mean_ttft_ms), "
          "AIPerf's profile_export.jsonl (metadata, metrics) or profile_export_aiperf.json "
          "(request_latency), or GuideLLM's benchmarks.json (benchmarks)");
    runs.push_back(read_bench(j));
  }
  return runs;
}

}  // namespace

std::vector<ServiceResult> read_service_results(const std::filesystem::path& path) {
  const std::string text = without_infinities(read_text_file(path, kLargestFile));
  try {
    return results_of(json_values(text));
  } catch (const json::exception& e) {
    std::string_view why = e.what();
    why.remove_prefix(std::min(why.find("] ") + 2, why.size()));  // the library's error number
    throw InputError(fmt::format("{}: {}", path.string(), shortened(why, 200)));
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}: {}", path.string(), e.what()));
  }
}

}  // namespace orrery
