#include "orrery/workload/training/training_experts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>

#include "orrery/workload/training/training_casts.h"
#include "orrery/workload/training/training_eager.h"
#include "orrery/workload/training/training_products.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;
using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

// Bytes of an element.
struct Moved {
  double read, written;
};

// Tokens of the busiest rank over the mean. An expert drops what is above its capacity.
double busiest_load(const PassWriter& w, const MoeExperts& m) {
  const double load = m.ep > 1 ? expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew) : 1;
  return w.job().capacity_factor > 0 ? std::min(load, w.job().capacity_factor) : load;
}

// The experts of a rank and the tokens that the all-to-all brought: a smaller layer of its own,
// where the op of serving engines would route the tokens of the whole group.
MoeExperts of_rank(const PassWriter& w, const MoeExperts& m) {
  MoeExperts e = m;
  double tokens = busiest_load(w, m) * real(m.tokens);
  if (m.ep > 1) {
    e.experts = m.experts / m.ep;
    e.top_k = std::min(m.top_k, e.experts);
    e.ep = 1;
    tokens *= m.top_k / (1.0 * m.ep * e.top_k);
  }
  e.tokens = std::max<std::int64_t>(1, std::llround(tokens));
  return e;
}

// Tokens that a rank sends to experts. With sequence parallelism its own; without,
// tensor-parallel ranks hold the same ones, and share them where experts are not split as far.
double own_tokens(const PassWriter& w) {
  const double shared = w.plan().sequence_parallel ? 1 : w.plan().expert_tp();
  return real(rank_tokens(w.job())) * shared / w.plan().tp;
}

void add_copy_gathers(PassWriter& w, const MoeExperts& m, const ProgramOp& op) {
  const ProgramOp from{Op{}, op.count, "moe_gather", op.part};
  const Bytes copies = busiest_load(w, m) * own_tokens(w) * m.top_k * w.plan().expert_tp() *
                       (1.0 * m.hidden * w.element());
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    const Collective c{kind, Group::kTensor, w.plan().expert_tp(), copies};
    w.forward_and_again(c, op.count, from, Cost::kTensor);
    // Each is the other's gradient.
    w.put(c, op.count, from, Pass::kBackwardInput, Cost::kTensor);
  }
}

// To the experts and back.
void add_token_exchange(PassWriter& w, const MoeExperts& m, const ProgramOp& op) {
  if (w.plan().ep == 1) return;
  double tokens = own_tokens(w);
  // Each of the etp ranks of an expert needs them.
  if (w.plan().sequence_parallel && !gathers_copies(w.plan())) tokens *= w.plan().expert_tp();
  const Bytes each = 1.0 * m.hidden * w.element();
  const auto layer =
      std::find_if(w.model().layers.specs().begin(), w.model().layers.specs().end(),
                   [](const LayerSpec& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
  const MoeMlp& router = std::get<MoeMlp>(layer->mlp);
  for (const bool combine : {false, true}) {
    const ProgramOp from{Op{}, op.count, combine ? "moe_combine" : "moe_dispatch", op.part};
    Collective c{CollectiveKind::kAllToAll, Group::kExpert, w.plan().ep, {}};
    std::optional<ExpertMove> move;
    switch (w.plan().dispatcher) {
      case ExpertDispatcher::kAllToAll:
        c.bytes = busiest_load(w, m) * tokens * m.top_k * each;
        break;
      case ExpertDispatcher::kAllGather:
        c.kind = combine ? CollectiveKind::kReduceScatter : CollectiveKind::kAllGather;
        c.bytes = w.plan().ep * tokens * each;
        break;
      case ExpertDispatcher::kFlex: {
        const double ranks = w.plan().ep * (1 - std::pow(1 - 1.0 / w.plan().ep, m.top_k));
        c.bytes = busiest_load(w, m) * tokens * ranks * each;
        move = {.combine = combine,
                .tokens = std::max<std::int64_t>(1, std::llround(tokens)),
                .hidden = m.hidden,
                .top_k = m.top_k,
                .most_nodes = w.plan().route_nodes,
                .groups = router.groups,
                .top_groups = router.top_groups,
                .imbalance = busiest_load(w, m)};
        break;
      }
    }
    const std::size_t before = w.size();
    w.forward_and_again(c, op.count, from, Cost::kExpertExchange);
    // A dispatch's gradient is a combine, and the reverse: as many bytes.
    w.put(c, op.count, from, Pass::kBackwardInput, Cost::kExpertExchange);
    for (TrainingOp& o : w.since(before)) {
      o.move = move;
      if (move && o.pass == Pass::kBackwardInput) o.move->combine = !combine;
    }
  }
}

// The kernels around the experts' products (Megatron Core's router and
// moe_utils.permute): the router's probabilities in fp32, their largest and the balancing loss,
// five kernels forward and three backward; tokens laid out by expert before they leave, by local
// expert where they arrive, and both again on the way back. kFlex sends tokens as they are.
void add_routing(PassWriter& w, const MoeExperts& m, const MoeExperts& e, const ProgramOp& op) {
  const std::int64_t own = std::max<std::int64_t>(1, std::llround(own_tokens(w)));
  const ProgramOp router{Op{}, op.count, "moe_router", op.part};
  const Bytes scores = real(own) * m.experts * Bytes(4);
  const Elementwise score{Elementwise::Kind::kSoftmax, own, m.experts, scores, scores};
  w.forward_and_again(score, 5 * op.count, router, Cost::kElementwise);
  w.put(score, 3 * op.count, router, Pass::kBackwardInput, Cost::kElementwise);
  const ProgramOp permute{Op{}, op.count, "moe_permute", op.part};
  const Bytes row = 1.0 * m.hidden * w.element();
  const auto moved = [&](double read, double written) {
    const double rows = std::max(1.0, std::max(read, written));
    const Elementwise copy{Elementwise::Kind::kCopy, std::llround(rows), m.hidden, read * row,
                           written * row};
    w.forward_and_again(copy, op.count, permute, Cost::kElementwise);
    w.put(copy, op.count, permute, Pass::kBackwardInput, Cost::kElementwise);
  };
  const double copies = real(own) * m.top_k, received = real(e.tokens) * e.top_k;
  const bool flex = w.plan().ep > 1 && w.plan().dispatcher == ExpertDispatcher::kFlex;
  if (!flex) moved(real(own), copies), moved(copies, real(own));
  if (w.plan().ep > 1) moved(received, received), moved(received, received);
  // Experts that are filled up to a capacity have equal numbers, and kFlex fills up on the way.
  if (flex || w.job().capacity_factor > 0 || !properties(e.format).quantises_activation) return;
  const std::size_t before = w.size();
  moved(received, received), moved(received, received);
  for (TrainingOp& o : w.since(before)) o.pads = true;
}

bool has_bias(const Architecture& model) {
  return std::any_of(model.layers.specs().begin(), model.layers.specs().end(),
                     [](const LayerSpec& l) {
                       const auto* moe = std::get_if<MoeMlp>(&l.mlp);
                       return moe && moe->bias;
                     });
}

// The eager kernels of Megatron Core for experts with biases, which of the catalog's
// models gpt-oss alone does. The gated halves are clamped before the fused activation
// (weighted_bias_quick_geglu_impl: two clamps and a concatenation, backward their gradients). The
// bias of the second product times the router's probability is added in fp32
// (TEGroupedMLP._apply_bias): forward a product, a sum, a concatenation of the experts and a
// cast; backward the cast, the gradient of the sum, and for bias and probability a product and a
// sum each. Bytes an element, read and written.
void add_clamps_and_biases(PassWriter& w, std::int64_t rows, std::int64_t inner, std::int64_t width,
                           const ProgramOp& op) {
  // `act`: within the activation, which RecomputeModule::kMoeActivation repeats.
  const auto kernels = [&](std::string_view name, bool act, std::int64_t across,
                           std::initializer_list<Moved> forward,
                           std::initializer_list<Moved> backward) {
    const ProgramOp from{Op{}, op.count, name, op.part};
    const auto kernel = [&](const Moved& m) {
      const double elements = real(rows) * real(across);
      return Elementwise{Elementwise::Kind::kCopy, rows, across, elements * Bytes(m.read),
                         elements * Bytes(m.written)};
    };
    for (const Moved& m : forward) {
      w.forward_and_again(kernel(m), op.count, from, Cost::kElementwise);
      if (act && w.again(op, kernel(m)) == 0 && w.job().recomputes(RecomputeModule::kMoeActivation))
        w.put(kernel(m), op.count, from, Pass::kRecompute, Cost::kElementwise);
    }
    for (const Moved& m : backward)
      w.put(kernel(m), op.count, from, Pass::kBackwardInput, Cost::kElementwise);
  };
  kernels("moe_clamp", true, inner, {{2, 2}, {2, 2}, {4, 4}}, {{4, 2}, {4, 2}, {4, 4}});
  kernels("moe_bias", false, width, {{0, 4}, {6, 4}, {4, 4}, {4, 2}},
          {{2, 4}, {4, 2}, {4, 4}, {4, 0}, {4, 4}, {4, 0}});
}

// The experts of a rank one after the other, each two products and the activation between them
// (TransformerEngine's GroupedLinear: a cuBLAS product an expert).
void add_expert_products(PassWriter& w, const MoeExperts& e, const ProgramOp& op) {
  const std::int64_t rows =
      std::max<std::int64_t>(1, std::llround(real(e.tokens) * e.top_k / e.experts));
  const std::int64_t inner = e.intermediate / e.tp;
  const double count = op.count * e.experts;
  const std::size_t before = w.size();
  for (const Gemm& g : {Gemm{rows, (e.gated ? 2 : 1) * inner, e.hidden, 1, e.format},
                        Gemm{rows, e.hidden, inner, 1, e.format}}) {
    w.forward_and_again(g, count, op, Cost::kExperts);
    const GemmGradients back = gradients(g);
    w.put(back.first, count, op, Pass::kBackwardInput, Cost::kExperts);
    if (!w.frozen()) w.put(back.second, count, op, Pass::kBackwardWeight, Cost::kExperts);
  }
  for (TrainingOp& o : w.since(before)) o.experts = e.experts;
  const Bytes half = real(rows * e.experts) * real(inner) * w.element();
  const Elementwise act{Elementwise::Kind::kActivation, rows * e.experts, inner,
                        (e.gated ? 2 : 1) * half, half};
  const std::size_t after = w.size();
  w.forward_and_again(act, op.count, op, Cost::kElementwise);
  if (w.again(op, act) == 0 && w.job().recomputes(RecomputeModule::kMoeActivation))
    w.put(act, op.count, op, Pass::kRecompute, Cost::kElementwise);
  w.put(gradient(act), op.count, op, Pass::kBackwardInput, Cost::kElementwise);
  add_eager(w, act, op);
  if (has_bias(w.model())) add_clamps_and_biases(w, rows * e.experts, inner, e.hidden, op);
  for (TrainingOp& o : w.since(after)) o.between_experts = true;
}

}  // namespace

bool gathers_copies(const TrainingPlan& plan) {
  return plan.ep > 1 && plan.expert_tp() > 1 && plan.sequence_parallel &&
         plan.dispatcher == ExpertDispatcher::kAllToAll;
}

void add_routed_experts(PassWriter& w, const MoeExperts& m, const ProgramOp& op) {
  add_token_exchange(w, m, op);
  if (gathers_copies(w.plan())) add_copy_gathers(w, m, op);
  const MoeExperts e = of_rank(w, m);
  add_routing(w, m, e, op);
  add_expert_products(w, e, op);
  // Operands of the grouped products, as casts of one product each.
  const double tokens = real(e.tokens) * e.top_k;
  const std::int64_t inner = e.intermediate / e.tp;
  const double experts = e.experts;
  add_accumulation(w, experts * (e.gated ? 3 : 2) * real(inner) * e.hidden, op);
  const std::array<Gemm, 2> products = {
      Gemm{static_cast<std::int64_t>(tokens), (e.gated ? 2 : 1) * inner, e.hidden, 1, e.format},
      Gemm{static_cast<std::int64_t>(tokens), e.hidden, inner, 1, e.format}};
  for (const Gemm& g : products) {
    const FormatProperties& f = properties(g.format);
    if (!f.quantises_activation) continue;
    // Between the two products: the second's input, and the first's gradient of its output.
    const bool second = &g == &products[1];
    const std::size_t before = w.size();
    add_input_cast(w, tokens * real(g.k), f, op);
    for (TrainingOp& o : w.since(before)) o.between_experts = second;
    add_operand_cast(w, tokens * real(g.n), f, !w.frozen(), op.count, op, Pass::kBackwardInput);
    w.back().between_experts = !second;
    if (!w.job().precision.fp8_parameters)
      add_operand_cast(w, experts * real(g.n) * real(g.k), f, true,
                       op.count / real(w.job().micro_batches()), op, Pass::kForward);
  }
}

}  // namespace orrery
