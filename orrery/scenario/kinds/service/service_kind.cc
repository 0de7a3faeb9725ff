// The kind of a simulated service (service_question.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/scenario/kind/document_checks.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kind/remedies.h"
#include "orrery/scenario/kinds/service/limit_texts.h"
#include "orrery/scenario/kinds/service/result_files.h"
#include "orrery/scenario/kinds/service/service_config.h"
#include "orrery/scenario/kinds/service/service_points.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/scenario/setup/engine_starts.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

namespace {

const ServiceQuestion& question(const Scenario& s) { return s.as<ServiceQuestion>(); }

void check_service(const Node& document, const Scenario&) {
  document.at("model");
  document.at("hardware").at("gpu");
  refuse_batch_lengths(document);
}

void tidy(const Scenario& s, nlohmann::ordered_json& document) {
  for (const std::string& key : steady_keys()) document["workload"].erase(key);
  if (!question(s).cluster.power_limit) document["cluster"].erase("power_limit");
}

Effort effort(const Scenario& s) {
  const ServiceQuestion& q = question(s);
  return {q.find_max_rate, q.sent() * std::max<std::int64_t>(1, q.repeat)};
}

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  answer_both_starts(
      with.facts, s, with.options,
      [&with](const Scenario& asked, const RunOptions& options, Point& p) {
        answer_services(with.facts, asked, options, p);
      },
      out.points.front());
}

// The memory of the longest request, of the first pool.
Scenario untimed(const Scenario& s, Preview& preview) {
  const ServiceQuestion& q = question(s);
  load_of(q, q.rate, preview.notes);
  if (q.sent() > 0 && q.sent() < 100 && q.trace.empty())
    preview.advice.push_back(
        fmt::format("load.requests: {} are few for a p99; take 1000", q.sent()));
  if (!q.slo.any())
    preview.advice.emplace_back(q.find_max_rate ? "load.find_max_rate: needs a limit in slo"
                                                : "slo: without limits there is no goodput");
  SteadyQuestion longest;
  longest.isl = std::max<std::int64_t>(s.workload.max_model_len, 1);
  longest.osl = 1;
  Scenario out = s;
  out.asked = longest;
  return out;
}

void add_keys(VerbKeyList& keys) {
  for (const char* key : {"objective", "model"}) keys.add_key(key, kAskedHeading);
  add_deployment_keys(keys, false);
  keys.add_group("load");
  // A board has a limit of its own (hardware.power_limit).
  keys.add_group("cluster", {.renamed = {{"power_limit", "cluster-power-limit"}}});
  for (const char* group :
       {"disaggregation", "autoscale", "failures", "slo", "speculation", "lora", "kv", "neighbour"})
    keys.add_group(group, {.prefix = group});
  keys.add_engine_keys(true);
}

void complete(const Verb& verb, const GivenTexts&, Node& document) {
  require_keys(document, {{"model", "--model"}, {"hardware.gpu", "--gpu"}}, verb.example);
  if (!document.find("load")) set_path(document, "load.seed", scalar_node("0", ""));
}

constexpr std::string_view kFiles =
    "--requests-file, --steps-file, --series-file, --vllm-file and --aiperf-file";

bool ends(const std::string& name, std::string_view with) { return name.ends_with(with); }

std::vector<AnswerFile> files() {
  return {
      {.flag = "--requests-file",
       .help = "write one row a request, as csv, or as jsonl if the name ends so",
       .needs = &RunOptions::requests,
       .text =
           [](const Answer& a, const std::string& name) {
             const Point& p = only_simulation(a, kFiles);
             return ends(name, ".jsonl") ? requests_jsonl(p) : requests_csv(p);
           }},
      {.flag = "--steps-file",
       .help = "write one row a step, as csv, or if the name ends in .json as a trace for "
               "ui.perfetto.dev",
       .needs = &RunOptions::steps,
       .text =
           [](const Answer& a, const std::string& name) {
             const Point& p = only_simulation(a, kFiles);
             return ends(name, ".json") ? p.timeline().trace : steps_csv(p);
           }},
      {.flag = "--series-file",
       .help = "write one row a second of simulated time, as csv",
       .needs = &RunOptions::steps,
       .text = [](const Answer& a,
                  const std::string&) { return series_csv(only_simulation(a, kFiles)); }},
      {.flag = "--vllm-file",
       .help = "write the result in the format of vLLM's `bench serve --save-result`",
       .needs = &RunOptions::requests,
       .text = [](const Answer& a, const std::string&) { return vllm_result(a); }},
      {.flag = "--aiperf-file",
       .help = "write the result in the format of AIPerf's profile_export_aiperf.json, or if the "
               "name ends in .jsonl of its profile_export.jsonl",
       .needs = &RunOptions::requests,
       .text = [](const Answer& a, const std::string& name) {
         return ends(name, ".jsonl") ? aiperf_records(a) : aiperf_result(a);
       }}};
}

VerbOutput output() {
  return {.picture_flag = "--plot",
          .picture = "load",
          .picture_help =
              "draw TTFT and TPOT over several rates, as SVG, or as a page if the name "
              "ends in .html",
          .files = files(),
          .forms = {{.name = "vllm", .needs = &RunOptions::requests, .text = vllm_result},
                    {.name = "aiperf", .needs = &RunOptions::requests, .text = aiperf_result}},
          .switches = {{"intervals", &RunOptions::intervals,
                        "give every figure an interval, by two further simulations with fast and "
                        "slow steps [on]"}}};
}

Verb simulate_verb() {
  return {.name = "simulate",
          .heading = "Predict an inference service",
          .place = 30,
          .help =
              "Simulates a service under load, request by request: latencies, goodput, the highest "
              "rate, queues, memory, evictions.",
          .examples =
              "  orrery simulate -m llama-3-8b -g h100-sxm --rate 2,8 --isl 1024 --osl 128\n"
              "  orrery simulate --model llama-2-7b --gpu a100-80g-sxm --trace azure_conv.csv\n"
              "  orrery simulate -m llama-3-8b -g h100-sxm --find-max-rate --slo-ttft 500ms",
          .defines = true,
          .example = "orrery simulate --model llama-3-8b --gpu h100-sxm",
          .add_keys = add_keys,
          .texts = limit_texts(),
          .any_key_heading = kEngineHeading,
          .lay = lay_limits,
          .complete = complete,
          .output = output(),
          .page = {.figures = {"ttft_p99", "tpot_p99", "e2e_p99", "output_throughput", "goodput",
                               "max_rate", "slo_attainment", "running"},
                   .across = {"tpot_p99", "tpot"},
                   .forms = {{.usual = {"model", "gpu", "tp", "replicas", "rate", "requests", "isl",
                                        "osl", "slo-ttft", "slo-tpot", "quantization", "engine"},
                              .values = {{"model", "llama-3-8b"},
                                         {"gpu", "h100-sxm"},
                                         {"rate", "2,8,16,24,32"},
                                         {"requests", "500"},
                                         {"isl", "1024"},
                                         {"osl", "128"}},
                              .marker = {"load.seed", "0"}}},
                   .compared = "gpu",
                   .waits = true,
                   .timeline = "Timeline of the steps"}};
}

}  // namespace

const QuestionKind& service_kind() {
  static const QuestionKind kind = {
      .name = "service",
      .plural = "simulated services",
      .group = "load",
      .keys = key_set<ServiceQuestion>([](Fields& fields, KeyValues& values) {
        declare(fields, values.of<ServiceQuestion>(), values.scenario.cost);
      }),
      .lone_group = "{} needs a load, because it is simulated",
      .ask = [](const Node&, const KeyValues& values) -> Asked {
        ServiceQuestion q = values.of<ServiceQuestion>();
        if (std::isinf(q.rate)) q.arrivals = "at-once", q.rate = ServiceQuestion().rate;
        return q;
      },
      .put = [](const Scenario& s,
                KeyValues& values) { values.of<ServiceQuestion>() = question(s); },
      .check = check_service,
      .tidy = tidy,
      // A search for the highest rate has no rate of its own.
      .unswept = [](const KeyValues& values) -> std::vector<std::string_view> {
        if (!values.of<ServiceQuestion>().find_max_rate) return {};
        return {"load.rate"};
      },
      .effort = effort,
      .resolved =
          [](Facts& facts, const Scenario& s) {
            return deployment_of(facts, s, engine_use(question(s)))->resolved(s);
          },
      .answer = answer,
      .untimed = untimed,
      .remedies = wider_layouts,
      .verbs = {simulate_verb()},
  };
  return kind;
}

const QuestionKind& kind_of(const ServiceQuestion&) { return service_kind(); }

}  // namespace orrery
