// What a training stack keeps that the model and the plan do not tell: how its layers are written,
// when its gradients exist, the buffers of its communication and of its allocator.
//
// One entry of catalog/training/memory.yaml a family of stacks, with switches read from the stacks'
// code and documentation. What is fitted (orrery/validate/judge/training_memory.h) is the same for all:
// catalog/training/memory-fitted.yaml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

struct TrainingMemoryConstants {
  std::string name = "megatron";
  std::vector<std::string> stacks;  // that it stands for: "megatron", "nemo"

  // Norms, gates and activations are fused or compiled: each saves its inputs once, in the
  // activations' format. Else RMS norms save an fp32 copy too, and gated MLPs the activated gate.
  bool fused = true;
  // Key-value heads are repeated to as many as there are heads before attention (PyTorch's SDPA).
  bool expanded_kv = false;
  // Selective recomputation keeps every other product's output of a layer and the output of
  // attention, and recomputes the rest (torchtitan); false: it drops the core of attention.
  bool selective_products = false;
  // Gradients have buffers that live as long as the job; false: with a single micro-batch they
  // appear during the backward pass and are dropped by the step (PyTorch).
  bool gradient_buffer = true;
  // A stage keeps what it sent on until the backward pass of it is done (DeepSpeed's pipeline).
  bool stage_outputs = false;
  // Beside gradients summed in fp32, those of the micro-batch stay in 16 bits (DeepSpeed's bf16
  // optimizer).
  bool narrow_gradients = false;
  // The optimizer's step holds a copy of what it updates (PyTorch's default multi-tensor Adam).
  bool step_copy = false;
  // Parameters are kept in fp32 where there are master weights: no second copy in 16 bits (FSDP).
  bool fp32_parameters = false;
  // Bytes an element of the logits beside their own in the activations' format, at the loss's peak:
  // 8 is a copy in fp32 and its gradient (Megatron), 12 a log-softmax too (PyTorch).
  double logits_extra = 8;
  // With a fused cross entropy instead, all together: 0 where logits are never whole (Liger).
  double fused_logits = 2;
  // Elements of each of the two buffers through which gradients and weights pass between
  // data-parallel ranks in whole buckets (DeepSpeed: 5e8); 0: no more than in the gradient buffer.
  double bucket = 0;

  // Sets of process groups in Megatron's manner, with groups of the whole world, of a model and of
  // its two embeddings beside those of the plan (parallel_state.py); DeepSpeed's pipeline makes a
  // second one.
  int grids = 0;
  Bytes workspace = gigabytes(0.1);  // of products (cuBLAS: 8 to 32 MiB a stream and handle)

  struct Fitted {
    // Activations over the tensors counted.
    double factor = 1;
    // Reserved by the allocator over allocated, of activations, logits and buckets.
    double fragmentation = 0.1;
    Bytes context = gigabytes(0.8);  // driver context and libraries
    // Sigma of ln(predicted / measured), for the probability that a job fits.
    double error = 0.12;
  } fitted;
};

// The text of memory-fitted.yaml.
std::string to_yaml(const TrainingMemoryConstants::Fitted& fitted, std::string_view recipe);

// Of a stack by name ("megatron", "fsdp"); those of the entry without stacks where none has it.
TrainingMemoryConstants load_training_memory(std::string_view stack, const Bundle& bundle);
// All entries, as in the file.
std::vector<TrainingMemoryConstants> load_training_memory(const Bundle& bundle);

}  // namespace orrery
