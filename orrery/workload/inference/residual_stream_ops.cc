#include "orrery/workload/inference/residual_stream_ops.h"

namespace orrery {
namespace {

void add_weights(OpList& ops, const RankStep& step, Part part, int streams, int columns) {
  ops.gemm("stream_weights", part, step.tokens(), columns, streams * step.hidden(), step.plain());
}

void add_pass(OpList& ops, const RankStep& step, std::string_view name, Part part,
              Elementwise::Kind kind, double reads, double writes) {
  ops.elementwise(name, part, kind, {step.tokens(), step.hidden(), step.element(), reads, writes});
}

}  // namespace

int residual_streams(const Architecture& model) {
  return model.layers.empty() ? 1 : model.layers.at(0).residual_streams;
}

void add_stream_layers(OpList& ops, const RankStep& step, const LayerSpec& layer, int count,
                       int halves) {
  const int s = layer.residual_streams;
  constexpr Part kPart = Part::kAttention;
  ops.repeat(1.0 * count * halves);
  add_weights(ops, step, kPart, s, (2 + s) * s);
  add_pass(ops, step, "stream_collapse", kPart, Elementwise::Kind::kAdd, s, 1);
  add_pass(ops, step, "stream_expand", kPart, Elementwise::Kind::kAdd, s + 1, s);
  ops.repeat(1.0 * count * layer.norms);
  add_pass(ops, step, "norm", kPart, Elementwise::Kind::kNorm, 1, 1);
  ops.repeat(count);
}

void add_stream_start(OpList& ops, const RankStep& step) {
  const int s = residual_streams(step.model);
  if (s == 1) return;
  add_pass(ops, step, "stream_copy", Part::kEmbedding, Elementwise::Kind::kCopy, 1, s);
}

void add_stream_end(OpList& ops, const RankStep& step) {
  const int s = residual_streams(step.model);
  if (s == 1) return;
  add_weights(ops, step, Part::kLmHead, s, s);
  add_pass(ops, step, "stream_collapse", Part::kLmHead, Elementwise::Kind::kAdd, s, 1);
}

}  // namespace orrery
