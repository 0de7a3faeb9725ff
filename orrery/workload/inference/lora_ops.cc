#include "orrery/workload/inference/lora_ops.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// An adapted product on one rank. `slices`: matrices that one product multiplies (q, k and v).
struct Adapted {
  std::string_view shrink, expand;
  Part part;
  std::int64_t in, out;
  int slices;
};

// Calls `use` for every adapted product of the layer.
template <class Use>
void each_product(const Architecture& model, int tp, const LayerSpec& layer, bool mlp, Use use) {
  if (const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer)) {
    const std::int64_t heads = a->heads / tp;
    const std::int64_t kv = a->shares_kv ? 0 : kv_heads_per_rank(a->kv_heads, tp);
    const std::int64_t values = a->values_from_keys ? 0 : a->value_dim;
    const int slices = a->shares_kv ? 1 : a->values_from_keys ? 2 : 3;
    use(Adapted{"lora_qkv_shrink", "lora_qkv_expand", Part::kAttention, model.hidden,
                heads * a->head_dim + kv * (a->head_dim + values), slices});
    use(Adapted{"lora_o_shrink", "lora_o_expand", Part::kAttention, heads * a->value_dim,
                model.hidden, 1});
  } else if (!std::holds_alternative<NoMixer>(layer.mixer)) {
    throw NoData(fmt::format("{}: adapters are supported for softmax attention only", model.id));
  }
  if (const auto* m = std::get_if<DenseMlp>(&layer.mlp); m && mlp) {
    const std::int64_t inner = m->intermediate / tp;
    use(Adapted{"lora_up_shrink", "lora_up_expand", Part::kMlp, model.hidden,
                (m->gated ? 2 : 1) * inner, m->gated ? 2 : 1});
    use(Adapted{"lora_down_shrink", "lora_down_expand", Part::kMlp, inner, model.hidden, 1});
  }
}

}  // namespace

void add_lora(OpList& ops, const RankStep& step, const LayerSpec& layer) {
  const auto adapters = real(step.batch.adapters);
  if (adapters == 0) return;
  const std::int64_t rank = step.batch.lora.rank;
  const double rows = real(step.tokens());
  constexpr Bytes kAccumulator{4};
  each_product(step.model, step.tp(), layer, step.batch.lora.mlp, [&](const Adapted& p) {
    const double inner = real(p.slices * rank);
    const double in = real(p.in), out = real(p.out);
    const Bytes between = rows * inner * kAccumulator;
    const Bytes a = adapters * inner * in * step.element();
    const Bytes b = adapters * real(rank) * out * step.element();
    const Bytes results = rows * out * step.element();
    ops.add(p.shrink, p.part,
            Elementwise{Elementwise::Kind::kAdd, step.tokens(), p.in,
                        rows * in * step.element() + a, between});
    ops.add(
        p.expand, p.part,
        Elementwise{Elementwise::Kind::kAdd, step.tokens(), p.out, between + b + results, results});
  });
}

AdapterSize adapter_size(const Architecture& model, const ParallelPlan& plan,
                         const Precision& precision, const LoraShape& shape) {
  AdapterSize size;
  double elements = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const int layers = model.layers.count(static_cast<int>(i));
    each_product(model, plan.tp, model.layers.specs()[i], shape.mlp, [&](const Adapted& p) {
      elements += 1.0 * layers * shape.rank * (real(p.slices * p.in) + real(p.out));
      size.tensors += std::int64_t{2} * layers * p.slices;
    });
  }
  size.bytes = elements * bytes_per_element(precision.activations);
  return size;
}

}  // namespace orrery
