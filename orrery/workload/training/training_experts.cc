#include "orrery/workload/training/training_passes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

namespace orrery {
namespace {

// Bytes of an element.
struct Moved {
  double read, written;
};

}  // namespace

// Tokens of the busiest rank over the mean. An expert drops what is above its capacity.
double TrainingPasses::load(const MoeExperts& m) const {
  const double load = m.ep > 1 ? expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew) : 1;
  return job_.capacity_factor > 0 ? std::min(load, job_.capacity_factor) : load;
}

// The experts of a rank and the tokens that the all-to-all brought: a smaller layer of its own,
// where the op of serving engines would route the tokens of the whole group.
MoeExperts TrainingPasses::of_rank(const MoeExperts& m) const {
  MoeExperts e = m;
  double tokens = load(m) * real(m.tokens);
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
double TrainingPasses::own_tokens() const {
  const double shared = plan_.sequence_parallel ? 1 : plan_.expert_tp();
  return real(rank_tokens(job_)) * shared / plan_.tp;
}

// Experts split etp ways, of divided tokens: the copies that an all-to-all brought are gathered
// over the etp ranks, and the partial results reduced and scattered (Megatron Core's
// MoEAlltoAllTokenDispatcher). The other dispatchers send to all etp ranks at once.
bool TrainingPasses::gathers_copies() const {
  return plan_.ep > 1 && plan_.expert_tp() > 1 && plan_.sequence_parallel &&
         plan_.dispatcher == ExpertDispatcher::kAllToAll;
}

void TrainingPasses::gather_copies(const MoeExperts& m, const ProgramOp& op) {
  const ProgramOp from{Op{}, op.count, "moe_gather", op.part};
  const Bytes copies =
      load(m) * own_tokens() * m.top_k * plan_.expert_tp() * (1.0 * m.hidden * element_);
  for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
    const Collective c{kind, Group::kTensor, plan_.expert_tp(), copies};
    forward_and_again(c, op.count, from, Cost::kTensor);
    // Each is the other's gradient.
    put(c, op.count, from, Pass::kBackwardInput, Cost::kTensor);
  }
}

// To the experts and back.
void TrainingPasses::exchange_tokens(const MoeExperts& m, const ProgramOp& op) {
  if (plan_.ep == 1) return;
  double tokens = own_tokens();
  // Each of the etp ranks of an expert needs them.
  if (plan_.sequence_parallel && !gathers_copies()) tokens *= plan_.expert_tp();
  const Bytes each = 1.0 * m.hidden * element_;
  const auto layer =
      std::find_if(model_.layers.specs().begin(), model_.layers.specs().end(),
                   [](const LayerSpec& l) { return std::holds_alternative<MoeMlp>(l.mlp); });
  const MoeMlp& router = std::get<MoeMlp>(layer->mlp);
  for (const bool combine : {false, true}) {
    const ProgramOp from{Op{}, op.count, combine ? "moe_combine" : "moe_dispatch", op.part};
    Collective c{Kind::kAllToAll, Group::kExpert, plan_.ep, {}};
    std::optional<ExpertMove> move;
    switch (plan_.dispatcher) {
      case ExpertDispatcher::kAllToAll:
        c.bytes = load(m) * tokens * m.top_k * each;
        break;
      case ExpertDispatcher::kAllGather:
        c.kind = combine ? Kind::kReduceScatter : Kind::kAllGather;
        c.bytes = plan_.ep * tokens * each;
        break;
      case ExpertDispatcher::kFlex: {
        const double ranks = plan_.ep * (1 - std::pow(1 - 1.0 / plan_.ep, m.top_k));
        c.bytes = load(m) * tokens * ranks * each;
        move = {.combine = combine,
                .tokens = std::max<std::int64_t>(1, std::llround(tokens)),
                .hidden = m.hidden,
                .top_k = m.top_k,
                .most_nodes = plan_.route_nodes,
                .groups = router.groups,
                .top_groups = router.top_groups,
                .imbalance = load(m)};
        break;
      }
    }
    const std::size_t before = ops_.size();
    forward_and_again(c, op.count, from, Cost::kExpertExchange);
    // A dispatch's gradient is a combine, and the reverse: as many bytes.
    put(c, op.count, from, Pass::kBackwardInput, Cost::kExpertExchange);
    for (std::size_t i = before; i < ops_.size(); ++i) {
      ops_[i].move = move;
      if (move && ops_[i].pass == Pass::kBackwardInput) ops_[i].move->combine = !combine;
    }
  }
}

// The kernels around the experts' products (Megatron Core's router and
// moe_utils.permute): the router's probabilities in fp32, their largest and the balancing loss,
// five kernels forward and three backward; tokens laid out by expert before they leave, by local
// expert where they arrive, and both again on the way back. kFlex sends tokens as they are.
void TrainingPasses::route_tokens(const MoeExperts& m, const MoeExperts& e, const ProgramOp& op) {
  const std::int64_t own = std::max<std::int64_t>(1, std::llround(own_tokens()));
  const ProgramOp router{Op{}, op.count, "moe_router", op.part};
  const Bytes scores = real(own) * m.experts * Bytes(4);
  const Elementwise score{Elementwise::Kind::kSoftmax, own, m.experts, scores, scores};
  forward_and_again(score, 5 * op.count, router, Cost::kElementwise);
  put(score, 3 * op.count, router, Pass::kBackwardInput, Cost::kElementwise);
  const ProgramOp permute{Op{}, op.count, "moe_permute", op.part};
  const Bytes row = 1.0 * m.hidden * element_;
  const auto moved = [&](double read, double written) {
    const double rows = std::max(1.0, std::max(read, written));
    const Elementwise copy{Elementwise::Kind::kCopy, std::llround(rows), m.hidden, read * row,
                           written * row};
    forward_and_again(copy, op.count, permute, Cost::kElementwise);
    put(copy, op.count, permute, Pass::kBackwardInput, Cost::kElementwise);
  };
  const double copies = real(own) * m.top_k, received = real(e.tokens) * e.top_k;
  const bool flex = plan_.ep > 1 && plan_.dispatcher == ExpertDispatcher::kFlex;
  if (!flex) moved(real(own), copies), moved(copies, real(own));
  if (plan_.ep > 1) moved(received, received), moved(received, received);
  // Experts that are filled up to a capacity have equal numbers, and kFlex fills up on the way.
  if (flex || job_.capacity_factor > 0 || !properties(e.format).quantises_activation) return;
  const std::size_t before = ops_.size();
  moved(received, received), moved(received, received);
  for (std::size_t i = before; i < ops_.size(); ++i) ops_[i].pads = true;
}

// The experts of a rank one after the other, each two products and the activation between them
// (TransformerEngine's GroupedLinear: a cuBLAS product an expert).
void TrainingPasses::expert_products(const MoeExperts& e, const ProgramOp& op) {
  const std::int64_t rows =
      std::max<std::int64_t>(1, std::llround(real(e.tokens) * e.top_k / e.experts));
  const std::int64_t inner = e.intermediate / e.tp;
  const double count = op.count * e.experts;
  const std::size_t before = ops_.size();
  for (const Gemm& g : {Gemm{rows, (e.gated ? 2 : 1) * inner, e.hidden, 1, e.format},
                        Gemm{rows, e.hidden, inner, 1, e.format}}) {
    forward_and_again(g, count, op, Cost::kExperts);
    const GemmGradients back = gradients(g);
    put(back.first, count, op, Pass::kBackwardInput, Cost::kExperts);
    if (!frozen_) put(back.second, count, op, Pass::kBackwardWeight, Cost::kExperts);
  }
  for (std::size_t i = before; i < ops_.size(); ++i) ops_[i].experts = e.experts;
  const Bytes half = real(rows * e.experts) * real(inner) * element_;
  const Elementwise act{Elementwise::Kind::kActivation, rows * e.experts, inner,
                        (e.gated ? 2 : 1) * half, half};
  const std::size_t after = ops_.size();
  forward_and_again(act, op.count, op, Cost::kElementwise);
  if (again(op, act) == 0 && job_.recomputes(RecomputeModule::kMoeActivation))
    put(act, op.count, op, Pass::kRecompute, Cost::kElementwise);
  put(gradient(act), op.count, op, Pass::kBackwardInput, Cost::kElementwise);
  eager(act, op);
  if (has_bias()) clamps_and_biases(rows * e.experts, inner, e.hidden, op);
  for (std::size_t i = after; i < ops_.size(); ++i) ops_[i].between_experts = true;
}

bool TrainingPasses::has_bias() const {
  return std::any_of(model_.layers.specs().begin(), model_.layers.specs().end(),
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
void TrainingPasses::clamps_and_biases(std::int64_t rows, std::int64_t inner, std::int64_t width,
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
      forward_and_again(kernel(m), op.count, from, Cost::kElementwise);
      if (act && again(op, kernel(m)) == 0 && job_.recomputes(RecomputeModule::kMoeActivation))
        put(kernel(m), op.count, from, Pass::kRecompute, Cost::kElementwise);
    }
    for (const Moved& m : backward)
      put(kernel(m), op.count, from, Pass::kBackwardInput, Cost::kElementwise);
  };
  kernels("moe_clamp", true, inner, {{2, 2}, {2, 2}, {4, 4}}, {{4, 2}, {4, 2}, {4, 4}});
  kernels("moe_bias", false, width, {{0, 4}, {6, 4}, {4, 4}, {4, 2}},
          {{2, 4}, {4, 2}, {4, 4}, {4, 0}, {4, 4}, {4, 0}});
}

void TrainingPasses::routed(const MoeExperts& m, const ProgramOp& op) {
  exchange_tokens(m, op);
  if (gathers_copies()) gather_copies(m, op);
  const MoeExperts e = of_rank(m);
  route_tokens(m, e, op);
  expert_products(e, op);
  // Operands of the grouped products, as casts of one product each.
  const double tokens = real(e.tokens) * e.top_k;
  const std::int64_t inner = e.intermediate / e.tp;
  const double experts = e.experts;
  accumulate(experts * (e.gated ? 3 : 2) * real(inner) * e.hidden, op);
  const std::array<Gemm, 2> products = {
      Gemm{static_cast<std::int64_t>(tokens), (e.gated ? 2 : 1) * inner, e.hidden, 1, e.format},
      Gemm{static_cast<std::int64_t>(tokens), e.hidden, inner, 1, e.format}};
  for (const Gemm& g : products) {
    const FormatProperties& f = properties(g.format);
    if (!f.quantises_activation) continue;
    // Between the two products: the second's input, and the first's gradient of its output.
    const bool second = &g == &products[1];
    const std::size_t before = ops_.size();
    cast_input(tokens * real(g.k), f, op);
    for (std::size_t i = before; i < ops_.size(); ++i) ops_[i].between_experts = second;
    cast_operand(tokens * real(g.n), f, !frozen_, op.count, op, Pass::kBackwardInput);
    ops_.back().between_experts = !second;
    if (!job_.precision.fp8_parameters)
      cast_operand(experts * real(g.n) * real(g.k), f, true, op.count / real(job_.micro_batches()),
                   op, Pass::kForward);
  }
}

}  // namespace orrery
