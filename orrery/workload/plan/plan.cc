#include "orrery/workload/plan/plan.h"

#include <fmt/format.h>

#include <cassert>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr int kBlock = TensorRules::kBlock;
constexpr int kMostDevices = 1 << 20;

bool divides(int divisor, int n) { return n % divisor == 0; }

bool whole_blocks(int width, int ranks, Format format) {
  return divides(ranks, width) && (format != Format::kFp8Block || divides(kBlock, width / ranks));
}

// The first rule of a layer that fails at this tp.
TensorRules tensor_rules(const LayerSpec& layer, int tp, Format weights) {
  TensorRules rules(tp, weights == Format::kFp8Block);
  divide(layer.mixer, rules);
  divide(layer.mlp, rules);
  return rules;
}

bool tensor_parallel_works(const Architecture& model, int tp, Format weights) {
  for (const LayerSpec& layer : model.layers.specs()) {
    if (tensor_rules(layer, tp, weights).fails()) return false;
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
                            const TensorRules& rule) {
  using Fault = TensorRules::Fault;
  const std::string fault =
      rule.fault() == Fault::kGroups ? fmt::format(
                                           "neither divides nor is a multiple of the {} {} "
                                           "of {}",
                                           rule.size(), rule.what(), model.id)
      : rule.fault() == Fault::kBlocks
          ? fmt::format("cuts the {} of {} ({}) into parts that are not whole fp8 blocks of {}",
                        rule.what(), model.id, rule.size(), kBlock)
          : fmt::format("does not divide the {} {} of {}", rule.size(), rule.what(), model.id);
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

// The key-value heads of a mixer whose cache can be divided by tokens: every token has an entry,
// and every query reads all entries. NoData: it cannot.
int divided_heads(const Architecture& model, const Mixer& mixer) {
  const KeptState kept = kept_state(mixer);
  if (kept.entry.total() > 0 && kept.tokens_per_entry == 1 && kept.window == 0 && !kept.chosen &&
      kept.narrow_index_key.total() == 0)
    return kept.entry.grouped > 0 ? kept.entry.groups : 1;
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
    if (!has_mixer(layer.mixer)) continue;
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
    const TensorRules rules = tensor_rules(layer, plan.tp, precision.weights);
    if (rules.fails()) refuse_tp(model, plan, precision.weights, rules);
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
