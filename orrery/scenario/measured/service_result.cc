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

ServiceResult read_vllm(const json& j) {
  ServiceResult r;
  r.tool = "vllm";
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
  r.exact_load = n > 0 && outputs.size() == n && starts.size() == n;
  if (r.exact_load) {
    const double first = *std::min_element(starts.begin(), starts.end());
    for (std::size_t i = 0; i < n; ++i) {
      if (outputs[i] < 1) continue;  // failed
      Request q;
      q.arrival = sim_seconds(starts[i] - first);
      q.input = tokens(inputs[i]);
      q.output = tokens(outputs[i]);
      r.load.requests.push_back(q);
    }
    std::stable_sort(r.load.requests.begin(), r.load.requests.end(),
                     [](const Request& a, const Request& b) { return a.arrival < b.arrival; });
    // What a limit on concurrency held back is in the start times.
    r.max_concurrency = 0;
  } else {
    LoadSpec spec;
    spec.requests = j.at("completed").get<std::int64_t>();
    if (spec.requests < 1) throw InputError("no request was answered");
    const auto count = static_cast<double>(spec.requests);
    spec.input =
        Lengths::parse(fmt::format("{}", tokens(j.at("total_input_tokens").get<double>() / count)));
    spec.output = Lengths::parse(
        fmt::format("{}", tokens(j.at("total_output_tokens").get<double>() / count)));
    const json& rate = j.at("request_rate");
    if (rate.is_number()) {
      spec.arrivals = "gamma";
      spec.parameters.rate = rate.get<double>();
      spec.parameters.burstiness = j.value("burstiness", 1.0);
    } else {
      spec.arrivals = "at-once";
    }
    r.load = make_load(spec);
  }
  const auto take = [&](const char* key, const char* name) {
    if (const auto it = j.find(key); it != j.end() && it->is_number())
      r.figures[name] = it->get<double>();
  };
  take("mean_ttft_ms", "ttft"), take("median_ttft_ms", "ttft_p50"), take("p99_ttft_ms", "ttft_p99");
  take("mean_tpot_ms", "tpot"), take("median_tpot_ms", "tpot_p50"), take("p99_tpot_ms", "tpot_p99");
  take("mean_itl_ms", "itl"), take("median_itl_ms", "itl_p50"), take("p99_itl_ms", "itl_p99");
  take("mean_e2el_ms", "e2e"), take("median_e2el_ms", "e2e_p50"), take("p99_e2el_ms", "e2e_p99");
  take("request_throughput", "request_throughput");
  take("output_throughput", "output_throughput");
  return r;
}

ServiceResult read_guidellm(const json& j) {
  ServiceResult r;
  r.tool = "guidellm";
  std::vector<Answered> all;
  for (const json& q : j.at("benchmarks").at(0).at("requests").at("successful")) {
    all.push_back({q.at("request_start_time").get<double>(), q.at("prompt_tokens").get<double>(),
                   q.at("output_tokens").get<double>(),
                   q.at("time_to_first_token_ms").get<double>() * 1e-3,
                   q.at("request_latency").get<double>()});
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

// Requests that failed, were cancelled or only warmed up are left out.
ServiceResult read_aiperf_records(const std::string& text) {
  ServiceResult r;
  r.tool = "aiperf";
  std::vector<Answered> all;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \r\t") == line.npos) continue;
    const json j = json::parse(line);
    const json& about = j.at("metadata");
    const auto error = j.find("error");
    if ((error != j.end() && !error->is_null()) || about.value("was_cancelled", false) ||
        about.value("benchmark_phase", "profiling") != "profiling")
      continue;
    const json& m = j.at("metrics");
    const auto tokens_of = [&](const char* key) { return m.at(key).at("value").get<double>(); };
    const double latency = seconds(m.at("request_latency"), "value");
    // Without streaming there is no first token: that of one token is the last.
    const auto first = m.find("time_to_first_token");
    all.push_back({about.at("request_start_ns").get<double>() * 1e-9,
                   tokens_of("input_sequence_length"), tokens_of("output_sequence_length"),
                   first == m.end() ? latency : seconds(*first, "value"), latency});
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
  r.exact_load = false;
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
  spec.arrivals = rate || !concurrency ? "poisson" : "at-once";
  if (spec.arrivals == "poisson") {
    const double answered = average("request_throughput");
    // Requests came until about one latency before the last was answered.
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

}  // namespace

ServiceResult read_service_result(const std::filesystem::path& path) {
  const std::string text = read_text_file(path, kLargestFile);
  try {
    if (path.extension() == ".jsonl") return read_aiperf_records(text);
    const json j = json::parse(text);
    if (j.contains("request_latency")) return read_aiperf_totals(j);
    if (j.contains("benchmarks")) return read_guidellm(j);
    if (j.contains("mean_ttft_ms")) return read_vllm(j);
  } catch (const json::exception& e) {
    std::string_view why = e.what();
    why.remove_prefix(std::min(why.find("] ") + 2, why.size()));  // the library's error number
    const bool parsed = text.find_first_not_of(" \t\r\n") == text.find('{');
    throw InputError(fmt::format("{}: {}{}", path.string(), shortened(why, 200),
                                 parsed ? ""
                                        : "; no JSON: a training job's log must have lines of "
                                          "Megatron-LM, NeMo or torchtitan (orrery train --log)"));
  } catch (const InputError& e) {
    throw InputError(fmt::format("{}: {}", path.string(), e.what()));
  }
  throw InputError(fmt::format(
      "{}: expected the result of vLLM's bench serve (mean_ttft_ms), AIPerf's profile_export.jsonl "
      "or profile_export_aiperf.json (request_latency), or GuideLLM's benchmarks.json",
      path.string()));
}

Comparison compare(const ServiceResult& measured, const Point& predicted) {
  Comparison c;
  for (const Metric& m : predicted.metrics) {
    const auto it = measured.figures.find(m.name);
    if (it != measured.figures.end() && it->second > 0)
      c.figures.push_back({m.name, m.unit, it->second, m});
  }
  const auto find = [&](std::string_view name) -> const ComparedFigure* {
    const auto it = std::find_if(c.figures.begin(), c.figures.end(),
                                 [&](const ComparedFigure& f) { return f.name == name; });
    return it == c.figures.end() ? nullptr : &*it;
  };
  const ComparedFigure *ttft = find("ttft"), *tpot = find("tpot");
  const auto value = [&](std::string_view name) {
    const Metric* m = predicted.find(name);
    return m ? m->value : 0;
  };
  const bool saturated = value("evictions") > 0 || value("kv_use") > 90;
  const bool tpot_off = tpot && !tpot->within(), ttft_off = ttft && !ttft->within();
  if (ttft_off && saturated) {
    c.causes.push_back(
        "the KV cache is full in the prediction: compare kv_tokens with the engine's own log "
        "(\"GPU KV cache size\") and set engine.utilization or the memory constants");
  }
  if (tpot_off && tpot->difference() < 0) {
    c.causes.push_back(
        value("running") < 32
            ? "steps take longer than their kernels with few sequences: host time (eager mode, a "
              "slow CPU, the API server); set engine.host_per_step"
            : "steps take longer than their kernels: another kernel or format than the one assumed "
              "(see the notes), a throttled GPU, or a slower link between GPUs");
  }
  if (tpot_off && tpot->difference() > 0) {
    c.causes.push_back(
        "the service is faster: a newer kernel or format than assumed, speculative decoding, or "
        "prefix hits that the load does not show");
  }
  if (ttft_off && !tpot_off) {
    c.causes.push_back(
        ttft->difference() < 0
            ? "steps are right and first tokens come later: tokeniser, front end or network "
              "before the engine (engine.request_overhead), or arrivals burstier than stated"
            : "steps are right and first tokens come earlier: prefix hits, or requests that were "
              "sent later than stated");
  }
  return c;
}

}  // namespace orrery
