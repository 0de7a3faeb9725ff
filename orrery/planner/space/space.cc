#include "orrery/planner/space/space.h"

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/kinds/service/techniques.h"

namespace orrery {
namespace {

bool has_routed_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

// `wanted`, or the powers of two up to `most`.
std::vector<std::int64_t> degrees(const std::vector<std::int64_t>& wanted, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (const std::int64_t n : wanted)
    if (n <= most) out.push_back(n);
  if (wanted.empty())
    for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// The values of a limit to choose from; 0, the engine's own, where none are listed.
std::vector<std::int64_t> or_its_own(const std::vector<std::int64_t>& wanted) {
  return wanted.empty() ? std::vector<std::int64_t>{0} : wanted;
}

// Whether the engine caches prefixes: each choice of the plan.
std::vector<bool> prefix_caching(const PlanChoice& plan, bool caches) {
  if (!caches) return {true};
  std::vector<bool> out;
  for (const std::string& choice : plan.prefix_caching) out.push_back(choice == "on");
  return out;
}

// The engines of the lists of the plan on a type of GPU, before their layouts.
std::vector<EngineOption> engines_on(const GpuStock& stock, const PlanQuestion& question,
                                     const std::set<std::string>& caching) {
  const PlanChoice& plan = question.choice;
  std::vector<SpeculationChoice> drafters = {{}};
  if (question.service.speculation.on()) drafters.push_back(question.service.speculation);
  std::vector<EngineOption> out;
  for (const std::string& engine : plan.engines) {
    for (const std::string& format : plan.formats) {
      for (const std::int64_t seqs : or_its_own(plan.max_num_seqs)) {
        for (const std::int64_t tokens : or_its_own(plan.max_num_batched_tokens)) {
          EngineOption option{stock, engine, format == "checkpoint" ? "" : format};
          option.max_num_seqs = seqs, option.max_num_batched_tokens = tokens;
          for (const SpeculationChoice& drafter : drafters) {
            option.speculation = drafter;
            for (const bool caches : prefix_caching(plan, caching.contains(engine))) {
              option.prefix_caching = caches;
              out.push_back(option);
            }
          }
        }
      }
    }
  }
  return out;
}

// The layout with each division of its KV cache that the plan lists. What does not fit the model is
// told by the first stage.
void add_contexts(const PlanChoice& plan, EngineOption option, std::vector<EngineOption>& out) {
  if (plan.cp.empty()) out.push_back(option);
  for (const std::int64_t cp : plan.cp) {
    if (option.layout.tp % cp != 0) continue;
    option.layout.cp = static_cast<int>(cp);
    out.push_back(option);
  }
}

// The layouts of an engine, of at most `most` GPUs in nodes of `node`.
void add_layouts(const PlanChoice& plan, std::int64_t node, std::int64_t most, bool experts,
                 const EngineOption& engine, std::vector<EngineOption>& out) {
  for (const std::int64_t tp : degrees(plan.tp, std::min(node, most))) {
    for (const std::int64_t pp : degrees(plan.pp, most / tp)) {
      EngineOption option = engine;
      ParallelPlan& layout = option.layout;
      layout.tp = static_cast<int>(tp), layout.pp = static_cast<int>(pp);
      add_contexts(plan, option, out);
      if (!experts || tp == 1) continue;
      layout.ep = layout.tp;
      add_contexts(plan, option, out);
      if (!plan.dp.empty()) continue;
      layout.dp = layout.tp, layout.tp = 1;
      add_contexts(plan, option, out);
    }
  }
  for (const std::int64_t n : plan.dp) {
    if (!experts || n > most) continue;
    EngineOption option = engine;
    option.layout.dp = option.layout.ep = static_cast<int>(n);
    add_contexts(plan, option, out);
  }
}

}  // namespace

std::vector<EngineOption> engine_options(const Scenario& question, const Catalog& catalog,
                                         const Architecture& model,
                                         const std::set<std::string>& caching) {
  const PlanChoice& plan = planned(question).choice;
  const bool experts = has_routed_experts(model);
  check_board_settings(plan, catalog);
  std::vector<EngineOption> out;
  for (const std::string& text : plan.gpu) {
    GpuStock stock = GpuStock::parse(text);
    const Gpu gpu = catalog.gpu(stock.gpu);
    if (stock.gpu.find('/') == std::string::npos) stock.gpu = gpu.id;
    const std::int64_t node = node_of(catalog, gpu, "").gpu_count;
    std::int64_t most = plan.engine_gpus > 0 ? plan.engine_gpus : node;
    if (stock.gpus > 0) most = std::min(most, stock.gpus);
    if (plan.gpus > 0) most = std::min(most, plan.gpus);
    std::vector<EngineOption> layouts;
    for (const EngineOption& option : engines_on(stock, planned(question), caching))
      add_layouts(plan, node, most, experts, option, layouts);
    for (const PowerKnobs& boards : board_settings(plan, gpu)) {
      for (EngineOption& option : layouts) {
        option.boards = boards;
        out.push_back(option);
      }
    }
  }
  if (out.empty()) throw InputError("plan: its lists name no engine");
  return out;
}

}  // namespace orrery
