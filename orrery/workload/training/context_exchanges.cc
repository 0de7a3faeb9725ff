#include "orrery/workload/training/context_exchanges.h"

#include "orrery/workload/training/training_parameters.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;
using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

// The exchange of one layer: `kv` and `q` are the bytes of this rank's share (q with the output).
void add_exchange(PassWriter& w, Bytes kv, Bytes q, const ProgramOp& from) {
  const int cp = w.plan().cp, heads = w.plan().head_ranks(), ring = w.plan().ring_ranks();
  const auto passes = [&](const Collective& c, double forward, double backward) {
    if (c.ranks == 1) return;
    w.forward_and_again(c, forward * from.count, from, Cost::kContext);
    // The core of attention, which is computed again, asks its neighbours again.
    if (w.job().recomputes(RecomputeModule::kCoreAttention))
      w.put(c, forward * from.count, from, Pass::kRecompute, Cost::kContext);
    w.put(c, backward * from.count, from, Pass::kBackwardInput, Cost::kContext);
  };
  switch (w.plan().context) {
    case ContextMethod::kRing:
      // Hops of a rank's share, all at once: a ring all-gather is cp-1 of them.
      passes({CollectiveKind::kAllGather, Group::kContext, cp, cp * kv}, 1, 2);
      break;
    case ContextMethod::kAllGather: {
      passes({CollectiveKind::kAllGather, Group::kContext, cp, cp * kv}, 1, 1);
      w.put(Collective{CollectiveKind::kReduceScatter, Group::kContext, cp, cp * kv}, from.count,
            from, Pass::kBackwardInput, Cost::kContext);
      break;
    }
    case ContextMethod::kUlysses:
      passes({CollectiveKind::kAllToAll, Group::kContext, cp, kv + q}, 1, 1);
      break;
    case ContextMethod::kUsp: {
      passes({CollectiveKind::kAllToAll, Group::kContext, heads, kv + q}, 1, 1);
      // With 1/heads of the heads of as many ranks' tokens: as many bytes.
      const std::size_t before = w.size();
      passes({CollectiveKind::kAllGather, Group::kContext, ring, ring * kv}, 1, 2);
      for (TrainingOp& o : w.since(before)) o.apart = heads;
      break;
    }
  }
}

}  // namespace

void add_context_exchanges(PassWriter& w) {
  const double local = real(rank_tokens(w.job()));  // tokens of this rank
  for (std::size_t i = 0; i < w.model().layers.specs().size(); ++i) {
    const LayerSpec& spec = w.model().layers.specs()[i];
    const int count = w.model().layers.count(static_cast<int>(i), w.range().first, w.range().last);
    if (count == 0) continue;
    const AttentionWidths widths = attention_widths(spec.mixer);
    if (widths.none()) continue;
    const double kv = widths.keys.on_rank(w.plan().tp), q = widths.queries.on_rank(w.plan().tp);
    const ProgramOp from{Op{}, 1.0 * count, "context", Part::kAttention};
    add_exchange(w, local * kv * w.element(), local * q * w.element(), from);
  }
}

}  // namespace orrery
