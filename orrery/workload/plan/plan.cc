#include "orrery/workload/plan/plan.h"

#include <fmt/format.h>

#include <cassert>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr int kBlock = 128;  // of fp8_block weights
constexpr int kMostDevices = 1 << 20;

bool divides(int divisor, int n) { return n % divisor == 0; }

bool whole_blocks(int width, int ranks, Format format) {
  return divides(ranks, width) && (format != Format::kFp8Block || divides(kBlock, width / ranks));
}

// A rule that fails at this tp: which size, and how it must divide. Empty: none fails.
struct TensorRule {
  std::string_view what;
  int size = 0;
  bool either = false;  // tp divides the size, or the size tp
  bool blocks = false;
  bool fails() const { return !what.empty(); }
};

TensorRule mixer_rule(const Mixer& mixer, int tp) {
  const auto heads = [tp](int n, std::string_view what) {
    return divides(tp, n) ? TensorRule{} : TensorRule{what, n};
  };
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
    if (!divides(tp, a->heads)) return {"attention heads", a->heads};
    if (!divides(tp, a->kv_heads) && !divides(a->kv_heads, tp)) {
      return {"key-value heads", a->kv_heads, true};
    }
  } else if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
    return heads(l->heads, "attention heads");
  } else if (const auto* c = std::get_if<CompressedAttention>(&mixer)) {
    if (!divides(tp, c->heads)) return {"attention heads", c->heads};
    return heads(c->o_groups, "groups of output projections");
  } else if (const auto* k = std::get_if<KimiDelta>(&mixer)) {
    return heads(k->heads, "linear attention heads");
  } else if (const auto* g = std::get_if<GatedDeltaNet>(&mixer)) {
    if (!divides(tp, g->k_heads)) return {"linear attention key heads", g->k_heads};
    return heads(g->v_heads, "linear attention value heads");
  } else if (const auto* m = std::get_if<Mamba2>(&mixer)) {
    if (!divides(tp, m->heads)) return {"Mamba-2 heads", m->heads};
    if (!divides(tp, m->groups) && !divides(m->groups, tp)) {
      return {"Mamba-2 groups", m->groups, true};
    }
  }
  return {};
}

TensorRule width_rule(int width, std::string_view what, int ranks, Format format) {
  if (whole_blocks(width, ranks, format)) return {};
  return {what, width, false, divides(ranks, width)};
}

TensorRule tensor_rule(const LayerSpec& layer, int tp, Format weights) {
  const TensorRule rule = mixer_rule(layer.mixer, tp);
  if (rule.fails()) return rule;
  if (const auto* m = std::get_if<DenseMlp>(&layer.mlp)) {
    return width_rule(m->intermediate, "MLP intermediate size", tp, weights);
  }
  if (const auto* m = std::get_if<MoeMlp>(&layer.mlp); m != nullptr && m->shared_intermediate > 0) {
    return width_rule(m->shared_intermediate, "shared experts' intermediate size", tp, weights);
  }
  return {};
}

bool tensor_parallel_works(const Architecture& model, int tp, Format weights) {
  for (const LayerSpec& layer : model.layers.specs()) {
    if (tensor_rule(layer, tp, weights).fails()) return false;
  }
  return true;
}

// The values up to `most` that `works` accepts, as text.
template <class Works>
std::string valid_values(int most, Works works) {
  std::vector<int> values;
  for (int v = 1; v <= most; ++v) {
    if (works(v)) values.push_back(v);
  }
  return values.empty() ? "none" : fmt::format("{}", fmt::join(values, ", "));
}

constexpr int kMostListed = 64;

[[noreturn]] void refuse_tp(const Architecture& model, const ParallelPlan& plan, Format weights,
                            const TensorRule& rule) {
  const std::string fault =
      rule.either ? fmt::format("neither divides nor is a multiple of the {} {} of {}", rule.size,
                                rule.what, model.id)
      : rule.blocks
          ? fmt::format("cuts the {} of {} ({}) into parts that are not whole fp8 blocks of {}",
                        rule.what, model.id, rule.size, kBlock)
          : fmt::format("does not divide the {} {} of {}", rule.size, rule.what, model.id);
  throw Infeasible(
      fmt::format("tp {} {}; valid tp: {}", plan.tp, fault, valid_values(kMostListed, [&](int tp) {
                    return tensor_parallel_works(model, tp, weights);
                  })));
}

void check_experts(const Architecture& model, const ParallelPlan& plan, Format experts) {
  const int ranks = plan.tp * plan.dp;
  bool any = false;
  for (const LayerSpec& layer : model.layers.specs()) {
    const auto* m = std::get_if<MoeMlp>(&layer.mlp);
    if (m == nullptr) continue;
    any = true;
    const int copies = m->experts + plan.experts.redundant;
    const auto works = [&](int ep) {
      return divides(ep, ranks) && divides(ep, copies) && copies / ep <= m->experts &&
             whole_blocks(m->intermediate, ranks / ep, experts);
    };
    if (works(plan.ep)) continue;
    const std::string fault =
        !divides(plan.ep, ranks) ? fmt::format("does not divide tp*dp = {}", ranks)
        : !divides(plan.ep, copies)
            ? (plan.experts.redundant == 0
                   ? fmt::format("does not divide the {} experts of {} (ep_num_redundant_experts "
                                 "{} would make them {})",
                                 m->experts, model.id, plan.ep - m->experts % plan.ep,
                                 m->experts + plan.ep - m->experts % plan.ep)
                   : fmt::format("does not divide the {} experts and {} redundant ones of {}",
                                 m->experts, plan.experts.redundant, model.id))
        : copies / plan.ep > m->experts
            ? fmt::format(
                  "leaves two copies of an expert of {} on a rank: {} experts and {} "
                  "redundant ones",
                  model.id, m->experts, plan.experts.redundant)
        : divides(plan.moe_tp(), m->intermediate)
            ? fmt::format(
                  "leaves the experts of {} (intermediate size {}) to be cut in {} parts that are "
                  "not "
                  "whole fp8 blocks of {}",
                  model.id, m->intermediate, plan.moe_tp(), kBlock)
            : fmt::format(
                  "leaves the experts of {} (intermediate size {}) to be cut in {} parts, which "
                  "does "
                  "not divide",
                  model.id, m->intermediate, plan.moe_tp());
    throw Infeasible(fmt::format("ep {} {}; valid ep with tp {} and dp {}: {}", plan.ep, fault,
                                 plan.tp, plan.dp, valid_values(ranks, works)));
  }
  if (!any && plan.ep > 1) {
    throw Infeasible(fmt::format("ep {}: {} has no experts; valid ep: 1", plan.ep, model.id));
  }
}

// The key-value heads of a mixer whose cache can be divided by tokens. NoData: it cannot.
int divided_heads(const Architecture& model, const Mixer& mixer) {
  if (const auto* a = std::get_if<SoftmaxAttention>(&mixer);
      a != nullptr && a->window == 0 && !a->blocks)
    return a->kv_heads;
  if (const auto* l = std::get_if<LatentAttention>(&mixer);
      l != nullptr && !l->indexer && l->sparse_top_k == 0)
    return 1;
  throw NoData(
      fmt::format("cp above 1: {} has layers whose cache is not known to be divided by tokens; "
                  "attention to the "
                  "whole context is, with or without a latent",
                  model.id));
}

void check_context(const Architecture& model, const ParallelPlan& plan) {
  if (plan.cp == 1) return;
  if (model.kind != Kind::kDecoder)
    throw NoData(fmt::format("cp above 1: {} is no decoder", model.id));
  for (const LayerSpec& layer : model.layers.specs()) {
    if (std::holds_alternative<NoMixer>(layer.mixer)) continue;
    const int heads = divided_heads(model, layer.mixer);
    const auto works = [&](int cp) { return divides(heads * cp, plan.tp); };
    if (works(plan.cp)) continue;
    throw Infeasible(
        fmt::format("cp {}: tp {} of {} leaves no {} copies of its {} key-value head{} to be "
                    "divided; valid cp: "
                    "{}",
                    plan.cp, plan.tp, model.id, plan.cp, heads, heads == 1 ? "" : "s",
                    valid_values(plan.tp, works)));
  }
}

void check_expert_plan(const ParallelPlan& plan) {
  const ExpertPlan& x = plan.experts;
  if (x.redundant < 0)
    throw InputError(fmt::format("redundant experts must be at least 0, got {}", x.redundant));
  if (x.transport == ExpertTransport::kDeepEp && !plan.dispatches()) {
    throw Infeasible(
        fmt::format("DeepEP moves tokens between data-parallel groups of attention: it needs dp "
                    "above 1 and ep of at least dp, got dp {} and ep {}",
                    plan.dp, plan.ep));
  }
  if (x.two_batch && !plan.dispatches()) {
    throw Infeasible(
        fmt::format("two-batch overlap hides DeepEP's transfers of tokens to experts, and dp {} "
                    "with ep {} has none; moe_a2a_backend deepep needs dp above 1 and ep of at "
                    "least dp",
                    plan.dp, plan.ep));
  }
}

}  // namespace

StageLayers stage_layers(int layers, int pp, int stage) {
  assert(0 <= stage && stage < pp);
  const int base = layers / pp, more = layers % pp;
  // Stages pp-1-more .. pp-2 have one layer more.
  const int first_more = pp - 1 - more;
  const int before = stage < first_more ? 0 : (stage < pp - 1 ? stage - first_more : more);
  const int first = stage * base + before;
  const bool longer = stage >= first_more && stage < pp - 1;
  return {first, first + base + (longer ? 1 : 0)};
}

void check_plan(const Architecture& model, const ParallelPlan& plan, const Precision& precision) {
  if (plan.tp < 1 || plan.pp < 1 || plan.dp < 1 || plan.ep < 1 || plan.cp < 1) {
    throw InputError(
        fmt::format("tp, pp, dp, ep and cp must be at least 1, got {}, {}, {}, {} and {}", plan.tp,
                    plan.pp, plan.dp, plan.ep, plan.cp));
  }
  if (1.0 * plan.tp * plan.pp * plan.dp > kMostDevices || plan.ep > kMostDevices) {
    throw InputError(fmt::format("tp*pp*dp must be at most {} devices, got {} x {} x {}",
                                 kMostDevices, plan.tp, plan.pp, plan.dp));
  }
  if (model.kind == Kind::kEncoderDecoder) {
    throw NoData(fmt::format(
        "{} is an encoder-decoder model: steps with cross attention are not modelled", model.id));
  }
  for (const LayerSpec& layer : model.layers.specs()) {
    const TensorRule rule = tensor_rule(layer, plan.tp, precision.weights);
    if (rule.fails()) refuse_tp(model, plan, precision.weights, rule);
  }
  check_context(model, plan);
  check_expert_plan(plan);
  check_experts(model, plan, precision.experts);
  if (plan.pp > model.layers.size()) {
    throw Infeasible(fmt::format("pp {}: {} has {} layers; valid pp: 1 to {}", plan.pp, model.id,
                                 model.layers.size(), model.layers.size()));
  }
}

}  // namespace orrery
