#include "orrery/workload/inference/lora_ops.h"

#include <fmt/format.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// An adapted product on one rank. `slices`: matrices that one product multiplies (q, k and v).
struct Adapted {
  std::int64_t in = 0, out = 0;
  int slices = 0;
};

// The adapted matrices of a mixer or an MLP on one rank: as one product those that read the
// residual stream, and as another the one that writes to it.
struct AdaptedOnRank {
  std::int64_t hidden;
  int tp;
  Adapted in{}, out{};
  bool others = false;  // adapted matrices that do neither

  void matrix(const LayerMatrix& m) {
    if (m.adapter.empty()) return;
    const bool reads = m.inputs == whole(hidden), writes = m.outputs == whole(hidden);
    if (reads == writes) {
      others = true;
      return;
    }
    Adapted& product = reads ? in : out;
    product.in = static_cast<std::int64_t>(m.inputs.on_rank(tp));
    product.out += static_cast<std::int64_t>(m.outputs.on_rank(tp));
    ++product.slices;
  }
  void vector(const LayerVector&) {}
};

// Calls `use` for every adapted product of the layer, with the names of its two ops.
template <class Use>
void each_product(const Architecture& model, int tp, const LayerSpec& layer, bool mlp, Use use) {
  if (has_mixer(layer.mixer)) {
    AdaptedOnRank mixer{model.hidden, tp};
    declare(layer.mixer, model.hidden, mixer);
    if (mixer.others || mixer.in.slices == 0)
      throw NoData(fmt::format("{}: adapters are supported for softmax attention only", model.id));
    use("lora_qkv_shrink", "lora_qkv_expand", Part::kAttention, mixer.in);
    use("lora_o_shrink", "lora_o_expand", Part::kAttention, mixer.out);
  }
  if (const auto* m = std::get_if<DenseMlp>(&layer.mlp); m && mlp) {
    AdaptedOnRank dense{model.hidden, tp};
    m->declare(dense, model.hidden);
    use("lora_up_shrink", "lora_up_expand", Part::kMlp, dense.in);
    use("lora_down_shrink", "lora_down_expand", Part::kMlp, dense.out);
  }
}

}  // namespace

void add_lora(OpList& ops, const RankStep& step, const LayerSpec& layer) {
  const auto adapters = real(step.batch.adapters);
  if (adapters == 0) return;
  const std::int64_t rank = step.batch.lora.rank;
  const double rows = real(step.tokens());
  constexpr Bytes kAccumulator{4};
  each_product(step.model, step.tp(), layer, step.batch.lora.mlp,
               [&](std::string_view shrink, std::string_view expand, Part part, const Adapted& p) {
                 const double inner = real(p.slices * rank);
                 const double in = real(p.in), out = real(p.out);
                 const Bytes between = rows * inner * kAccumulator;
                 const Bytes a = adapters * inner * in * step.element();
                 const Bytes b = adapters * real(rank) * out * step.element();
                 const Bytes results = rows * out * step.element();
                 ops.add(shrink, part,
                         Elementwise{Elementwise::Kind::kAdd, step.tokens(), p.in,
                                     rows * in * step.element() + a, between});
                 ops.add(expand, part,
                         Elementwise{Elementwise::Kind::kAdd, step.tokens(), p.out,
                                     between + b + results, results});
               });
}

AdapterSize adapter_size(const Architecture& model, const ParallelPlan& plan,
                         const Precision& precision, const LoraShape& shape) {
  AdapterSize size;
  double elements = 0;
  for (std::size_t i = 0; i < model.layers.specs().size(); ++i) {
    const int layers = model.layers.count(static_cast<int>(i));
    each_product(model, plan.tp, model.layers.specs()[i], shape.mlp,
                 [&](std::string_view, std::string_view, Part, const Adapted& p) {
                   elements += 1.0 * layers * shape.rank * (real(p.slices * p.in) + real(p.out));
                   size.tensors += std::int64_t{2} * layers * p.slices;
                 });
  }
  size.bytes = elements * bytes_per_element(precision.activations);
  return size;
}

}  // namespace orrery
