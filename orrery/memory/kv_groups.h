// The KV cache in groups of layers, as vLLM's hybrid KV cache manager lays it out.
//
// Where some layers see the whole context and others a sliding window, a block cannot hold a
// token's keys and values of all layers: those of the window are done with long before. So layers
// are divided into groups of one kind and one size; a block is `block_size` tokens of the layers of
// one group, all groups take their blocks from one pool, and a sequence has a row of blocks, one a
// group, for every block_size tokens. In groups with a window a block that is wholly outside of it
// goes back to the pool (vllm/v1/core/kv_cache_utils.py, _get_kv_cache_groups_uniform_page_size;
// single_type_kv_cache_manager.py, SlidingWindowManager):
//
//   layers a group   the number of layers of the rarer kind; of the other, where that is less than
//                    1.25 times as many. gpt-oss: 12 with and 12 without a window, two groups of
//                    12. Gemma 3 27B: 10 without, 52 with: one group and six of (at most) 10.
//   outside          the next token, number c from 0, sees tokens c - window + 1 to c. What lies
//                    before is skipped: max(0, c - window + 1) tokens, and of these whole blocks.
//
// SGLang keeps two pools instead (mem_cache/swa_memory_pool.py): all layers without a window in
// one, those with it in another, which has `window_share` (its swa-full-tokens-ratio) times as many
// blocks as the first. Decodes give back what is outside of the window once in so many steps as
// the window has tokens (ScheduleBatch.maybe_evict_swa). It does so for models that it lists
// (is_hybrid_swa_model): here gpt-oss; Gemma 2 and 3 keep their whole context there.
//
// One group, in which nothing is skipped: models whose layers are alike, that mix windows of
// several lengths, chunked attention (Llama 4: vLLM turns it off there), latent or linear
// attention, or layers whose caches differ in size; and engines without such a manager
// (EngineProfile::Memory::hybrid_kv_cache).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "orrery/model/architecture.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

struct KvGroups {
  std::int32_t full = 1, windowed = 0;  // groups
  std::int32_t window = 0;              // tokens, of the windowed ones; at least 4
  // The windowed group has a pool of its own: so many blocks for one of the other group. 0: one
  // pool for all. Then there is one group of each kind.
  double window_share = 0;

  std::int32_t count() const { return full + windowed; }
  bool separate_pools() const { return window_share > 0; }
  // Blocks of the windowed group's own pool beside `blocks` of the other.
  std::int64_t window_blocks(std::int64_t blocks) const {
    return static_cast<std::int64_t>(static_cast<double>(blocks) * window_share);
  }
  // Of two pools: blocks of the first that leave `windowed_rows` in the second.
  std::int64_t first_blocks(std::int64_t rows, std::int64_t windowed_rows) const {
    const auto least = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(windowed_rows) / window_share - 1e-9));
    return std::max(rows, least);
  }
  // Rows that hold `tokens`. REQUIRES tokens >= 0, block >= 1.
  static std::int64_t rows(std::int64_t tokens, std::int64_t block) {
    return (tokens + block - 1) / block;
  }
  // Rows of a windowed group that token number `computed` and those after it do not see.
  std::int64_t skipped_rows(std::int64_t computed, std::int64_t block) const {
    return windowed > 0 ? std::max<std::int64_t>(0, computed - window + 1) / block : 0;
  }
  // Most blocks that a sequence has held when it has `tokens` tokens, of which steps computed one
  // each: a window that begins within a block needs that block whole. Of two pools: what it holds
  // of the one that it needs a larger share of, in blocks of the first.
  std::int64_t held(std::int64_t tokens, std::int64_t block) const {
    if (separate_pools())
      return first_blocks(rows(tokens, block),
                          rows(std::min(tokens, std::int64_t{2} * window + block - 1), block));
    return full * rows(tokens, block) +
           windowed * rows(std::min(tokens, window + block - 1), block);
  }
  // Most rows of a windowed group that a sequence holds where steps compute no more than
  // `step_tokens` of it: one more, since a window may begin within a block.
  std::int64_t most_rows(std::int64_t step_tokens, std::int64_t block) const {
    return rows(window - 1 + step_tokens, block) + 1;
  }
  // Blocks that are enough for `tokens` where steps compute no more than `step_tokens`; of two
  // pools as `held`.
  std::int64_t enough(std::int64_t tokens, std::int64_t step_tokens, std::int64_t block) const {
    const std::int64_t all = rows(tokens, block);
    if (separate_pools())
      return first_blocks(
          all, std::min(all, most_rows(std::max<std::int64_t>(step_tokens, window), block)));
    return full * all + windowed * std::min(all, most_rows(step_tokens, block));
  }
  // Rows before its end that a prefix must still have in a windowed group to be of use.
  std::int64_t window_rows(std::int64_t block) const { return rows(window - 1, block); }

  bool operator==(const KvGroups&) const = default;
};

// Of all layers of a model; pipeline stages divide each group.
KvGroups kv_groups(const Architecture& model);
// The same as an engine keeps them: one group where it has no such manager, two pools where it has
// (EngineProfile::Memory::window_share).
KvGroups kv_groups(const Architecture& model, const EngineProfile::Memory& engine);

// Layers of the fullest group among the layers [first, last).
std::int64_t layers_of_group(const Architecture& model, const KvGroups& groups, int first,
                             int last);

}  // namespace orrery
