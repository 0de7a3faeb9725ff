// The kernels of NeuSight's models, op by op. This file serves one data set,
// data/training/neusight_labels.csv (`orrery validate neusight`): no question of a user reaches it,
// and no answer is made from it.
//
// Models run in fp32 eager PyTorch with unfused attention (Hugging Face transformers 4.2x, torch
// 2.1). Backward passes move the bytes that torch's autograd formulas read and write: powers,
// softmax and dropout take several kernels of their own. Sums of the residual stream's gradients
// are adds, and the backward pass begins with the cross-entropy's gradient. In compiled models
// (inference only) a chain of pointwise ops is one kernel with the softmax or norm that follows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/workload/ops/op.h"

namespace orrery {

struct EagerShape {
  enum class Kind { kBert, kGpt2, kOpt, kSwitch } kind = Kind::kGpt2;
  std::int64_t layers = 1, hidden = 1, heads = 1, head_dim = 64, ffn = 1, vocab = 1;
};

// The shape of a model by its name in the data set: bert_large, gpt2_large, gpt3_xl, gpt3_27,
// opt_13 or switchxl4. InputError for other names. Switch has an encoder and a decoder of `layers`
// layers; every second layer has 4 experts of 64 tokens a sequence in the place of the dense
// product.
EagerShape eager_shape(std::string_view model);

struct EagerOp {
  Op op;
  double times = 1;
};

struct EagerPass {
  std::vector<EagerOp> ops;
  Seconds host;  // wait of the GPU for the host, which counts the tokens of experts
};

struct EagerPasses {
  EagerPass forward, backward;
};

struct EagerRun {
  bool train = false;       // dropout in the forward pass, and a backward pass
  bool compiled = false;    // see above
  bool accumulate = false;  // gradients of weights are added onto the last pass's (no zero_grad)
  // Heads, feed-forward columns and the vocabulary are divided by it (tensor parallelism).
  std::int64_t shards = 1;
};

EagerPasses eager_passes(const EagerShape& model, std::int64_t batch, std::int64_t tokens,
                         const EagerRun& run);

}  // namespace orrery
