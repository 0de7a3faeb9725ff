#include "orrery/workload/training/tensor_collectives.h"

#include "orrery/base/index.h"
#include "orrery/workload/training/training_experts.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;
using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

// The share of a layer's collectives that recomputation runs again. `op` is one entry for both
// blocks of the layer. `own`: its experts have none.
double reduced_again(const PassWriter& w, const ProgramOp& op, bool experts, bool own) {
  if (w.job().recompute != Recompute::kSelective || op.name != "tp_all_reduce") return w.again(op);
  const LayerSpec& layer = w.model().layers.specs()[index(op.spec)];
  const bool has = has_mlp(layer.mlp) && !layer.parallel && !(experts && own);
  if (!has || !w.job().recomputes(experts ? RecomputeModule::kMoe : RecomputeModule::kMlp))
    return 0;
  return has_mixer(layer.mixer) ? 0.5 : 1;
}

}  // namespace

void add_tensor_collective(PassWriter& w, CollectiveKind kind, double count, const Collective& c,
                           const ProgramOp& op, TrainingPass pass) {
  w.put(Collective{kind, Group::kTensor, c.ranks, c.bytes}, count, op, pass, Cost::kTensor);
}

void add_collective(PassWriter& w, const Collective& c, const ProgramOp& op, bool experts) {
  // Serving's exchange of tokens: training's own is that of training_experts.h.
  if (c.group == Group::kExpert || c.group == Group::kData) return;
  double count = op.count;
  // A layer's two blocks have one entry; routed experts of whole tokens, and those whose copies
  // are gathered, need none of their own.
  const bool own = w.plan().ep > 1 && (w.plan().expert_tp() == 1 || gathers_copies(w.plan()));
  if (op.name == "tp_all_reduce" && experts && own) count /= 2;
  // Latents come back from the experts as whole sums of a rank's own tokens (gathers_copies).
  if (op.name == "moe_latent_all_reduce" && (own || w.plan().sequence_parallel)) return;
  const double again = reduced_again(w, op, experts, own);
  // Its gradients are reduced to the rank that made the projection (attention.py of Megatron-Core).
  if (op.name == "qkv_all_gather") {
    add_tensor_collective(w, CollectiveKind::kAllGather, count, c, op, Pass::kForward);
    if (again > 0)
      add_tensor_collective(w, CollectiveKind::kAllGather, count * again, c, op, Pass::kRecompute);
    return add_tensor_collective(w, CollectiveKind::kReduceScatter, count, c, op,
                                 Pass::kBackwardInput);
  }
  if (!w.plan().sequence_parallel) {
    add_tensor_collective(w, c.kind, count, c, op, Pass::kForward);
    if (again > 0) add_tensor_collective(w, c.kind, count * again, c, op, Pass::kRecompute);
    if (op.name != "embedding_all_reduce")
      add_tensor_collective(w, c.kind, count, c, op, Pass::kBackwardInput);
    return;
  }
  if (op.name == "embedding_all_reduce") {  // its rows leave divided, their gradients are gathered
    add_tensor_collective(w, CollectiveKind::kReduceScatter, count, c, op, Pass::kForward);
    add_tensor_collective(w, CollectiveKind::kAllGather, count, c, op, Pass::kBackwardInput);
    return;
  }
  for (const CollectiveKind kind : {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter}) {
    add_tensor_collective(w, kind, count, c, op, Pass::kForward);
    if (again > 0) add_tensor_collective(w, kind, count * again, c, op, Pass::kRecompute);
    add_tensor_collective(w, kind, count, c, op, Pass::kBackwardInput);
  }
  if (!w.frozen())
    add_tensor_collective(w, CollectiveKind::kAllGather, count, c, op, Pass::kBackwardWeight);
}

}  // namespace orrery
