// The KV cache in groups of layers, as vLLM's hybrid KV cache manager divides it.
//
// If some layers see the whole context and others a sliding window, a block should not hold the
// keys and values of all layers, because those of the window are needed for a shorter time. Layers
// are therefore divided into groups of one kind and one size. A block has `block_size` tokens of
// the layers of one group. All groups take blocks from one pool. A sequence has a row of blocks,
// one of each group, for every block_size tokens. In a group with a window, blocks that are
// completely outside of the window return to the pool (vllm/v1/core/kv_cache_utils.py,
// _get_kv_cache_groups_uniform_page_size; single_type_kv_cache_manager.py, SlidingWindowManager):
//
//   layers of a group   the number of layers of the rarer kind, or of the more frequent kind if
//                       that is less than 1.25 times as many. gpt-oss has 12 layers with and 12
//                       without a window: two groups of 12. Gemma 3 27B has 10 without and 52 with
//                       a window: one group without, six of at most 10 layers with a window.
//   sizes               a block has the same bytes in all groups. If layers of one kind keep more
//                       bytes of a token than those of the other, a whole number of times, the
//                       others have as many times the tokens in a block
//                       (unify_kv_cache_spec_page_size). Here a row has that many blocks of the
//                       larger kind instead: Gemma 4 26B has 5 layers without a window, whose two
//                       KV heads of 512 keep half as much as the eight heads of 256 of its 25
//                       layers with one, so that a row has one block of the former and two of each
//                       of the five groups of the latter.
//   outside             the next token, number c from 0, sees tokens c - window + 1 to c. The
//                       max(0, c - window + 1) tokens before them are skipped, in whole blocks.
//
// SGLang has two pools instead (mem_cache/swa_memory_pool.py): one for all layers without a window,
// and one for the layers with it, which has `window_share` (swa-full-tokens-ratio) times as many
// blocks. Decode steps return the blocks outside of the window once in `window` steps
// (ScheduleBatch.maybe_evict_swa). SGLang does so for a list of models (is_hybrid_swa_model):
// gpt-oss, MiMo V2, Step 3.5 and 3.7, Gemma 4. Gemma 2 and 3 keep the whole context in SGLang.
//
// Layers that read the cache of another layer are in no group. There is one group, in which nothing
// is skipped, for models whose layers are all alike, for models that mix windows of several
// lengths, chunked attention (Llama 4: vLLM turns groups off), latent or linear attention, or
// layers of one kind with caches of different sizes; where the sizes of the two kinds are no
// multiple of each other; and in engines without such a manager
// (EngineProfile::Memory::hybrid_kv_cache).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "orrery/model/architecture/architecture.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

struct KvGroups {
  // Blocks of a row that belong to groups without and with a window: the number of groups, if all
  // layers keep as many bytes of a token.
  std::int32_t full = 1, windowed = 0;
  std::int32_t window = 0;  // tokens of the window, at least 4
  // Blocks in the pool of the windowed group for each block in the pool of the other group. 0: all
  // groups share one pool. With two pools there is one group of each kind.
  double window_share = 0;
  // Blocks of a row that one group without and with a window has. One of them is 1.
  std::int32_t full_blocks = 1, windowed_blocks = 1;

  // Blocks of a row.
  std::int32_t count() const { return full + windowed; }
  // Numbers of groups.
  std::int32_t full_groups() const { return full / full_blocks; }
  std::int32_t windowed_groups() const { return windowed / windowed_blocks; }
  bool separate_pools() const { return window_share > 0; }
  // Blocks in the pool of the windowed group if the pool of the other group has `blocks`.
  std::int64_t window_blocks(std::int64_t blocks) const {
    return static_cast<std::int64_t>(static_cast<double>(blocks) * window_share);
  }
  // With two pools: the smallest number of blocks of the first pool, at least `rows`, with which
  // the second pool has `windowed_rows` blocks.
  std::int64_t first_blocks(std::int64_t rows, std::int64_t windowed_rows) const {
    const auto least = static_cast<std::int64_t>(
        std::ceil(static_cast<double>(windowed_rows) / window_share - 1e-9));
    return std::max(rows, least);
  }
  // Number of rows for `tokens` tokens. REQUIRES tokens >= 0, block >= 1.
  static std::int64_t rows(std::int64_t tokens, std::int64_t block) {
    return (tokens + block - 1) / block;
  }
  // Number of rows of a windowed group that token number `computed` and later tokens do not see.
  std::int64_t skipped_rows(std::int64_t computed, std::int64_t block) const {
    return windowed > 0 ? std::max<std::int64_t>(0, computed - window + 1) / block : 0;
  }
  // Largest number of blocks that a sequence has held by the time it has `tokens` tokens, if each
  // step computes one token. A window that begins inside of a block needs the whole block. With two
  // pools: the blocks of the pool of which it needs the larger share, in blocks of the first pool.
  std::int64_t held(std::int64_t tokens, std::int64_t block) const {
    if (separate_pools())
      return first_blocks(rows(tokens, block),
                          rows(std::min(tokens, std::int64_t{2} * window + block - 1), block));
    return full * rows(tokens, block) +
           windowed * rows(std::min(tokens, window + block - 1), block);
  }
  // Largest number of rows of a windowed group that a sequence holds if a step computes at most
  // `step_tokens` of its tokens. The last row is for a window that begins inside of a block.
  std::int64_t most_rows(std::int64_t step_tokens, std::int64_t block) const {
    return rows(window - 1 + step_tokens, block) + 1;
  }
  // Number of blocks that is sufficient for `tokens` tokens if a step computes at most
  // `step_tokens` of them; with two pools counted as in `held`.
  std::int64_t enough(std::int64_t tokens, std::int64_t step_tokens, std::int64_t block) const {
    const std::int64_t all = rows(tokens, block);
    if (separate_pools())
      return first_blocks(
          all, std::min(all, most_rows(std::max<std::int64_t>(step_tokens, window), block)));
    return full * all + windowed * std::min(all, most_rows(step_tokens, block));
  }
  // Number of rows before its end that a cached prefix must still have in a windowed group to be
  // reused.
  std::int64_t window_rows(std::int64_t block) const { return rows(window - 1, block); }

  bool operator==(const KvGroups&) const = default;
};

// The groups of all layers of a model on `tp` ranks, whose number of copied KV heads decides the
// bytes of a token. Pipeline stages divide each group.
KvGroups kv_groups(const Architecture& model, int tp = 1);
// The groups in an engine: one group if it has no such manager, two pools if it has them
// (EngineProfile::Memory::window_share).
KvGroups kv_groups(const Architecture& model, const EngineProfile::Memory& engine, int tp);

// Number of layers of the largest group among the layers [first, last).
std::int64_t layers_of_group(const Architecture& model, const KvGroups& groups, int first,
                             int last);

}  // namespace orrery
