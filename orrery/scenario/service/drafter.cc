#include "orrery/scenario/service/drafter.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/memory/kv_cache.h"
#include "orrery/memory/weights.h"
#include "orrery/workload/plan/draft_model.h"

namespace orrery {

Architecture draft_architecture(const SpeculationChoice& choice, const Architecture& target,
                                const Architecture* draft_model) {
  if (choice.method == "eagle") return eagle_head(target);
  if (choice.method == "mtp") return mtp_head(target);
  if (choice.method == "medusa") return medusa_head(target);
  if (draft_model->kind != Kind::kDecoder)
    throw NoData(fmt::format("speculation.model: {} is no decoder", draft_model->id));
  return *draft_model;
}

void set_memory(const SpeculationChoice& choice, const Architecture& target,
                const ParallelPlan& plan, Drafter& drafter) {
  const Precision& p = drafter.deployment.precision;
  const Bytes whole = stage_weights(drafter.model, plan, p, 0);
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
  const std::int64_t block = drafter.deployment.engine.memory.block_size;
  drafter.block = stage_kv(drafter.model, plan, p, 0, block, block);
}

std::string drafter_note(const SpeculationChoice& choice, const Drafter& drafter) {
  const std::string who = drafter.steps ? drafter.model.id
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
                                            const Architecture& model, const Deployment& d,
                                            const ParallelPlan& plan, const RunOptions& options) {
  const SpeculationChoice& choice = s.service.speculation;
  if (!choice.on()) return nullptr;
  choice.engine(0);  // refuses what does not go together
  auto out = std::make_shared<Drafter>();
  out->deployment = d;
  out->plan = plan;
  out->share = choice.cost.value_or(0);
  const bool layers =
      choice.method != "ngram" && !(choice.method == "draft_model" && choice.model.empty());
  if (!layers) return out;
  const bool own = choice.method == "draft_model";
  out->model = draft_architecture(choice, model, own ? &facts.architecture(choice.model) : nullptr);
  if (own) {
    Scenario as_draft = s;
    as_draft.precision.quantization.clear();
    as_draft.precision.moe_quantization.clear();
    out->deployment.precision =
        make_deployment(as_draft, out->model, d.gpu, facts.engine(s.engine.profile, d.gpu))
            .precision;
  }
  check_plan(out->model, plan, out->deployment.precision);
  set_memory(choice, model, plan, *out);
  if (choice.cost) return out;
  auto& x = out->deployment.engine.execution;
  x.host_per_step = x.host_per_sequence = x.prefill_floor = Seconds(0);
  out->steps = std::make_unique<StepModel>(
      out->model, out->plan, out->deployment.precision, out->deployment.engine,
      facts.kernels(d.gpu, d.classes, options.tier),
      facts.network(d.gpu, s.hardware.node, plan, d.engine.kernels.collectives),
      s.workload.expert_skew);
  return out;
}

}  // namespace orrery
