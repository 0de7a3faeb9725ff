#include "orrery/scenario/kinds/service/drafter.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/memory/kv_cache.h"
#include "orrery/memory/weights.h"
#include "orrery/scenario/kinds/service/service_question.h"
#include "orrery/workload/plan/draft_model.h"

namespace orrery {
namespace {

// The layers that `method` drafts with. NoData, Infeasible: they do not fit the target.
Architecture draft_architecture(const SpeculationChoice& choice, const Architecture& target,
                                const Architecture* draft_model) {
  if (choice.method == "eagle") return eagle_head(target);
  if (choice.method == "mtp") return mtp_head(target);
  if (choice.method == "medusa") return medusa_head(target);
  if (draft_model->kind != Kind::kDecoder)
    throw NoData(fmt::format("speculation.model: {} is no decoder", draft_model->id));
  return *draft_model;
}

// Weights and KV cache of the drafter on one GPU.
void set_memory(const SpeculationChoice& choice, const Architecture& target, Drafter& drafter) {
  const ServedModel& served = *drafter.served;
  const Precision& p = served.deployment.precision;
  const ParallelPlan& plan = served.plan;
  const Bytes whole = stage_weights(served.model, plan, p, 0);
  if (choice.method == "draft_model") {
    drafter.weights = whole;
  } else {
    // Embedding and LM head are the target's; Medusa has an LM head for each draft.
    const Bytes shared = stage_weights(medusa_head(target), plan, p, 0);
    const double heads = static_cast<double>(choice.tokens);
    drafter.weights = choice.method == "medusa" ? heads * target.vocab * target.hidden / plan.tp *
                                                      properties(p.lm_head).weight
                                                : whole - shared;
  }
  const std::int64_t block = served.deployment.engine.memory.block_size;
  drafter.block = stage_kv(served.model, plan, p, 0, block, block);
}

}  // namespace

std::string drafter_note(const SpeculationChoice& choice, const Drafter& drafter) {
  const std::string who = drafter.steps() ? drafter.served->model.id
                          : choice.method == "ngram"
                              ? "n-gram look-up, no GPU time"
                              : fmt::format("{} of a decode step a pass", drafter.share);
  return fmt::format(
      "speculation: {} ({}), {} drafts; acceptance is an assumption, {:.2f} for the first draft, "
      "{:.2f} tokens a step expected",
      choice.method, who, choice.tokens, choice.acceptance.front(),
      tokens_per_verification(choice.engine(0)));
}

std::shared_ptr<const Drafter> make_drafter(Facts& facts, const Scenario& s,
                                            const ServedModel& target) {
  const SpeculationChoice& choice = s.as<ServiceQuestion>().speculation;
  if (!choice.on()) return nullptr;
  choice.engine(0);  // refuses what does not go together
  auto out = std::make_shared<Drafter>();
  out->share = choice.cost.value_or(0);
  if (!choice.has_layers()) return out;
  const bool own = choice.method == "draft_model";
  Architecture model =
      draft_architecture(choice, target.model, own ? &facts.architecture(choice.model) : nullptr);
  Deployment d = target.deployment;
  if (own) {
    Scenario as_draft = s;
    as_draft.precision.quantization.clear();
    as_draft.precision.moe_quantization.clear();
    d.precision =
        make_deployment(as_draft, model, d.gpu, facts.engine(s.engine.profile, d.gpu)).precision;
  }
  check_plan(model, target.plan, d.precision);
  out->served = std::make_shared<ServedModel>(std::move(model), std::move(d), target.plan);
  set_memory(choice, target.model, *out);
  if (choice.cost) return out;
  // The target's step covers the host work.
  auto& x = out->served->deployment.engine.execution;
  x.host_per_step = x.host_per_sequence = x.prefill_floor = Seconds(0);
  add_steps(facts, {s.hardware.node, s.workload.expert_skew, s.hardware.knobs()}, *out->served);
  return out;
}

}  // namespace orrery
