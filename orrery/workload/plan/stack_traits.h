// Differences in kind between training stacks: which kernels run and which transfers are made.
// Differences by a factor are constants (orrery/training/iteration/constants.h).
#pragma once

#include "orrery/workload/plan/attention_backend.h"

namespace orrery {

struct StackTraits {
  // Norms, activations and rotary embeddings run in kernels of the stack: fusible ops are folded
  // into their neighbours.
  bool fused = true;
  // An RMS norm is one kernel forward and one backward also where nothing else is fused
  // (torch.nn.RMSNorm since PyTorch 2.9). False: several kernels, as its formula is written.
  bool single_norms = false;
  // The kernels of attention.
  AttentionKernels attention = {};
  // Weights that are updated in shards are broadcast by one owner after the other instead of being
  // gathered at once (InternEvo's HybridZeroOptimizer). An owner holds whole tensors of all layers,
  // so the first layer waits for the last owner and no computation hides the broadcasts.
  bool broadcasts = false;
  // With weights that are updated in shards, one all-reduce of all gradients follows the last
  // backward pass, and one gathering of all weights follows the optimizer, so that no computation
  // hides either. Every tensor is copied out of the part of every rank, by a kernel of its own
  // (Nanotron, whose ZeRO 1 with fp32 sums does without DistributedDataParallel).
  bool whole_shards = false;
  // The kernel of a weight's gradient adds to the sum of earlier micro-batches (Megatron's
  // gradient_accumulation_fusion). False: a further kernel reads and adds both.
  bool fused_accumulation = false;
  // In the backward pass, the reduction of a column-parallel product's input gradient over the
  // tensor-parallel ranks overlaps with the product of the weight's gradient. With sequence
  // parallelism, the second gathering of the input overlaps with the product of the input's
  // gradient (Megatron's LinearWithGradAccumulationAndAsyncCommunication, TransformerEngine).
  bool async_gradients = false;
  // Every tensor-parallel rank sends the whole residual stream to the next pipeline stage
  // (DeepSpeed's PipelineEngine without pipe_partitioned). False: it sends its part
  // (Megatron's scatter-gather).
  bool whole_sends = false;
  // One kernel computes all experts of a rank (torchtitan's torch._grouped_mm). False: one product
  // for each expert (TransformerEngine's GroupedLinear, the default of Megatron Core).
  bool grouped_experts = false;
  // The kernel of all experts includes the activation and the casts between its two products
  // (TransformerEngine's fused grouped MLP in CuTe DSL: mxfp8 on Blackwell).
  bool fused_experts = false;
  // Tokens are copied before the products of experts in narrow formats, so that each expert's
  // number is a multiple of the blocks that the format scales, and copied back after them (Megatron
  // Core's TEGroupedMLP: fp8_padding, fp8_unpadding).
  bool padded_experts = false;
  // Parameters of a bucket: gradients are reduced, and weights that are updated in shards are
  // gathered, bucket by bucket. A bucket has at least `bucket` parameters and at least
  // `bucket_of_rank` parameters for each data-parallel rank. Both 0: one layer at a time (FSDP).
  double bucket = 0, bucket_of_rank = 0;
};

}  // namespace orrery
