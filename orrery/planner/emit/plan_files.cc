#include "orrery/planner/emit/plan_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/planner/bound/planned_load.h"
#include "orrery/planner/emit/launch.h"
#include "orrery/planner/emit/platforms.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/planner/verify/slo_limits.h"
#include "orrery/scenario/document/scenario_json.h"
#include "orrery/scenario/kinds/service/service_question.h"

namespace orrery {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// A kind of engine of a plan.
struct Started {
  const EngineOption& option;
  std::int64_t engines;
  EngineRole role;
};

std::vector<Started> started(const FleetPlan& plan) {
  if (!plan.decode) return {{plan.engine, plan.engines, EngineRole::kBoth}};
  return {{plan.engine, plan.engines, EngineRole::kPrefill},
          {*plan.decode, plan.decode_engines, EngineRole::kDecode}};
}

std::string launch_script(const Bundle& bundle, const FleetPlan& plan, const std::string& model,
                          std::int64_t max_model_len) {
  std::string out = "#!/bin/sh\n# " + plan.name() + "\n";
  for (const Started& s : started(plan)) {
    const LaunchCommand c = launch_command(bundle, s.option, s.role, model, max_model_len);
    out += fmt::format("\n# {} engine{} of {} GPU{} each.\n", s.engines, s.engines == 1 ? "" : "s",
                       s.option.gpus(), s.option.gpus() == 1 ? "" : "s");
    out += board_commands(s.option.boards);
    if (!c.needs.empty()) out += fmt::format("# Needs {}.\n", c.needs);
    if (!c.options.empty())
      out += fmt::format("# Reads {}, which lies beside this file.\n", c.options_file);
    out += c.command.empty() ? fmt::format("# No command: {}.\n", c.refused) : c.command + "\n";
  }
  return out;
}

// The files of options that the commands of a plan name.
Files options_files(const Bundle& bundle, const FleetPlan& plan, const std::string& model,
                    std::int64_t max_model_len) {
  Files out;
  for (const Started& s : started(plan)) {
    LaunchCommand c = launch_command(bundle, s.option, s.role, model, max_model_len);
    if (!c.options.empty()) out.emplace_back(c.options_file, std::move(c.options));
  }
  return out;
}

std::string kubernetes(const Bundle& bundle, const FleetPlan& plan, const std::string& model,
                       std::int64_t max_model_len) {
  const LaunchCommand c =
      launch_command(bundle, plan.engine, EngineRole::kBoth, model, max_model_len);
  if (c.command.empty()) return "";
  std::string mounted, volumes, options;
  if (!c.options.empty()) {
    mounted =
        "\n          workingDir: /plan\n          volumeMounts: [{name: options, mountPath: "
        "/plan}]";
    volumes = "\n      volumes: [{name: options, configMap: {name: orrery-plan}}]";
    options = fmt::format(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: orrery-plan}}\ndata:\n  {}: {}\n",
        c.options_file, nlohmann::json(c.options).dump());
  }
  return fmt::format(
      R"(apiVersion: apps/v1
kind: Deployment
metadata: {{name: orrery-plan}}
spec:
  replicas: {}
  selector: {{matchLabels: {{app: orrery-plan}}}}
  template:
    metadata: {{labels: {{app: orrery-plan}}}}
    spec:
      containers:
        - name: engine
          image: {}
          command: ["/bin/sh", "-c"]
          args: [{}]{}
          ports: [{{containerPort: 8000}}]
          readinessProbe: {{httpGet: {{path: /health, port: 8000}}, failureThreshold: 120}}
          resources: {{limits: {{nvidia.com/gpu: {}}}}}{}
---
apiVersion: v1
kind: Service
metadata: {{name: orrery-plan}}
spec:
  selector: {{app: orrery-plan}}
  ports: [{{port: 8000}}]
{})",
      plan.engines, c.image, nlohmann::json(c.command).dump(), mounted, plan.engine.gpus(), volumes,
      options);
}

// The rate of an engine at which Kubernetes starts another one. It does so beyond a tolerance of
// 10 % of the target (kube-controller-manager's default), and the limits hold up to the headroom.
double scaling_rate(const FleetPlan& plan, double rate, double headroom) {
  constexpr double kTolerance = 1.1;
  const auto engines = static_cast<double>(plan.at_work().engines);
  return rate * (1 + headroom / 100) / engines / kTolerance;
}

// Adds engines where the load grows beyond what was proved. It never takes away those of the plan,
// because fewer engines share a queue worse, so that each serves less.
std::string autoscaler(const Bundle& bundle, const FleetPlan& plan, double rate,
                       const Point& point) {
  const Metric* headroom = point.find("headroom");
  const LaunchCommand c = launch_command(bundle, plan.engine, EngineRole::kBoth, "", 0);
  if (headroom == nullptr || c.command.empty() || c.requests_counter.empty()) return "";
  const std::int64_t size = plan.engine.gpus(), stock = plan.engine.gpu.gpus;
  return fmt::format(
      R"(---
# requests_per_second of a pod comes from an adapter of Prometheus, as rate({}[2m]).
# The limits were proved up to {:.4g} requests/s of all engines ({:.4g} planned).
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: orrery-plan}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: orrery-plan}}
  minReplicas: {}
  maxReplicas: {}
  metrics:
    - type: Pods
      pods:
        metric: {{name: requests_per_second}}
        target: {{type: AverageValue, averageValue: "{}m"}}
)",
      c.requests_counter, rate * (1 + headroom->value / 100), rate, plan.engines,
      stock > 0 ? std::max(plan.engines, stock / size) : 2 * plan.engines,
      std::llround(1000 * scaling_rate(plan, rate, headroom->value)));
}

// Sets the rate of a load; a trace is sent faster or slower.
void at_rate(ServiceQuestion& service, double rate) {
  std::vector<std::string> notes;
  if (!service.trace.empty()) {
    const double own = planned_load(service, notes).rate;
    if (own > 0 && std::abs(rate / own - 1) > 1e-9) service.time_scale *= own / rate;
    if (own > 0) return;
  }
  service.rate = rate;
}

// Plans are alternatives, and have one name in a cluster. Fleets that share GPUs run side by side:
// each has a name of its own, orrery-plan-1 and so on.
std::string named(std::string text, const Plans& plans, std::size_t fleet) {
  const std::string name = "orrery-plan";
  if (!plans.side_by_side) return text;
  const std::string own = fmt::format("{}-{}", name, fleet + 1);
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + own.size()))
    text.replace(at, name.size(), own);
  return text;
}

std::int64_t node_gpus(const Bundle& bundle, const FleetPlan& plan) {
  const Catalog catalog(bundle);
  return node_of(catalog, catalog.gpu(plan.engine.gpu.gpu), "").gpu_count;
}

std::string bench_script(const Scenario& service, const std::string& model) {
  const auto& q = service.as<ServiceQuestion>();
  std::vector<std::string> notes;
  const PlannedLoad load = planned_load(q, notes);
  return fmt::format(
      "#!/bin/sh\n"
      "# The load of the plan with vLLM's client{}. Its result is compared with the prediction by\n"
      "#   orrery compare result.json scenario.json\n"
      "vllm bench serve --model {} --dataset-name random --random-input-len {} "
      "--random-output-len {} \\\n"
      "  --request-rate {:.4g} --num-prompts {} --save-result --result-filename result.json\n",
      q.trace.empty() ? "" : ", at the mean lengths and the rate of the trace", model,
      std::llround(load.isl), std::llround(load.osl), load.rate, load.requests);
}

// The percentiles of latencies against which limits of the plans' questions are held, or would be.
std::vector<std::string> held_latencies(const Plans& plans) {
  std::vector<std::string> out;
  for (const SloLimit limit : kSloLimits) {
    for (const Scenario& question : plans.questions) {
      std::string name = metric_of(planned(question).service.slo, limit);
      if (std::find(out.begin(), out.end(), name) == out.end() && name != "tpot_p50")
        out.push_back(std::move(name));
    }
  }
  return out;
}

// A plan a line, with the figures by which plans are compared; empty where it has none.
std::string front_table(const Plans& plans) {
  std::vector<std::pair<std::string, std::string>> figures = {{"cost_per_hour", "usd_per_hour"},
                                                              {"chance", "chance_percent"},
                                                              {"headroom", "headroom_percent"},
                                                              {"tpot_p50", "tpot_p50_ms"}};
  for (const std::string& name : held_latencies(plans)) figures.emplace_back(name, name + "_ms");
  figures.emplace_back("output_throughput", "output_tokens_per_s");
  figures.emplace_back("energy_per_token", "joules_per_output_token");
  std::string out = "plan,fleet,gpus,requests_per_s";
  for (const auto& [metric, column] : figures) out += "," + column;
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const FleetPlan& f = plans.fleets[i];
    out += fmt::format("\n{},\"{}\",{},{:.6g}", i + 1, f.name(), f.gpus(), plans.rates[i]);
    for (const auto& [metric, column] : figures) {
      const Metric* m = plans.answer.points.at(i).find(metric);
      out += m == nullptr ? "," : fmt::format(",{:.6g}", m->value);
    }
  }
  return out + "\n";
}

std::string rejections(const Plans& plans) {
  std::string out = "options,reason\n";
  for (const auto& [reason, n] : plans.rejected) out += fmt::format("{},\"{}\"\n", n, reason);
  return out;
}

}  // namespace

Files plan_files(const Bundle& bundle, const Plans& plans) {
  Files out = {{"plan.json", to_json(plans.answer, false).dump(1) + "\n"},
               {"pareto.csv", front_table(plans)},
               {"rejected.csv", rejections(plans)}};
  for (std::size_t i = 0; i < plans.fleets.size(); ++i) {
    const Scenario& asked = plans.questions.at(i);
    const std::string model = hub_name(bundle, asked.model);
    const std::int64_t longest = asked.workload.max_model_len;
    const FleetPlan& plan = plans.fleets[i];
    const std::string folder = fmt::format("{}/", i + 1);
    Scenario service = plan.service(asked);
    at_rate(service.ask<ServiceQuestion>(), plans.rates[i]);
    out.emplace_back(folder + "scenario.json", to_json(service).dump(1) + "\n");
    out.emplace_back(folder + "launch.sh", launch_script(bundle, plan, model, longest));
    for (auto& [name, text] : options_files(bundle, plan, model, longest))
      out.emplace_back(folder + name, std::move(text));
    out.emplace_back(folder + "bench.sh", bench_script(service, model));
    for (auto& file : platform_files(bundle, plan, model, longest, node_gpus(bundle, plan)))
      out.emplace_back(folder + file.first, named(std::move(file.second), plans, i));
    if (plan.decode) continue;
    if (std::string text = kubernetes(bundle, plan, model, longest); !text.empty())
      out.emplace_back(
          folder + "kubernetes.yaml",
          named(text + autoscaler(bundle, plan, plans.rates[i], plans.answer.points.at(i)), plans,
                i));
  }
  return out;
}

std::string changes_markdown(const Plans& plans) {
  if (plans.changes.empty()) return "";
  std::string out =
      "\n## What would change the best plan\n\n| with | best plan | better by | "
      "|\n|---|---|---:|---|\n";
  for (const Change& c : plans.changes)
    out += fmt::format("| {} | {} | {} | {} |\n", c.what,
                       c.best ? c.best->fleet.name() : "nothing keeps the limits",
                       c.best && c.gain ? fmt::format("{:.1f} %", 100 * *c.gain) : "", c.price);
  return out;
}

}  // namespace orrery
