#include "orrery/memory/kv_groups.h"

#include <array>
#include <optional>
#include <string_view>

#include "orrery/workload/plan/plan.h"

namespace orrery {
namespace {

constexpr int kLeastWindow = 4;  // tokens; our choice: a group for a shorter one saves nothing
constexpr double kAlmostAsMany = 1.25;  // vLLM's limit (kv_groups.h)

int ceil_div(int a, int b) { return (a + b - 1) / b; }

// The layers of a model by kind. A width of 0: layers of this kind differ in width.
struct Kinds {
  int full = 0, windowed = 0;  // layers
  int window = 0;
  std::int64_t full_width = 0, windowed_width = 0;
};

// Nothing if layers without a window are not the only ones beside those of one sliding window.
std::optional<Kinds> kinds_of(const Architecture& model, int tp) {
  Kinds k;
  const auto& specs = model.layers.specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const KeptState kept = kept_state(specs[i].mixer);
    if (kept.cached_elsewhere) continue;
    if (!kept.of_heads()) return std::nullopt;
    const int layers = model.layers.count(static_cast<int>(i));
    const auto width = static_cast<std::int64_t>(kept.entry.on_rank(tp));
    int& same = kept.window > 0 ? k.windowed : k.full;
    std::int64_t& size = kept.window > 0 ? k.windowed_width : k.full_width;
    size = same == 0 || size == width ? width : 0;
    same += layers;
    if (kept.window == 0) continue;
    const bool another = k.window > 0 && k.window != kept.window;
    if (another || kept.chunked || kept.window < kLeastWindow) return std::nullopt;
    k.window = kept.window;
  }
  if (k.windowed == 0) return std::nullopt;
  return k;
}

}  // namespace

KvGroups kv_groups(const Architecture& model, int tp) {
  const std::optional<Kinds> k = kinds_of(model, tp);
  if (!k || k->windowed_width == 0) return {};
  if (k->full == 0) return {0, 1, k->window};
  if (k->full_width == 0) return {};
  const std::int64_t least = std::min(k->full_width, k->windowed_width);
  if (k->full_width % least != 0 || k->windowed_width % least != 0) return {};
  const int fewer = std::min(k->full, k->windowed), more = std::max(k->full, k->windowed);
  const int size = more < kAlmostAsMany * fewer ? more : fewer;
  KvGroups g;
  g.full_blocks = static_cast<std::int32_t>(k->full_width / least);
  g.windowed_blocks = static_cast<std::int32_t>(k->windowed_width / least);
  g.full = ceil_div(k->full, size) * g.full_blocks;
  g.windowed = ceil_div(k->windowed, size) * g.windowed_blocks;
  g.window = k->window;
  return g;
}

KvGroups kv_groups(const Architecture& model, const EngineProfile::Memory& engine, int tp) {
  if (!engine.paged || !engine.hybrid_kv_cache) return {};
  if (engine.window_share == 0) return kv_groups(model, tp);
  constexpr std::array<std::string_view, 6> kFamilies = {"gpt_oss", "mimo_v2_flash", "step3p5",
                                                         "step3p7", "gemma4",        "gemma4_text"};
  const std::optional<Kinds> k = kinds_of(model, tp);
  if (!k || k->full == 0) return {};
  if (std::find(kFamilies.begin(), kFamilies.end(), model.family) == kFamilies.end()) return {};
  return {1, 1, k->window, engine.window_share};
}

std::int64_t layers_of_group(const Architecture& model, const KvGroups& groups, int first,
                             int last) {
  int full = 0, windowed = 0;
  const auto& specs = model.layers.specs();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const KeptState kept = kept_state(specs[i].mixer);
    if (kept.cached().grouped == 0) continue;
    (kept.window > 0 ? windowed : full) += model.layers.count(static_cast<int>(i), first, last);
  }
  // Layers are assigned to the groups of their kind in turn.
  return std::max(groups.full > 0 ? ceil_div(full, groups.full_groups()) : 0,
                  groups.windowed > 0 ? ceil_div(windowed, groups.windowed_groups()) : 0);
}

}  // namespace orrery
