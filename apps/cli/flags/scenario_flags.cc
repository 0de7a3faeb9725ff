#include "apps/cli/flags/scenario_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace orrery::cli {
namespace {

constexpr const char* kEngineGroup = "the engine's constants (default: its profile's)";
constexpr const char* kLimitsGroup = "SLO: limits of the latency";

// Keys of the engine's profile that vLLM has flags for. All others are reached by --set.
bool is_engine_flag(std::string_view name, bool of_service) {
  if (of_service && (name == "policy" || name == "order")) return true;
  constexpr std::string_view kNames[] = {
      "utilization",  "block_size",      "max_num_batched_tokens",
      "max_num_seqs", "chunked_prefill", "prefix_caching"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// Groups of a service whose flags carry the group's name: "--slo-ttft", "--lora-rank".
bool is_prefixed(std::string_view group) {
  constexpr std::string_view kGroups[] = {"slo",       "speculation",    "lora",      "kv",
                                          "neighbour", "disaggregation", "autoscale", "failures"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
}

bool is_of_service(std::string_view group) {
  return group == "load" || group == "cluster" || is_prefixed(group);
}

// Groups whose keys are flags of `network`, `kernel`, `train` and `replay`.
bool is_of_other_verb(std::string_view group) {
  constexpr std::string_view kGroups[] = {"collective", "kernel", "training", "chance", "replay"};
  return std::find(std::begin(kGroups), std::end(kGroups), group) != std::end(kGroups);
}

// "ttft:p99:500ms,tpot:50ms" as the keys of `slo`.
void set_slo(Node& document, const std::string& text) {
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::string part = text.substr(begin, text.find(',', begin) - begin);
    begin += part.size() + 1;
    const std::size_t first = part.find(':'), last = part.rfind(':');
    const bool has_percentile = first != last;
    if (first == std::string::npos || first == 0 || last + 1 == part.size() ||
        (has_percentile && (last < first + 3 || part[first + 1] != 'p')))
      throw InputError(
          fmt::format("--slo {}: expected limits like ttft:p99:500ms or tpot:50ms", part));
    const std::string key = "slo." + part.substr(0, first);
    set_path(document, key, scalar_node(part.substr(last + 1), "--slo " + part));
    if (has_percentile)
      set_path(document, key + "_percentile",
               scalar_node(part.substr(first + 2, last - first - 2), "--slo " + part));
  }
}

// "ttft:500 tpot:50 e2el:2000" (vLLM's --goodput, in milliseconds) as the keys of `slo`.
void set_goodput(Node& document, const std::vector<std::string>& limits) {
  for (const std::string& limit : limits) {
    const std::size_t colon = limit.find(':');
    std::string key = limit.substr(0, colon);
    if (key == "e2el") key = "e2e";
    const bool known = key == "ttft" || key == "tpot" || key == "e2e";
    const std::string value = colon == std::string::npos ? "" : limit.substr(colon + 1);
    if (!known || value.empty() || value.find_first_not_of("0123456789.") != std::string::npos)
      throw InputError(fmt::format(
          "--goodput {}: expected limits in milliseconds like ttft:500 tpot:50 e2el:10000", limit));
    set_path(document, "slo." + key, scalar_node(value + " ms", "--goodput " + limit));
  }
}

}  // namespace

bool ScenarioFlags::has(const Field& group) const {
  const std::string& name = group.name();
  if (of_ == Of::kPlan) return name == "plan" || name == "load" || name == "slo" || name == "cost";
  return name != "plan" && (of_ == Of::kService || !is_of_service(name));
}

ScenarioFlags::ScenarioFlags(CLI::App& app, Of of) : of_(of), verb_(app.get_name()) {
  const bool service = of != Of::kWorkload;
  for (const Field& f : fields().all()) {
    if (is_of_other_verb(f.name())) continue;
    if (f.name() == "model") {
      add(app, f, f.name(), "-m,--model", help_of(f))->group("what is asked about");
    } else if (f.name() == "objective" && verb_ != "memory" && of != Of::kPlan) {
      add(app, f, f.name(), "--objective", help_of(f))->group("what is asked about");
    } else if (f.group() && f.name() == "workload" && service) {
      // A service has lengths of its own and reads these two keys.
      for (const char* key : {"max_model_len", "expert_skew"}) {
        const Field& leaf = *f.group()->find(key);
        add(app, leaf, std::string("workload.") + key, flag_names(leaf), help_of(leaf))
            ->group(f.doc());
      }
    } else if (f.group() && has(f)) {
      add_leaves(app, f);
    }
  }
  if (of == Of::kPlan) add_run(app);
  if (of != Of::kPlan) add_engine_keys(app);
  if (service) add_limits(app);
  add_assignments(app, kEngineGroup);
}

void ScenarioFlags::add_leaves(CLI::App& app, const Field& group) {
  for (const Field& f : group.group()->all()) {
    if (f.group() || f.type() == Field::Type::kGroup) continue;
    std::string names = flag_names(f);
    if (group.name() == "engine") names = f.name() == "profile" ? "--engine" : "--engine-setup";
    if (is_prefixed(group.name())) names = flag_name(group.name() + "-" + f.name());
    // A board has a limit of its own (hardware.power_limit).
    if (group.name() == "cluster" && f.name() == "power_limit") names = "--cluster-power-limit";
    if (f.name() == "gpu") names = "-g," + names;
    add(app, f, group.name() + "." + f.name(), names, help_of(f))->group(group.doc());
  }
}

void ScenarioFlags::add_run(CLI::App& app) {
  app.add_flag("--train", train_, "plan a training run in the place of a service")
      ->group("what is asked about");
  const std::vector<std::string>& chosen = planned_training_keys();
  for (const char* group : {"training", "chance"}) {
    for (const Field& f : fields().find(group)->group()->all()) {
      if (*group == 't' && std::find(chosen.begin(), chosen.end(), f.name()) != chosen.end())
        continue;
      // A flag of services has another key: --set training.expert_skew.
      if (app.get_option_no_throw(flag_name(f.name())) != nullptr) continue;
      add_key(app, std::string(group) + "." + f.name(), "--train: the run");
    }
  }
}

void ScenarioFlags::add_engine_keys(CLI::App& app) {
  for (const Field& f : engine_fields().all()) {
    if (!f.group()) continue;
    for (const Field& leaf : f.group()->all()) {
      if (!is_engine_flag(leaf.name(), of_ == Of::kService)) continue;
      // vLLM's name is the alias where there is one.
      const std::string name = leaf.aliases().empty() ? leaf.name() : leaf.aliases().front();
      add(app, leaf, "engine.overrides." + f.name() + "." + leaf.name(), flag_name(name),
          leaf.doc())
          ->group(kEngineGroup);
    }
  }
}

void ScenarioFlags::add_limits(CLI::App& app) {
  app.add_option("--slo", slo_,
                 "limits of slo in one, each with its percentile: ttft:p99:500ms,tpot:p50:50ms")
      ->group(kLimitsGroup)
      ->type_name("LIMITS");
  app.add_option("--goodput", goodput_, "the same as vLLM writes them, in ms: ttft:500 tpot:50")
      ->group(kLimitsGroup)
      ->type_name("LIMITS");
}

void ScenarioFlags::apply(Node& document) const {
  if (!slo_.empty()) set_slo(document, slo_);
  set_goodput(document, goodput_);
  KeyFlags::apply(document);
}

Node ScenarioFlags::document(const std::string& example) const {
  Node document;
  set_path(document, "name", scalar_node("command line", ""));
  apply(document);
  check_asked(document, example, of_ == Of::kPlan ? "plan.gpu" : "hardware.gpu");
  if (train_ && !document.find("training"))
    throw InputError("--train needs the length of the run, as in --tokens 2T --global-batch 2048");
  if (!train_ && of_ == Of::kPlan && document.find("training"))
    throw InputError("flags of a training run need --train");
  if (of_ != Of::kWorkload && !train_ && !document.find("load"))
    set_path(document, "load.seed", scalar_node("0", ""));
  return document;
}

ScenarioSweep ScenarioFlags::scenario() const {
  const char* limits = train_             ? " --train --tokens 2T --global-batch 2048"
                       : of_ == Of::kPlan ? " --rate 4 --slo tpot:40ms"
                                          : "";
  return read_scenario(
      document(fmt::format("orrery {} --model llama-3-8b --gpu h100-sxm{}", verb_, limits)));
}

}  // namespace orrery::cli
