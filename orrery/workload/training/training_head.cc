#include "orrery/workload/training/training_passes.h"

namespace orrery {

// The gradient of the embedding is a matrix like the weight (PyTorch's embedding_dense_backward).
// It is filled with zeros, the rows of the tokens are added to it, and it is added to the gradients
// of earlier micro-batches.
void TrainingPasses::embedding_gradient(const ProgramOp& op) {
  put(op.op, 2 * op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
  const std::int64_t shard = (std::int64_t{model_.vocab} + plan_.tp - 1) / plan_.tp;
  const double weights = real(shard) * real(model_.hidden);
  const Bytes stored = bytes_per_element(job_.precision.gradients);
  const bool adds = job_.micro_batches() > 1;
  put(Elementwise{Elementwise::Kind::kCopy, shard, model_.hidden,
                  adds ? weights * (element_ + stored) : Bytes(0),
                  weights * (adds ? element_ + stored : element_)},
      op.count, op, Pass::kBackwardWeight, Cost::kElementwise);
}

void TrainingPasses::head() {
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

}  // namespace orrery
