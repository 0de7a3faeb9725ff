#include "orrery/workload/inference/layer_input_ops.h"

namespace orrery {
namespace {

// Elements of the per-layer inputs of a token, for all layers.
std::int64_t all_inputs(const Architecture& model) {
  if (model.per_layer_vocab == 0 || model.layers.empty()) return 0;
  return std::int64_t{model.layers.at(0).per_layer_input} * model.layers.size();
}

}  // namespace

void add_attention_residuals(OpList& ops, const RankStep& step, const LayerSpec& layer, Part part) {
  ops.elementwise("attn_residual", part, Elementwise::Kind::kAddNorm,
                  {step.tokens(), step.hidden(), step.element(), 1.0 + layer.residual_sources, 2});
}

void add_per_layer_tables(OpList& ops, const RankStep& step) {
  const std::int64_t width = all_inputs(step.model);
  if (width == 0) return;
  const Bytes rows = real(step.tokens()) * real(width) * step.element();
  ops.add("per_layer_embedding", Part::kEmbedding,
          Embedding{step.tokens(), width, step.precision.activations});
  if (step.tp() > 1) {
    ops.collective("per_layer_all_reduce", Collective::Kind::kAllReduce, Collective::Group::kTensor,
                   step.tp(), rows);
  }
  const std::int64_t shard = (width + step.tp() - 1) / step.tp();
  ops.gemm("per_layer_model_proj", Part::kEmbedding, step.tokens(), shard, step.hidden(),
           step.plain());
  if (step.tp() > 1) {
    ops.collective("per_layer_all_gather", Collective::Kind::kAllGather, Collective::Group::kTensor,
                   step.tp(), rows);
  }
  ops.elementwise("per_layer_norm", Part::kEmbedding, Elementwise::Kind::kAddNorm,
                  {step.tokens(), width, step.element(), 2, 1});
}

void add_per_layer_input(OpList& ops, const RankStep& step, const LayerSpec& layer) {
  const std::int64_t width = layer.per_layer_input;
  if (width == 0) return;
  ops.gemm("per_layer_gate", Part::kMlp, step.tokens(), width, step.hidden(), step.plain());
  ops.elementwise("per_layer_activation", Part::kMlp, Elementwise::Kind::kActivation,
                  {step.tokens(), width, step.element(), 2, 1});
  ops.gemm("per_layer_proj", Part::kMlp, step.tokens(), step.hidden(), width, step.plain());
  ops.elementwise("per_layer_add_norm", Part::kMlp, Elementwise::Kind::kAddNorm,
                  {step.tokens(), step.hidden(), step.element(), 2, 1});
}

double sent_rows(const Architecture& model, const LayerSpec& last) {
  const double sources = last.residual_sources > 0 ? last.residual_sources : 1;
  return sources + real(all_inputs(model)) / model.hidden;
}

}  // namespace orrery
