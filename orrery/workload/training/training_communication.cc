#include "orrery/workload/training/training_passes.h"

namespace orrery {

void TrainingPasses::tensor(Kind kind, double count, const Collective& c, const ProgramOp& op,
                            Pass pass) {
  put(Collective{kind, Group::kTensor, c.ranks, c.bytes}, count, op, pass, Cost::kTensor);
}

// The share of a layer's collectives that recomputation runs again. `op` is one entry for both
// blocks of the layer. `own`: its experts have none.
double TrainingPasses::reduced_again(const ProgramOp& op, bool experts, bool own) const {
  if (job_.recompute != Recompute::kSelective || op.name != "tp_all_reduce") return again(op);
  const LayerSpec& layer = model_.layers.specs()[static_cast<std::size_t>(op.spec)];
  const bool has = has_mlp(layer.mlp) && !layer.parallel && !(experts && own);
  if (!has || !job_.recomputes(experts ? RecomputeModule::kMoe : RecomputeModule::kMlp)) return 0;
  return has_mixer(layer.mixer) ? 0.5 : 1;
}

void TrainingPasses::collective(const Collective& c, const ProgramOp& op, bool experts) {
  // Serving's exchange of tokens: training's own is exchange_tokens.
  if (c.group == Group::kExpert || c.group == Group::kData) return;
  double count = op.count;
  // A layer's two blocks have one entry; routed experts of whole tokens, and those whose copies
  // are gathered, need none of their own.
  const bool own = plan_.ep > 1 && (plan_.expert_tp() == 1 || gathers_copies());
  if (op.name == "tp_all_reduce" && experts && own) count /= 2;
  // Latents come back from the experts as whole sums of a rank's own tokens (gather_copies).
  if (op.name == "moe_latent_all_reduce" && (own || plan_.sequence_parallel)) return;
  const double again = reduced_again(op, experts, own);
  // Its gradients are reduced to the rank that made the projection (attention.py of Megatron-Core).
  if (op.name == "qkv_all_gather") {
    tensor(Kind::kAllGather, count, c, op, Pass::kForward);
    if (again > 0) tensor(Kind::kAllGather, count * again, c, op, Pass::kRecompute);
    return tensor(Kind::kReduceScatter, count, c, op, Pass::kBackwardInput);
  }
  if (!plan_.sequence_parallel) {
    tensor(c.kind, count, c, op, Pass::kForward);
    if (again > 0) tensor(c.kind, count * again, c, op, Pass::kRecompute);
    if (op.name != "embedding_all_reduce") tensor(c.kind, count, c, op, Pass::kBackwardInput);
    return;
  }
  if (op.name == "embedding_all_reduce") {  // its rows leave divided, their gradients are gathered
    tensor(Kind::kReduceScatter, count, c, op, Pass::kForward);
    tensor(Kind::kAllGather, count, c, op, Pass::kBackwardInput);
    return;
  }
  for (const Kind kind : {Kind::kAllGather, Kind::kReduceScatter}) {
    tensor(kind, count, c, op, Pass::kForward);
    if (again > 0) tensor(kind, count * again, c, op, Pass::kRecompute);
    tensor(kind, count, c, op, Pass::kBackwardInput);
  }
  if (!frozen_) tensor(Kind::kAllGather, count, c, op, Pass::kBackwardWeight);
}

void TrainingPasses::context() {
  const double local = real(rank_tokens(job_));  // tokens of this rank
  for (std::size_t i = 0; i < model_.layers.specs().size(); ++i) {
    const LayerSpec& spec = model_.layers.specs()[i];
    const int count = model_.layers.count(static_cast<int>(i), range_.first, range_.last);
    if (count == 0) continue;
    const AttentionWidths widths = attention_widths(spec.mixer);
    if (widths.none()) continue;
    const double kv = widths.keys.on_rank(plan_.tp), q = widths.queries.on_rank(plan_.tp);
    const ProgramOp from{Op{}, 1.0 * count, "context", Part::kAttention};
    exchange(local * kv * element_, local * q * element_, from);
  }
}

// The exchange of one layer: `kv` and `q` are the bytes of this rank's share (q with the output).
void TrainingPasses::exchange(Bytes kv, Bytes q, const ProgramOp& from) {
  const int cp = plan_.cp, heads = plan_.head_ranks(), ring = plan_.ring_ranks();
  const auto passes = [&](const Collective& c, double forward, double backward) {
    if (c.ranks == 1) return;
    forward_and_again(c, forward * from.count, from, Cost::kContext);
    // The core of attention, which is computed again, asks its neighbours again.
    if (job_.recomputes(RecomputeModule::kCoreAttention))
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

}  // namespace orrery
