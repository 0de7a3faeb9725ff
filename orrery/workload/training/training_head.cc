#include "orrery/workload/training/training_head.h"

#include "orrery/workload/training/tensor_collectives.h"

namespace orrery {
namespace {

using Pass = TrainingPass;
using Cost = TrainingCost;
using CollectiveKind = Collective::Kind;
using Group = Collective::Group;

}  // namespace

void add_embedding_gradient(PassWriter& w, const ProgramOp& op) {
  w.put(op.op, 2 * op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
  const std::int64_t shard = (std::int64_t{w.model().vocab} + w.plan().tp - 1) / w.plan().tp;
  const double weights = real(shard) * real(w.model().hidden);
  const Bytes stored = bytes_per_element(w.job().precision.gradients);
  const bool adds = w.job().micro_batches() > 1;
  w.put(Elementwise{Elementwise::Kind::kCopy, shard, w.model().hidden,
                    adds ? weights * (w.element() + stored) : Bytes(0),
                    weights * (adds ? w.element() + stored : w.element())},
        op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
}

void add_head(PassWriter& w) {
  if (!w.model().lm_head) return;
  const ProgramOp from{Op{}, 1, "lm_head", Part::kLmHead};
  const std::int64_t tokens = rank_tokens(w.job());
  const std::int64_t shard = (std::int64_t{w.model().vocab} + w.plan().tp - 1) / w.plan().tp;
  const Gemm g{tokens, shard, w.model().hidden, 1, plain_format(w.job().precision.activations)};
  w.put(g, 1, from, Pass::kForward, Cost::kHead);
  const GemmGradients back = gradients(g);
  w.put(back.first, 1, from, Pass::kBackwardInput, Cost::kHead);
  if (!w.frozen()) w.put(back.second, 1, from, Pass::kBackwardWeight, Cost::kHead);
  // Megatron's vocab_parallel_cross_entropy: widened to fp32 (2+4 bytes an element), maximum (4),
  // subtracted and exponentiated in place (8), summed (4), scaled (8); backward scaled and
  // rounded (4+2). Fused (Liger, TransformerEngine): read and written once each way in 16 bits.
  const double logits = real(tokens) * real(shard);
  const auto loss = [&](double read, double written, TrainingPass pass) {
    w.put(Elementwise{Elementwise::Kind::kSoftmax, tokens, shard, logits * Bytes(read),
                      logits * Bytes(written)},
          1, from, pass, Cost::kElementwise);
  };
  if (w.job().fused_cross_entropy) {
    loss(2, 2, Pass::kForward);
  } else {
    loss(18, 12, Pass::kForward);
    loss(8, 6, Pass::kBackwardInput);
  }
  if (w.plan().tp == 1) return;
  const ProgramOp loss_of{Op{}, 1, "loss_reduce", Part::kLmHead};
  const Collective reduce{CollectiveKind::kAllReduce, Group::kTensor, w.plan().tp,
                          real(tokens) * Bytes(4)};
  w.put(reduce, 3, loss_of, Pass::kForward, Cost::kTensor);
  const Collective whole{CollectiveKind::kAllReduce, Group::kTensor, w.plan().tp,
                         real(tokens * w.model().hidden) * w.element()};
  if (!w.plan().sequence_parallel) {
    w.put(whole, 1, from, Pass::kBackwardInput, Cost::kTensor);
    return;
  }
  add_tensor_collective(w, CollectiveKind::kAllGather, 1, whole, from, Pass::kForward);
  add_tensor_collective(w, CollectiveKind::kReduceScatter, 1, whole, from, Pass::kBackwardInput);
  add_tensor_collective(w, CollectiveKind::kAllGather, 1, whole, from, Pass::kBackwardWeight);
}

}  // namespace orrery
