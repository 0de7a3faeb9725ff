// Models as eager PyTorch runs them in fp32 with unfused attention (Hugging Face transformers 4.2x,
// torch 2.1): the kernels of a forward and a backward pass, op by op.
//
// Backward passes move what torch's autograd formulas read and write: softmax and dropout and
// powers in several kernels of their own. Sums of a residual stream's gradients are adds, and the
// cross-entropy's gradient begins the backward pass. Compiled: pointwise chains are one kernel each
// and take the softmax or norm that follows in (inference only).
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

// "bert_large", "gpt2_large", "gpt3_xl", "gpt3_27", "opt_13", "switchxl4": the models of
// data/training/neusight_labels. InputError for others. Switch: encoder and decoder of `layers`
// each, in every second one 4 experts of 64 tokens a sequence instead of the dense product.
EagerShape eager_shape(std::string_view model);

struct EagerOp {
  Op op;
  double times = 1;
};

struct EagerPass {
  std::vector<EagerOp> ops;
  Seconds host;  // the GPU waits for the host (experts that ask how many tokens they have)
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
