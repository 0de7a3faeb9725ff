#include "orrery/workload/training_program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "orrery/model/parameters.h"
#include "orrery/workload/training_parameters.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;
using Kind = Collective::Kind;
using Group = Collective::Group;

double real(std::int64_t n) { return static_cast<double>(n); }

// Builds the passes of one virtual stage.
class Passes {
 public:
  Passes(const Architecture& model, const TrainingJob& job, int chunk)
      : model_(model), job_(job), plan_(job.plan), range_(chunk_layers(model, plan_, chunk)) {
    start_ = chunk == 0;
    end_ = chunk == plan_.pp * plan_.vp - 1;
    element_ = bytes_per_element(job.precision.activations);
    frozen_ = job.tuning != Tuning::kFull;
    if (job.recompute == Recompute::kFull) {
      recomputed_ = job.recompute_layers == 0 || range_.size() == 0
                        ? 1.0
                        : std::min(1.0, 1.0 * job.recompute_layers / range_.size());
    }
    ops_.reserve(128);
  }

  std::vector<TrainingOp> build() {
    Batch batch;
    SequenceGroup group;
    const ParallelPlan plan = stage_plan(plan_);
    const std::int64_t document = job_.attended();
    group.sequences = job_.micro_batch * (job_.seq / document) * plan.dp;
    group.new_tokens = document / plan_.cp;
    // The mean keys of a zig-zag share: (s/cp) * (s - s/cp)/2 + (s/cp)^2/2 pairs, 1/cp of all.
    // Of consecutive shares the last, which all ranks wait for, attends to every part before.
    // Ranks that share heads have the same part.
    const bool last = plan_.ring_ranks() > 1 && !plan_.zigzag;
    const double ring = last ? plan_.ring_ranks() : 1;
    group.past = real(document) * (1 - 0.5 / ring) - real(group.new_tokens) / 2;
    group.sampled = false;
    batch.groups = {group};
    ProgramOptions options;
    options.expert_skew = job_.expert_skew;
    options.slice = LayerSlice{range_, start_, end_};
    const Program forward =
        forward_program(model_, plan, stage_precision(job_.precision), batch, options);
    std::size_t exchanged = 0;  // of the current kind of layer: 1 if it has routed experts
    for (const ProgramOp& op : forward.ops) {
      if (std::holds_alternative<MoeExperts>(op.op)) exchanged = 1;
      add(op, exchanged == 1);
      if (op.name == "tp_all_reduce") exchanged = 0;
    }
    if (plan_.cp > 1) context();
    if (frozen_) adapters();
    if (end_) head();
    return std::move(ops_);
  }

 private:
  // ---- passes
  // ------------------------------------------------------------------------------------

  void put(Op op, double count, const ProgramOp& from, Pass pass, Cost cost) {
    ops_.push_back({op, count, from.name, pass, cost, from.part, from.fusible});
  }

  // Whether the op belongs to a layer, which full recomputation runs again.
  bool in_layer(const ProgramOp& op) const {
    return op.part != Part::kEmbedding && op.name != "final_norm" &&
           op.name != "embedding_all_reduce";
  }

  void forward_and_again(const Op& op, double count, const ProgramOp& from, Cost cost) {
    put(op, count, from, Pass::kForward, cost);
    if (recomputed_ > 0 && in_layer(from))
      put(op, count * recomputed_, from, Pass::kRecompute, cost);
  }

  void add(const ProgramOp& op, bool experts) {
    if (op.name == "kv_write") return;  // there is no cache
    if (const auto* g = std::get_if<Gemm>(&op.op)) return product(*g, op);
    if (const auto* a = std::get_if<PrefillAttention>(&op.op)) return attention(*a, op);
    if (const auto* l = std::get_if<LatentAttentionCore>(&op.op)) return latent(*l, op);
    if (const auto* m = std::get_if<MoeExperts>(&op.op)) return routed(*m, op);
    if (const auto* c = std::get_if<Collective>(&op.op)) return collective(*c, op, experts);
    if (const auto* e = std::get_if<Elementwise>(&op.op)) return elementwise(*e, op);
    if (std::holds_alternative<Embedding>(op.op)) {
      put(op.op, op.count, op, Pass::kForward, Cost::kElementwise);
      if (!frozen_) put(op.op, 2 * op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
      return;
    }
    // Recurrent mixers and their convolutions.
    forward_and_again(op.op, op.count, op, Cost::kAttention);
    put(op.op, 2 * op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
  }

  // ---- products
  // ----------------------------------------------------------------------------------

  void product(const Gemm& g, const ProgramOp& op) {
    // The latents of MLA are expanded for this rank's tokens alone: the cached ones are others'.
    Gemm forward = g;
    if (op.name == "kv_b_proj") forward.m = rank_tokens(job_);
    forward_and_again(forward, op.count, op, Cost::kProducts);
    const GemmGradients back = gradients(forward);
    put(back.first, op.count, op, Pass::kBackwardInput, Cost::kProducts);
    if (!frozen_) put(back.second, op.count, op, Pass::kBackwardWeight, Cost::kProducts);
    accumulate(real(g.n) * real(g.k), op);
    casts(forward, op);
  }

  // The weight's gradient is added to what earlier micro-batches left: in the product's kernel
  // where stacks fuse it (gradient_accumulation_fusion); where another kernel adds it, that reads
  // again, and writes again, what the product's kernel wrote in 16 bits.
  void accumulate(double weights, const ProgramOp& op) {
    if (frozen_) return;
    const double stored = bytes_per_element(job_.precision.gradients).value();
    const bool adds = job_.micro_batches() > 1;
    const auto moved = [&](double read, double written) {
      if (read + written <= 0) return;
      put(Elementwise{Elementwise::Kind::kCopy, static_cast<std::int64_t>(weights / 1024) + 1, 1024,
                      weights * Bytes(read), weights * Bytes(written)},
          op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
    };
    moved(adds ? stored : 0, std::max(0.0, stored - element_.value()));
    if (!adds) return;
    moved(element_.value(), element_.value());
    ops_.back().accumulates = true;
  }

  void cast(double elements, double read, double written, double count, const ProgramOp& op,
            Pass pass) {
    if (elements <= 0) return;
    put(Elementwise{Elementwise::Kind::kQuantise, static_cast<std::int64_t>(elements / 1024) + 1,
                    1024, elements * Bytes(read), elements * Bytes(written)},
        count, op, pass, Cost::kCasts);
  }

  void casts(const Gemm& g, const ProgramOp& op) {
    const double weights = real(g.n) * real(g.k);
    if (job_.tuning == Tuning::kQlora && g.weight) {
      const double each = 1 + recomputed_;
      cast(weights, kNf4Bytes, element_.value(), op.count * each, op, Pass::kForward);
      cast(weights, kNf4Bytes, element_.value(), op.count, op, Pass::kBackwardInput);
    }
    const FormatFacts& f = facts(g.format);
    if (!f.quantises_activation) return;
    // The forward kernel rounds its own input; the transposes and the gradients are cast apart.
    const double narrow = f.activation.value();
    const double input = real(g.m) * real(g.k), output = real(g.m) * real(g.n);
    cast(input, 2, narrow, op.count * (1 + recomputed_), op, Pass::kForward);
    cast(output, 2, frozen_ ? narrow : 2 * narrow, op.count, op, Pass::kBackwardInput);
    if (!job_.precision.fp8_parameters)
      cast(weights, 2, 2 * narrow, op.count / real(job_.micro_batches()), op, Pass::kForward);
  }

  // ---- attention
  // ---------------------------------------------------------------------------------

  void attention(const PrefillAttention& a, const ProgramOp& op) {
    if (a.value_dim == 0 || job_.flash) return flash(a, op.op, op);
    standard(a, op);
  }

  // `forward`: the op as the forward pass runs it; `a`: the same as plain attention.
  void flash(const PrefillAttention& a, const Op& forward, const ProgramOp& op) {
    forward_and_again(forward, op.count, op, Cost::kAttention);
    if (job_.recompute == Recompute::kSelective)
      put(forward, op.count, op, Pass::kRecompute, Cost::kAttention);
    put(AttentionBackward{a}, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
  }

  void latent(const LatentAttentionCore& l, const ProgramOp& op) {
    const int width = l.qk_nope_dim + l.qk_rope_dim;
    const auto past = static_cast<std::int64_t>(l.context) - l.new_tokens;
    flash({.batch = l.batch,
           .new_tokens = l.new_tokens,
           .past = std::max<std::int64_t>(past, 0),
           .heads = l.heads,
           .kv_heads = l.heads,
           .head_dim = width,
           .value_dim = l.value_dim,
           .dtype = l.dtype,
           .kv_dtype = l.kv_dtype},
          op.op, op);
  }

  // Scores in memory: all pairs are computed, masked ones too.
  void standard(const PrefillAttention& a, const ProgramOp& op) {
    const std::int64_t keys = a.past * 2 + a.new_tokens;  // of the whole sequence
    const Format format = plain_format(job_.precision.activations);
    const Gemm scores{a.new_tokens, keys, a.head_dim, a.batch * a.heads, format, false};
    const Gemm values{a.new_tokens, a.value_dim, keys, a.batch * a.heads, format, false};
    const std::int64_t rows = a.batch * a.heads * a.new_tokens;
    const Bytes matrix = real(rows) * real(keys) * element_;
    // Scale, mask and softmax in one kernel; dropout in another, with its mask.
    const Elementwise softmax{Elementwise::Kind::kSoftmax, rows, keys, matrix, matrix};
    const Elementwise dropout{Elementwise::Kind::kActivation, rows, keys, matrix, 1.5 * matrix};
    const bool again = job_.recompute == Recompute::kSelective;
    const auto both = [&](const Op& o, Cost cost) {
      forward_and_again(o, op.count, op, cost);
      if (again) put(o, op.count, op, Pass::kRecompute, cost);
    };
    both(scores, Cost::kAttention);
    both(softmax, Cost::kAttention);
    if (job_.dropout) both(dropout, Cost::kAttention);
    both(values, Cost::kAttention);
    for (const Gemm& g : {scores, values}) {
      const GemmGradients back = gradients(g);
      for (Gemm b : {back.first, back.second}) {
        b.weight = false;
        put(b, op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
      }
    }
    put(gradient(softmax), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
    if (job_.dropout)
      put(gradient(dropout), op.count, op, Pass::kBackwardInput, Cost::kAttentionBackward);
  }

  // ---- experts
  // -----------------------------------------------------------------------------------

  // The experts of a rank and the tokens that the all-to-all brought: a smaller layer of its own,
  // where the op of serving engines would route the tokens of the whole group.
  // Tokens of the busiest rank over the mean. An expert drops what is above its capacity.
  double load(const MoeExperts& m) const {
    const double load = m.ep > 1 ? expert_imbalance(m.tokens, m.experts, m.top_k, m.ep, m.skew) : 1;
    return job_.capacity_factor > 0 ? std::min(load, job_.capacity_factor) : load;
  }

  MoeExperts of_rank(const MoeExperts& m) const {
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
  double own_tokens() const {
    const double shared = plan_.sequence_parallel ? 1 : plan_.expert_tp();
    return real(rank_tokens(job_)) * shared / plan_.tp;
  }

  // Experts split etp ways, of divided tokens: the copies that an all-to-all brought are gathered
  // over the etp ranks, and the partial results reduced and scattered (Megatron Core's
  // MoEAlltoAllTokenDispatcher). The other dispatchers send to all etp ranks at once.
  bool gathers_copies() const {
    return plan_.ep > 1 && plan_.expert_tp() > 1 && plan_.sequence_parallel &&
           plan_.dispatcher == ExpertDispatcher::kAllToAll;
  }

  void gather_copies(const MoeExperts& m, const ProgramOp& op) {
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
  void exchange_tokens(const MoeExperts& m, const ProgramOp& op) {
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

  // What stands around the experts' products in kernels of its own (Megatron Core's router and
  // moe_utils.permute): the router's probabilities in fp32, their largest and the balancing loss,
  // five kernels forward and three backward; tokens laid out by expert before they leave, by local
  // expert where they arrive, and both again on the way back. kFlex sends tokens as they are.
  void route_tokens(const MoeExperts& m, const MoeExperts& e, const ProgramOp& op) {
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
  }

  // The experts of a rank one after the other, each two products and the activation between them
  // (TransformerEngine's GroupedLinear: a cuBLAS product an expert).
  void expert_products(const MoeExperts& e, const ProgramOp& op) {
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
    put(gradient(act), op.count, op, Pass::kBackwardInput, Cost::kElementwise);
    if (has_bias()) clamps_and_biases(rows * e.experts, inner, e.hidden, op);
    for (std::size_t i = after; i < ops_.size(); ++i) ops_[i].between_experts = true;
  }

  bool has_bias() const {
    return std::any_of(model_.layers.specs().begin(), model_.layers.specs().end(),
                       [](const LayerSpec& l) {
                         const auto* moe = std::get_if<MoeMlp>(&l.mlp);
                         return moe && moe->bias;
                       });
  }

  // What Megatron Core runs in eager kernels where experts have biases, which of the catalog's
  // models gpt-oss alone does. The gated halves are clamped before the fused activation
  // (weighted_bias_quick_geglu_impl: two clamps and a concatenation, backward their gradients). The
  // bias of the second product times the router's probability is added in fp32
  // (TEGroupedMLP._apply_bias): forward a product, a sum, a concatenation of the experts and a
  // cast; backward the cast, the gradient of the sum, and for bias and probability a product and a
  // sum each. Bytes an element, read and written.
  struct Moved {
    double read, written;
  };
  void clamps_and_biases(std::int64_t rows, std::int64_t inner, std::int64_t width,
                         const ProgramOp& op) {
    const auto kernels = [&](std::string_view name, std::int64_t across,
                             std::initializer_list<Moved> forward,
                             std::initializer_list<Moved> backward) {
      const ProgramOp from{Op{}, op.count, name, op.part};
      const auto kernel = [&](const Moved& m) {
        const double elements = real(rows) * real(across);
        return Elementwise{Elementwise::Kind::kCopy, rows, across, elements * Bytes(m.read),
                           elements * Bytes(m.written)};
      };
      for (const Moved& m : forward)
        forward_and_again(kernel(m), op.count, from, Cost::kElementwise);
      for (const Moved& m : backward)
        put(kernel(m), op.count, from, Pass::kBackwardInput, Cost::kElementwise);
    };
    kernels("moe_clamp", inner, {{2, 2}, {2, 2}, {4, 4}}, {{4, 2}, {4, 2}, {4, 4}});
    kernels("moe_bias", width, {{0, 4}, {6, 4}, {4, 4}, {4, 2}},
            {{2, 4}, {4, 2}, {4, 4}, {4, 0}, {4, 4}, {4, 0}});
  }

  void routed(const MoeExperts& m, const ProgramOp& op) {
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
      const FormatFacts& f = facts(g.format);
      if (!f.quantises_activation) continue;
      const double narrow = f.activation.value();
      // Between the two products: the second's input, and the first's gradient of its output.
      const bool second = &g == &products[1];
      cast(tokens * real(g.k), 2, narrow, op.count * (1 + recomputed_), op, Pass::kForward);
      ops_.back().between_experts = second;
      cast(tokens * real(g.n), 2, 2 * narrow, op.count, op, Pass::kBackwardInput);
      ops_.back().between_experts = !second;
      if (!job_.precision.fp8_parameters)
        cast(experts * real(g.n) * real(g.k), 2, 2 * narrow, op.count / real(job_.micro_batches()),
             op, Pass::kForward);
    }
  }

  // ---- elementwise
  // -------------------------------------------------------------------------------

  static bool of_residual_stream(std::string_view name) {
    constexpr std::array<std::string_view, 5> kNames = {"add_norm", "norm", "residual_add",
                                                        "final_norm", "embedding_norm"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  }

  void elementwise(const Elementwise& e, const ProgramOp& op) {
    Elementwise forward = e;
    if (plan_.sequence_parallel && of_residual_stream(op.name)) {
      forward.rows = std::max<std::int64_t>(1, e.rows / plan_.tp);
      forward.read = e.read / plan_.tp;
      forward.written = e.written / plan_.tp;
    }
    const Cost cost = e.kind == Elementwise::Kind::kQuantise ? Cost::kCasts : Cost::kElementwise;
    forward_and_again(forward, op.count, op, cost);
    const Elementwise back = gradient(forward);
    if (back.read.value() > 0) put(back, op.count, op, Pass::kBackwardInput, cost);
    if (!job_.dropout || !of_residual_stream(op.name)) return;
    // Dropout of the block's output: its mask is a byte an element.
    const Bytes stream = forward.written / (e.kind == Elementwise::Kind::kAddNorm ? 2 : 1);
    const Elementwise drop{Elementwise::Kind::kActivation, forward.rows, forward.width, stream,
                           1.5 * stream};
    forward_and_again(drop, op.count, op, cost);
    put(gradient(drop), op.count, op, Pass::kBackwardInput, cost);
  }

  // ---- communication
  // -----------------------------------------------------------------------------

  void tensor(Kind kind, double count, const Collective& c, const ProgramOp& op, Pass pass) {
    put(Collective{kind, Group::kTensor, c.ranks, c.bytes}, count, op, pass, Cost::kTensor);
  }

  void collective(const Collective& c, const ProgramOp& op, bool experts) {
    // Serving's exchange of tokens: training's own is exchange_tokens.
    if (c.group == Group::kExpert || c.group == Group::kData) return;
    double count = op.count;
    // A layer's two blocks have one entry; routed experts of whole tokens, and those whose copies
    // are gathered, need none of their own.
    const bool own = plan_.ep > 1 && (plan_.expert_tp() == 1 || gathers_copies());
    if (op.name == "tp_all_reduce" && experts && own) count /= 2;
    if (!plan_.sequence_parallel) {
      forward_and_again(c, count, op, Cost::kTensor);
      if (op.name != "embedding_all_reduce") tensor(c.kind, count, c, op, Pass::kBackwardInput);
      return;
    }
    const double again = in_layer(op) ? recomputed_ : 0;
    for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
      tensor(kind, count, c, op, Pass::kForward);
      if (again > 0) tensor(kind, count * again, c, op, Pass::kRecompute);
      tensor(kind, count, c, op, Pass::kBackwardInput);
    }
    if (!frozen_) tensor(Kind::kAllGather, count, c, op, Pass::kBackwardWeight);
  }

  void context() {
    const double local = real(rank_tokens(job_));  // tokens of this rank
    for (std::size_t i = 0; i < model_.layers.specs().size(); ++i) {
      const LayerSpec& spec = model_.layers.specs()[i];
      const int count = model_.layers.count(static_cast<int>(i), range_.first, range_.last);
      if (count == 0) continue;
      double kv = 0, q = 0;  // elements a token of keys and values, and of queries
      if (const auto* a = std::get_if<SoftmaxAttention>(&spec.mixer)) {
        kv = 1.0 * kv_heads_per_rank(a->kv_heads, plan_.tp) * (a->head_dim + a->value_dim);
        q = 1.0 * a->heads / plan_.tp * (a->head_dim + a->value_dim);
      } else if (const auto* l = std::get_if<LatentAttention>(&spec.mixer)) {
        kv = 1.0 * l->heads / plan_.tp * (l->qk_nope_dim + l->qk_rope_dim + l->value_dim);
        q = kv;
      }
      if (kv == 0) continue;
      const ProgramOp from{Op{}, 1.0 * count, "context", Part::kAttention};
      exchange(local * kv * element_, local * q * element_, from);
    }
  }

  // Of one layer: `kv` and `q` are the bytes of this rank's share (q with the output).
  void exchange(Bytes kv, Bytes q, const ProgramOp& from) {
    const int cp = plan_.cp, heads = plan_.head_ranks(), ring = plan_.ring_ranks();
    const auto passes = [&](const Collective& c, double forward, double backward) {
      if (c.ranks == 1) return;
      forward_and_again(c, forward * from.count, from, Cost::kContext);
      // The core of attention, which is computed again, asks its neighbours again.
      if (job_.recompute == Recompute::kSelective)
        put(c, forward * from.count, from, Pass::kRecompute, Cost::kContext);
      put(c, backward * from.count, from, Pass::kBackwardInput, Cost::kContext);
    };
    switch (plan_.context) {
      case ContextMethod::kRing:
        // Hops of a rank's share, all at once: a ring all-gather is cp-1 of them.
        passes({Kind::kAllGather, Group::kContext, cp, cp * kv}, 1, 2);
        break;
      case ContextMethod::kAllGather: {
        passes({Kind::kAllGather, Group::kContext, cp, cp * kv}, 1, 1);
        put(Collective{Kind::kReduceScatter, Group::kContext, cp, cp * kv}, from.count, from,
            Pass::kBackwardInput, Cost::kContext);
        break;
      }
      case ContextMethod::kUlysses:
        passes({Kind::kAllToAll, Group::kContext, cp, kv + q}, 1, 1);
        break;
      case ContextMethod::kUsp: {
        passes({Kind::kAllToAll, Group::kContext, heads, kv + q}, 1, 1);
        // With 1/heads of the heads of as many ranks' tokens: as many bytes.
        const std::size_t before = ops_.size();
        passes({Kind::kAllGather, Group::kContext, ring, ring * kv}, 1, 2);
        for (std::size_t i = before; i < ops_.size(); ++i) ops_[i].apart = heads;
        break;
      }
    }
  }

  // ---- adapters and head
  // -------------------------------------------------------------------------

  void adapters() {
    const std::int64_t tokens = rank_tokens(job_);
    const Format format = plain_format(job_.precision.activations);
    const ProgramOp from{Op{}, 1, "lora", Part::kMlp};
    for (std::size_t i = 0; i < model_.layers.specs().size(); ++i) {
      const int count = model_.layers.count(static_cast<int>(i), range_.first, range_.last);
      if (count == 0) continue;
      for (const AdaptedProjection& p :
           adapted_projections(model_, model_.layers.specs()[i], job_)) {
        const std::int64_t in = std::max<std::int64_t>(1, p.column ? p.in : p.in / plan_.tp);
        const std::int64_t out = std::max<std::int64_t>(1, p.column ? p.out / plan_.tp : p.out);
        const double times = count * p.copies;
        for (const Gemm& g : {Gemm{tokens, job_.lora_rank, in, 1, format},
                              Gemm{tokens, out, job_.lora_rank, 1, format}}) {
          forward_and_again(g, times, from, Cost::kProducts);
          const GemmGradients back = gradients(g);
          put(back.first, times, from, Pass::kBackwardInput, Cost::kProducts);
          put(back.second, times, from, Pass::kBackwardWeight, Cost::kProducts);
        }
        // The sum with the base's output, scaled; backward the scale alone.
        const Bytes whole = real(tokens) * real(out) * element_;
        const Elementwise sum{Elementwise::Kind::kActivation, tokens, out, 2 * whole, whole};
        forward_and_again(sum, times, from, Cost::kElementwise);
        put(sum, times, from, Pass::kBackwardInput, Cost::kElementwise);
        if (job_.tuning == Tuning::kDora) magnitudes(in, out, times, sum);
      }
    }
  }

  // DoRA (Liu et al. 2024, as torchtune writes it): the norm of every column of W + BA, once a pass
  // whatever the tokens, which gradients do not go through; and the output scaled by magnitude over
  // norm, with the magnitude's gradient a sum over tokens.
  void magnitudes(std::int64_t in, std::int64_t out, double times, const Elementwise& scale) {
    const ProgramOp from{Op{}, 1, "dora", Part::kMlp};
    const Format format = plain_format(job_.precision.activations);
    forward_and_again(Gemm{out, in, job_.lora_rank, 1, format}, times, from, Cost::kProducts);
    const Bytes weight = real(in) * real(out) * element_;
    forward_and_again(Elementwise{Elementwise::Kind::kNorm, out, in, 3 * weight, weight}, times,
                      from, Cost::kElementwise);
    forward_and_again(scale, times, from, Cost::kElementwise);
    put(scale, times, from, Pass::kBackwardInput, Cost::kElementwise);
  }

  void head() {
    if (!model_.lm_head) return;
    const ProgramOp from{Op{}, 1, "lm_head", Part::kLmHead};
    const std::int64_t tokens = rank_tokens(job_);
    const std::int64_t shard = (std::int64_t{model_.vocab} + plan_.tp - 1) / plan_.tp;
    const Gemm g{tokens, shard, model_.hidden, 1, plain_format(job_.precision.activations)};
    put(g, 1, from, Pass::kForward, Cost::kHead);
    const GemmGradients back = gradients(g);
    put(back.first, 1, from, Pass::kBackwardInput, Cost::kHead);
    if (!frozen_) put(back.second, 1, from, Pass::kBackwardWeight, Cost::kHead);
    // Megatron's vocab_parallel_cross_entropy: widened to fp32 (2+4 bytes an element), maximum (4),
    // subtracted and exponentiated in place (8), summed (4), scaled (8); backward scaled and
    // rounded (4+2). Fused (Liger, TransformerEngine): read and written once each way in 16 bits.
    const double logits = real(tokens) * real(shard);
    const auto loss = [&](double read, double written, Pass pass) {
      put(Elementwise{Elementwise::Kind::kSoftmax, tokens, shard, logits * Bytes(read),
                      logits * Bytes(written)},
          1, from, pass, Cost::kElementwise);
    };
    if (job_.fused_cross_entropy) {
      loss(2, 2, Pass::kForward);
    } else {
      loss(18, 12, Pass::kForward);
      loss(8, 6, Pass::kBackwardInput);
    }
    if (plan_.tp == 1) return;
    const ProgramOp loss_of{Op{}, 1, "loss_reduce", Part::kLmHead};
    const Collective reduce{Kind::kAllReduce, Group::kTensor, plan_.tp, real(tokens) * Bytes(4)};
    put(reduce, 3, loss_of, Pass::kForward, Cost::kTensor);
    const Collective whole{Kind::kAllReduce, Group::kTensor, plan_.tp,
                           real(tokens * model_.hidden) * element_};
    if (!plan_.sequence_parallel) {
      put(whole, 1, from, Pass::kBackwardInput, Cost::kTensor);
      return;
    }
    tensor(Kind::kAllGather, 1, whole, from, Pass::kForward);
    tensor(Kind::kReduceScatter, 1, whole, from, Pass::kBackwardInput);
    tensor(Kind::kAllGather, 1, whole, from, Pass::kBackwardWeight);
  }

  const Architecture& model_;
  const TrainingJob& job_;
  const TrainingPlan& plan_;
  StageLayers range_;
  bool start_ = false, end_ = false, frozen_ = false;
  double recomputed_ = 0;  // share of the layers that run again
  Bytes element_;
  std::vector<TrainingOp> ops_;
};

}  // namespace

std::string_view to_text(TrainingCost cost) {
  constexpr std::array<std::string_view, kTrainingCosts> kNames = {
      "products", "attention", "attention_backward", "experts", "elementwise", "casts", "head",
      "tensor",   "context",   "expert_exchange"};
  return kNames[static_cast<std::size_t>(cost)];
}

TrainingOp one_for_all(TrainingOp op) {
  std::get<Gemm>(op.op).n *= op.experts;
  op.count /= op.experts;
  return op;
}

std::vector<TrainingOp> training_ops(const Architecture& model, const TrainingJob& job, int chunk) {
  return Passes(model, job, chunk).build();
}

double model_flops_per_token(const Architecture& model, const TrainingJob& job) {
  double attention = 0;  // forward, a document
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const Mixer& mixer = model.layers.specs()[i].mixer;
    double heads = 0, window = 0;
    if (const auto* a = std::get_if<SoftmaxAttention>(&mixer)) {
      heads = 1.0 * a->heads * (a->head_dim + a->value_dim);
      window = a->window;
    } else if (const auto* l = std::get_if<LatentAttention>(&mixer)) {
      heads = 1.0 * l->heads * (l->qk_nope_dim + l->qk_rope_dim + l->value_dim);
    }
    attention += 2 * heads * model.layers.count(static_cast<int>(i)) *
                 attended_pairs(job.attended(), 0, static_cast<std::int64_t>(window),
                                model.kind == orrery::Kind::kDecoder);
  }
  const double weights = static_cast<double>(count_parameters(model).active_without_embedding());
  const bool frozen = job.tuning != Tuning::kFull;
  return (frozen ? 4 : 6) * weights + 3 * attention / real(job.attended());
}

}  // namespace orrery
