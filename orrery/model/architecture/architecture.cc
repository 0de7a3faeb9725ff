#include "orrery/model/architecture/architecture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {

void LayerStack::append(const LayerSpec& layer, int count) {
  assert(count >= 0);
  if (count == 0) return;
  const auto found = std::find(specs_.begin(), specs_.end(), layer);
  const int spec = static_cast<int>(found - specs_.begin());
  if (found == specs_.end()) specs_.push_back(layer);
  if (!runs_.empty() && runs_.back().spec == spec) {
    runs_.back().count += count;
  } else {
    runs_.push_back({spec, count});
  }
  size_ += count;
}

const LayerSpec& LayerStack::at(int index) const {
  assert(index >= 0 && index < size_);
  auto run = runs_.begin();
  while (index >= run->count) index -= (run++)->count;
  return specs_[static_cast<std::size_t>(run->spec)];
}

int LayerStack::count(int spec, int first, int last) const {
  assert(0 <= first && first <= last && last <= size_);
  int total = 0;
  int begin = 0;
  for (const LayerRun& run : runs_) {
    const int end = begin + run.count;
    if (run.spec == spec) total += std::max(0, std::min(end, last) - std::max(begin, first));
    begin = end;
  }
  return total;
}

Architecture with_kv_heads(Architecture model, int kv_heads) {
  LayerStack layers;
  bool found = false;
  for (const LayerRun& run : model.layers.runs()) {
    LayerSpec layer = model.layers.specs()[static_cast<std::size_t>(run.spec)];
    if (auto* a = std::get_if<SoftmaxAttention>(&layer.mixer)) {
      if (kv_heads < 1 || a->heads % kv_heads != 0) {
        throw InputError(fmt::format("{}: {} KV heads do not divide the {} attention heads",
                                     model.id, kv_heads, a->heads));
      }
      a->kv_heads = kv_heads;
      found = true;
    }
    layers.append(layer, run.count);
  }
  if (!found) {
    throw InputError(
        fmt::format("{}: no layer has KV heads (its attention is latent or linear)", model.id));
  }
  model.layers = std::move(layers);
  return model;
}

}  // namespace orrery
