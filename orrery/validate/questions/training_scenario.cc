#include "orrery/validate/questions/training_scenario.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/node.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/document/scenario_sweep.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/training/iteration/stack_release_date.h"
#include "orrery/validate/questions/model_config.h"
#include "orrery/validate/questions/node_name.h"
#include "orrery/workload/plan/training_stack.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// A version that means the row's release: its own, or the month of a round of MLPerf.
std::string version_of(const TrainingRow& row) {
  if (!row.release) return "";
  std::vector<std::string> texts = {row.version};
  if (row.version.starts_with("NeMo")) texts.push_back(row.version.substr(4));
  texts.push_back(row.version.substr(0, row.version.find("..")));
  const double year = std::floor(*row.release);
  texts.push_back(fmt::format("{:.0f}-{:02.0f}", year, 1 + std::floor(12 * (*row.release - year))));
  for (const std::string& text : texts) {
    try {
      if (stack_release_date(text) == *row.release) return text;
    } catch (const InputError&) {  // another way to write it
    }
  }
  throw NoData(fmt::format("no version of {} has the date of '{}'", row.stack.name, row.version));
}

TrainingQuestion question_of(const TrainingRow& row, const Gpu& gpu) {
  TrainingQuestion q;
  q.job = row.job;
  const TrainingPlan& p = row.job.plan;
  q.gpus = p.devices(), q.global_batch = row.job.global_batch;
  q.stack = row.stack.name;
  q.stack_version = version_of(row);
  q.recompute = row.job.recompute;
  q.zero = p.zero;
  if (p.tp > 1) q.sequence_parallel = p.sequence_parallel;
  if (p.ep > 1) q.dispatcher = p.dispatcher;
  q.compiled = row.compiled;
  if (row.torch) q.torch = to_text(*row.torch);
  const std::string attention = attention_of(row, gpu);
  if (attention != attention_of(training_stack(row.stack.name), row.software(), gpu))
    q.attention = attention;
  q.fused_experts = row.fused_experts;
  return q;
}

// The keys of a question whose values are not the defaults.
Json keys_of(TrainingQuestion question) {
  const auto json = [](TrainingQuestion& q) {
    Fields fields;
    declare(fields, q);
    return fields.json();
  };
  TrainingQuestion usual;
  const Json all = json(question), defaults = json(usual);
  Json out = Json::object();
  for (const auto& [key, value] : all.items()) {
    if (value != defaults.at(key)) out[key] = value;
  }
  return out;
}

void check_same(const TrainingRow& row, const std::string& text) {
  const ScenarioSweep sweep = read_scenario(all_kinds(), parse_yaml(text, "the row's question"));
  const auto& q = sweep.points.at(0).as<TrainingQuestion>();
  TrainingJob asked = job_of(q), own = row.job;
  // Without full recomputation, or with another tuning than adapters, these have no effect.
  if (own.recompute != Recompute::kFull) own.recompute_layers = asked.recompute_layers;
  if (own.tuning == Tuning::kFull)
    own.lora_rank = asked.lora_rank, own.lora_targets = asked.lora_targets;
  if (!(asked == own) || sweep.points.size() != 1)
    throw NoData("it has a setting that no key of training names");
}

}  // namespace

std::string words_of(const TrainingRow& r) {
  const TrainingJob& j = r.job;
  const TrainingPlan& p = j.plan;
  std::string out = fmt::format("{} {} on {} {} of {}, {}", r.model_id, r.dtype, r.gpus, r.gpu,
                                r.node.id, r.stack.name);
  const auto add = [&out](const char* name, auto value, auto usual) {
    if (value != usual) out += fmt::format(", {} {}", name, value);
  };
  const auto flag = [&out](const char* name, bool on) {
    if (on) out += fmt::format(", {}", name);
  };
  add("tp", p.tp, 1), add("pp", p.pp, 1), add("vp", p.vp, 1), add("dp", p.dp, 1);
  add("cp", p.cp, 1), add("ep", p.ep, 1), add("etp", p.etp, 0), add("zero", p.zero, 0);
  add("shard", p.shard, 0);
  if (!p.schedule.empty()) out += ", " + p.schedule;
  out += fmt::format(", seq {}, micro {}, global {}, recompute {}", j.seq, j.micro_batch,
                     j.global_batch, to_text(j.recompute));
  add("layers", j.recompute_layers, 0);
  if (j.tuning != Tuning::kFull) out += fmt::format(", {} {}", to_text(j.tuning), j.lora_rank);
  flag("compiled", r.compiled), flag("sequence parallel", p.sequence_parallel);
  flag("tp overlap", p.tp_overlap), flag("no dp overlap", !p.dp_overlap);
  flag("no flash", !j.flash), flag("fused loss", j.fused_cross_entropy);
  flag("offload", j.offload_optimizer), flag("offload activations", j.offload_activations);
  return out;
}

const std::string& TrainingScenarios::name_of(const Architecture& model) {
  const auto [at, is_new] = models_.try_emplace(model.id);
  if (!is_new) return at->second;
  try {
    if (same_model(load_model(model.id, bundle_), model)) return at->second = model.id;
  } catch (const InputError&) {  // the catalog has no such model
  }
  return at->second = model_config(model).value_or("");
}

std::string TrainingScenarios::written(const TrainingRow& row, bool of_time) {
  const std::string& model = name_of(row.model);
  if (model.empty())
    throw NoData("the table describes a model that no config.json here is read as");
  const auto node = node_name(catalog_, catalog_.gpu(row.gpu), row.node, row.gpus);
  if (!node && of_time) throw NoData("no file of the catalog describes its nodes");
  Json hardware = {{"gpu", row.gpu}};
  if (node && !node->empty()) hardware["node"] = *node;
  const Json document = {{"model", model},
                         {"hardware", hardware},
                         {"training", keys_of(question_of(row, catalog_.gpu(row.gpu)))}};
  const std::string text = document.dump();
  check_same(row, text);
  return text;
}

std::string TrainingScenarios::asked(const TrainingRow& row, bool of_time) {
  try {
    return written(row, of_time);
  } catch (const std::runtime_error& e) {
    return fmt::format("{}: {}", words_of(row), e.what());
  }
}

}  // namespace orrery
