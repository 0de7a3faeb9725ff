// The ends of the model: the gradient of the embedding, the vocabulary-parallel LM head, and the
// loss in fp32 with its three reductions.
#pragma once

#include "orrery/workload/training/pass_writer.h"

namespace orrery {

// The gradient of the embedding is a matrix like the weight (PyTorch's embedding_dense_backward).
// It is filled with zeros, the rows of the tokens are added to it, and it is added to the gradients
// of earlier micro-batches.
void add_embedding_gradient(PassWriter& w, const ProgramOp& op);

// The LM head and the loss; nothing where the model has no head. REQUIRES last().
void add_head(PassWriter& w);

}  // namespace orrery
