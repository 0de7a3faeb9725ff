// Training stacks: the software that trains (megatron, fsdp, ...), one file of
// catalog/training/stacks each, named after the stack. The file has everything that is not fitted:
//
//   doc, sources     one line for users; where the facts come from
//   defaults         ZeRO stage and sequence parallelism if a user does not state them
//   traits           which kernels and transfers the stack makes (stack_traits.h)
//   traits_since     traits that newer releases of the stack have
//   torch            traits that newer releases of PyTorch bring
//   attention        which library computes attention (attention_backend.h)
//   memory           which tensors and buffers the stack keeps (StackMemory)
//   recipe           settings of the stack's recipes, for measured rows that do not state them
//   before_2023      settings of measured rows of 2022 and before
//   frameworks       names of the stack in measured tables, with settings of their own
//
// Fitted constants are in catalog/training/constants.yaml (orrery/training/iteration/constants.h)
// and catalog/training/memory-fitted.yaml (orrery/memory/training_constants.h). A stack that no fit
// has seen gets their base values. To add a stack, write its file; nothing else refers to stacks by
// name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/dtype.h"
#include "orrery/base/units.h"
#include "orrery/workload/plan/stack_traits.h"
#include "orrery/workload/plan/torch_version.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

// The tensors and buffers that a stack keeps in device memory beyond those that the model and the
// plan imply.
struct StackMemory {
  // Norms, gates and activations are fused or compiled: each saves its inputs once, in the format
  // of the activations. False: RMS norms also save an fp32 copy, and gated MLPs the activated gate.
  bool fused = true;
  // Gated MLPs save the activated gate even where `fused` holds (Nanotron's GLUActivation).
  bool activated_gates = false;
  // Key-value heads are repeated before attention until there is one for each head (PyTorch's
  // SDPA).
  bool expanded_kv = false;
  // Selective recomputation means RecomputeModule::kProducts (torchtitan). False: it means the core
  // of attention.
  bool selective_products = false;
  // Adapters are kept in fp32, whatever the base is in (PEFT's autocast_adapter_dtype).
  bool fp32_adapters = false;
  // Gradients have buffers that exist as long as the job. False: with a single micro-batch they
  // appear during the backward pass and are freed after the optimizer step (PyTorch).
  bool gradient_buffer = true;
  // A pipeline stage keeps what it sent until the backward pass of it is done (DeepSpeed).
  bool stage_outputs = false;
  // Outputs of routed experts are kept for the gradient of the routing weights. False: the weights
  // multiply the activation between the two products, whose inputs are kept anyway (Megatron Core's
  // weighted_bias_swiglu).
  bool routed_outputs = true;
  // 16-bit gradients of the micro-batch exist in addition to fp32 sums (DeepSpeed's bf16
  // optimizer).
  bool narrow_gradients = false;
  // They are freed when they are added to the sums, after the backward pass of the micro-batch, so
  // that they do not exist beside the activations of all micro-batches in flight (Nanotron's
  // FP32GradientAccumulator).
  bool narrow_gradients_freed = false;
  // Without ZeRO, buckets of gradients in the format of the activations exist beside the gradients
  // (PyTorch's DistributedDataParallel without gradient_as_bucket_view).
  bool gradient_buckets = false;
  // The optimizer step holds a copy of what it updates (PyTorch's default multi-tensor Adam).
  bool step_copy = false;
  // Copies of all weights that exist while updated shards are gathered under ZeRO 1 and 2
  // (Nanotron's all_gather_coalesced: one of its own, and PyTorch's of a list of outputs).
  int gathered_copies = 0;
  // With master weights, the fp32 copy is the only copy of the parameters (FSDP).
  bool fp32_parameters = false;
  // Bytes of a logit at the peak of the loss, in addition to its own in the format of the
  // activations. 8: an fp32 copy and its gradient (Megatron). 12: also a log-softmax (PyTorch).
  double logits_extra = 8;
  // Bytes of a logit with a fused cross entropy, all copies. 0: there is never a tensor of all
  // logits (Liger).
  double fused_logits = 2;
  // Elements of each of the two buffers in which gradients and weights travel between data-parallel
  // ranks (DeepSpeed: 5e8). 0: they travel inside the gradient buffer.
  double bucket = 0;
  // Number of sets of process groups in Megatron's manner (parallel_state.py): besides the groups
  // of the plan, groups of the whole world, of a model and of its two embeddings. DeepSpeed's
  // pipeline makes a second set.
  int grids = 0;
  // Workspace of matrix products (cuBLAS: 8 to 32 MiB for each stream and handle,
  // docs.nvidia.com/cuda/cublas, cublasSetWorkspace).
  Bytes workspace = gigabytes(0.1);
};

// Settings of a stack's recipes. A measured row that does not state one of them has this value.
struct StackRecipe {
  Dtype gradients = Dtype::kFp32;       // as accumulated and reduced
  Dtype fp16_gradients = Dtype::kFp16;  // the same in jobs of fp16, which scale the loss
  bool master_weights = true;
  Dtype moments = Dtype::kFp32;
  bool dropout = false;
  bool compiled = false;
  bool fused_cross_entropy = false;
  bool tp_overlap = false;
  bool current_scaling = false;  // Fp8Recipe::kCurrent in jobs of fp8, not kTensor
  bool dp_overlap = true;
  Recompute recompute = Recompute::kNone;
  int lora_rank = 8;
  std::vector<std::string> lora_targets = {"q", "k", "v", "o", "gate", "up", "down"};
  std::optional<int> zero;  // ZeRO stage; none: TrainingStackProfile::zero
  // Selective recomputation repeats whole layers. Their share follows from a row's MFU and HFU.
  bool recomputes_layers = false;
  // Without ZeRO nothing is recomputed, so that a row need not state it.
  bool no_recompute_unsharded = false;
  // A fused loss comes with fused norms and gates (Liger).
  bool loss_fuses_all = false;
};

// A name of the stack in measured tables.
struct StackFramework {
  std::string name;  // a part of the table's text
  // Settings in which this framework differs from StackRecipe.
  std::optional<Dtype> gradients;
  std::optional<bool> tp_overlap, compiled, current_scaling;
  std::optional<int> lora_rank;
  std::string attention;  // the library of attention on GPUs on which its times are known
};

// The library of attention that a stack calls on some architectures, from a release of PyTorch on.
// The last of several that hold for a job counts. If none holds, attention is the kernel room's.
struct StackAttention {
  std::string backend;
  std::vector<std::string> architectures;  // GpuArchitecture::kernels; empty: all
  TorchVersion since;                      // 0.0: all releases
};

// The release of a training run's software, as far as it is known.
struct StackRelease {
  std::optional<double> date;         // of the stack, in years; none: the oldest releases
  std::optional<TorchVersion> torch;  // none: that of the date
};

struct TrainingStackProfile {
  std::string name;  // of its file
  std::string doc;
  std::vector<std::string> sources;
  int zero = 0;                    // default ZeRO stage with several data-parallel ranks
  bool sequence_parallel = false;  // default with tensor parallelism
  // Layers that no key of the question divides are divided by SplitRule::balanced.
  bool balanced_split = false;
  StackTraits traits;
  // Traits of releases from a year on; none: all releases have `traits`.
  std::optional<double> since;
  StackTraits traits_since;
  std::optional<TorchVersion> single_norms_since;  // StackTraits::single_norms from there on
  std::vector<StackAttention> attention;
  StackMemory memory;
  StackRecipe recipe;
  // Rows of 2022 and before: the stack that they belong to instead (empty: this one), and recipe.
  std::string stack_before_2023;
  StackRecipe recipe_before_2023;
  std::vector<StackFramework> frameworks;
};

// Fills in the settings that a job leaves to its stack: the modules of selective recomputation, and
// the format of adapters.
void set_stack_defaults(TrainingJob& job, const StackMemory& stack);

// All stacks of the bundle, in the order of their names.
std::vector<TrainingStackProfile> load_training_stacks(const Bundle& bundle);

// The names of all stacks of the catalog that the program contains, in order, without reading them.
std::vector<std::string> training_stack_names();
// All stacks of the catalog that the program contains, read once.
const std::vector<TrainingStackProfile>& training_stacks();
// Throws InputError if the bundle's overlay has another file for a stack of the program. The traits
// of a stack are those of the program, so that such a file would change nothing but its memory.
void check_stack_file(const Bundle& bundle, std::string_view name);
// Throws InputError with the nearest name if training_stacks() has no stack of that name.
const TrainingStackProfile& training_stack(std::string_view name);

// The traits of a stack's release on a GPU, attention's kernels apart. `compiled`: torch.compile,
// which folds fusible ops into their neighbours.
StackTraits stack_traits(const TrainingStackProfile& stack, bool compiled,
                         const StackRelease& release = {});

// The PyTorch of a release; none: it is not known.
std::optional<TorchVersion> torch_of(const StackRelease& release);

// The name of the library that computes attention in the stack's release on the GPU; empty: the
// kernels that the kernel room predicts.
std::string attention_of(const TrainingStackProfile& stack, const StackRelease& release,
                         const Gpu& gpu);

}  // namespace orrery
