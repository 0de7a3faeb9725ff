#include "orrery/memory/kv_groups.h"

namespace orrery {
namespace {

constexpr int kLeastWindow = 4;  // tokens; our choice: a group for a shorter one saves nothing
constexpr double kAlmostAsMany = 1.25;  // vLLM's limit (kv_groups.h)

bool has_window(const LayerSpec& layer) {
  const auto* a = std::get_if<SoftmaxAttention>(&layer.mixer);
  return a && a->window > 0;
}

bool alike(const SoftmaxAttention& a, const SoftmaxAttention& b) {
  return a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.value_dim == b.value_dim;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

}  // namespace

KvGroups kv_groups(const Architecture& model) {
  constexpr KvGroups kOne;
  const SoftmaxAttention* any = nullptr;
  int full = 0, windowed = 0, window = 0;
  const auto& specs = model.layers.specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto* a = std::get_if<SoftmaxAttention>(&specs[i].mixer);
    if (!a || (any && !alike(*any, *a))) return kOne;
    any = a;
    const int layers = model.layers.count(static_cast<int>(i));
    if (a->window == 0) {
      full += layers;
      continue;
    }
    const bool another = window > 0 && window != a->window;
    if (another || a->window_kind != WindowKind::kSliding || a->window < kLeastWindow) return kOne;
    window = a->window;
    windowed += layers;
  }
  if (windowed == 0) return kOne;
  if (full == 0) return {0, 1, window};
  const int fewer = std::min(full, windowed), more = std::max(full, windowed);
  const int size = more < kAlmostAsMany * fewer ? more : fewer;
  return {ceil_div(full, size), ceil_div(windowed, size), window};
}

KvGroups kv_groups(const Architecture& model, const EngineProfile::Memory& engine) {
  if (!engine.paged || !engine.hybrid_kv_cache) return {};
  if (engine.window_share == 0) return kv_groups(model);
  const KvGroups g = kv_groups(model);
  if (model.family != "gpt_oss" || g.windowed == 0 || g.full == 0) return {};
  return {1, 1, g.window, engine.window_share};
}

std::int64_t layers_of_group(const Architecture& model, const KvGroups& groups, int first,
                             int last) {
  int full = 0, windowed = 0;
  const auto& specs = model.layers.specs();
  for (std::size_t i = 0; i < specs.size(); ++i)
    (has_window(specs[i]) ? windowed : full) +=
        model.layers.count(static_cast<int>(i), first, last);
  // Layers are assigned to the groups of their kind in turn.
  return std::max(groups.full > 0 ? ceil_div(full, groups.full) : 0,
                  groups.windowed > 0 ? ceil_div(windowed, groups.windowed) : 0);
}

}  // namespace orrery
