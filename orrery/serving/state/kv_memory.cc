#include "orrery/serving/state/kv_memory.h"

#include "orrery/base/index.h"

namespace orrery {
namespace {

// SplitMix64's finaliser (Steele et al. 2014): spreads ids over 64 bits. Never 0.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) | 1;
}

// The identity of a block of one group of layers.
std::uint64_t group_hash(std::uint64_t hash, std::int32_t group) {
  return group == 0 ? hash : mixed(hash + static_cast<std::uint64_t>(group));
}

// Prompts of different adapters share nothing: their keys and values differ.
std::uint64_t adapter_key(std::int32_t adapter) {
  return adapter < 0 ? 0 : mixed(static_cast<std::uint64_t>(adapter));
}

}  // namespace

KvMemory::KvMemory(const EngineProfile& engine, std::int64_t blocks, const RequestLoad& load,
                   const KvOptions& options)
    : max_model_len_(options.max_model_len),
      max_batched_tokens_(engine.scheduler.max_num_batched_tokens),
      block_size_(static_cast<std::int32_t>(engine.memory.block_size)),
      groups_(options.groups),
      pool_(blocks, engine.scheduler.prefix_caching),
      load_(load),
      tiers_(options.host_blocks, options.disk_blocks),
      reserve_(options.reserve),
      adapter_blocks_(options.adapter_blocks),
      state_blocks_(options.state_blocks) {
  if (reserve_ != KvOptions::Reserve::kNothing) extents_.emplace(blocks);
  if (groups_.separate_pools())
    window_pool_.emplace(groups_.window_blocks(blocks), engine.scheduler.prefix_caching);
  plain_ = groups_.count() == 1 && !window_pool_ && !tiers_.on() && state_blocks_ == 0;
}

void KvMemory::number_blocks(std::span<const Slot> running, std::span<Sequence> all) {
  if (!std::exchange(counting_, false)) return;
  each_with_blocks(
      running, all, [](const Sequence& s) { return s.counted; },
      [this](Sequence& s) { pool_.number(std::exchange(s.counted, 0), s.blocks); });
}

void KvMemory::count_again(std::span<const Slot> running, std::span<Sequence> all) {
  counting_ = true;
  each_with_blocks(
      running, all, [](const Sequence& s) { return static_cast<std::int32_t>(s.blocks.size()); },
      [](Sequence& s) {
        s.counted = static_cast<std::int32_t>(s.blocks.size());
        s.blocks.clear();
      });
  pool_.forget_numbers();
}

bool KvMemory::holds_beyond_prefix(const Sequence& s) const {
  const auto rows = static_cast<std::int32_t>(KvGroups::rows(s.tokens, block_size_));
  for (auto row = static_cast<std::int32_t>(prefix_.size()); row < rows; ++row) {
    if (pool_.find(block_hash(s.request, row)) >= 0) return true;
  }
  return false;
}

void KvMemory::catch_up(Sequence& s, std::int64_t tokens) const {
  s.counted = std::max(s.counted, static_cast<std::int32_t>(KvGroups::rows(tokens, block_size_)));
  measure(s);
}

// The identity of a block of a request's tokens. Blocks within the identified part of a prompt are
// known by its ids, which are chained; all others by the request.
std::uint64_t KvMemory::block_hash(std::uint32_t request, std::int32_t block) const {
  const Request& r = load_.requests[request];
  const std::int64_t last = (std::int64_t{block} + 1) * block_size_ - 1;
  const std::int64_t id = last / load_.id_tokens;
  const auto place = static_cast<std::uint64_t>(block);
  // The last id of a prompt may identify fewer tokens than a whole one.
  if (id < r.ids && (last < r.input || load_.names_outputs))
    return mixed(
        mixed(load_.ids[r.first_id + static_cast<std::uint32_t>(id)] + adapter_key(r.adapter)) +
        place);
  return mixed(mixed(~std::uint64_t{request}) + place);
}

// Blocks of the first tokens that windows give back are not counted, because other sequences may
// share them.
std::int64_t KvMemory::needed_until(std::int64_t end, std::int64_t tokens) const {
  const std::int64_t block = block_size_;
  const std::int64_t more = KvGroups::rows(end, block) - KvGroups::rows(tokens, block);
  return groups_.full * more +
         (windowed() ? groups_.windowed * std::min(more, groups_.most_rows(1, block)) : 0);
}

std::int32_t KvMemory::cached_prompt(std::uint32_t request) const {
  if (!pool_.caching() || counting_) return 0;
  const std::int32_t most = (load_.requests[request].input - 1) / block_size_;
  return find_rows(request, most, looked_at_) * block_size_;
}

bool KvMemory::find_row(std::uint32_t request, std::int32_t row, std::int32_t first,
                        std::int32_t last, BlockId* found) const {
  const std::uint64_t hash = block_hash(request, row);
  for (std::int32_t g = first; g < last; ++g) {
    found[g] = pool_of(g).find(group_hash(hash, g));
    if (found[g] < 0) return false;
  }
  return true;
}

std::int32_t KvMemory::find_rows(std::uint32_t request, std::int32_t most,
                                 std::vector<BlockId>& found) const {
  const std::int32_t full = groups_.full, all = groups_.count();
  const auto width = static_cast<std::size_t>(all);
  found.clear();
  // Groups without a window need all rows from the first on.
  std::int32_t rows = 0;
  for (; rows < most; ++rows) {
    found.resize(found.size() + width, kNoBlock);
    if (find_row(request, rows, 0, full, found.data() + found.size() - width)) continue;
    found.resize(found.size() - width);
    break;
  }
  if (groups_.windowed == 0) return rows;
  // Groups with a window need the last rows: the longest prefix that has these is taken.
  const std::int64_t needed = groups_.window_rows(block_size_);
  std::int32_t run = 0;
  for (std::int32_t row = rows - 1; row >= 0 && run < needed; --row) {
    BlockId* at = found.data() + static_cast<std::size_t>(row) * width;
    if (find_row(request, row, full, all, at)) {
      ++run;
      continue;
    }
    rows = row;
    run = 0;
  }
  found.resize(static_cast<std::size_t>(rows) * width);
  return rows;
}

std::int32_t KvMemory::cached_prefix(const Sequence& s) {
  prefix_.clear();
  elsewhere_.clear();
  prefix_idle_ = window_prefix_idle_ = 0;
  if (!pool_.caching() || counting_) return 0;
  const std::int32_t most = (s.tokens - 1) / block_size_;
  const std::int32_t rows = find_rows(s.request, most, prefix_);
  for (std::size_t i = 0; i < prefix_.size(); ++i) {
    const BlockId b = prefix_[i];
    const auto g = static_cast<std::int32_t>(i % static_cast<std::size_t>(groups_.count()));
    const bool idle = b != kNoBlock && pool_of(g).idle(b);
    (window_pool_ && g >= groups_.full ? window_prefix_idle_ : prefix_idle_) += idle;
  }
  for (std::int32_t i = rows; tiers_.on() && i < most; ++i) {
    const std::uint64_t hash = block_hash(s.request, i);
    const std::size_t tier = tiers_.find(hash);
    if (tier == CacheTiers::kTiers) break;
    elsewhere_.push_back({tier, hash});
  }
  return (rows + static_cast<std::int32_t>(elsewhere_.size())) * block_size_;
}

std::int64_t KvMemory::needed_at_once(std::int64_t tokens) const {
  const std::int64_t block = block_size_;
  const std::int64_t all = KvGroups::rows(tokens, block);
  const std::int64_t found = prefix_blocks() / groups_.count();
  const std::int64_t at_once = std::min(all, groups_.most_rows(max_batched_tokens_, block));
  return state_blocks_ + groups_.full * (all - found) +
         groups_.windowed * std::max<std::int64_t>(0, at_once - found);
}

void KvMemory::take_prefix(Sequence& s) {
  for (std::size_t i = 0; i < prefix_.size(); ++i) {
    const auto g = static_cast<std::int32_t>(i % static_cast<std::size_t>(groups_.count()));
    if (prefix_[i] != kNoBlock) pool_of(g).share(prefix_[i]);
  }
  s.blocks.insert(s.blocks.end(), prefix_.begin(), prefix_.end());
  for (const auto& [tier, hash] : elsewhere_)
    tiers_.touch(tier, hash);  // so that none of them makes room for another
  for (const auto& [tier, hash] : elsewhere_) {
    s.blocks.push_back(take_block());
    pool_.publish(s.blocks.back(), hash);
    ++fetched_[tier];
  }
  const auto taken = static_cast<std::int64_t>(prefix_.size() + elsewhere_.size());
  s.published = static_cast<std::int32_t>(taken / groups_.count());
  s.found = s.published * block_size_;
  s.window_rows = s.published;
  held_blocks_ += taken;
  compute(s, s.found);
  measure(s);
  if (windowed()) skip(s, s.computed);
}

std::int64_t KvMemory::named_rows(std::uint32_t request) const {
  const Request& r = load_.requests[request];
  const std::int64_t rows = std::int64_t{r.ids} * load_.id_tokens / block_size_;
  return load_.names_outputs ? rows : std::min<std::int64_t>(rows, r.input / block_size_);
}

void KvMemory::publish_row(const Sequence& s, std::int32_t row) {
  const std::uint64_t hash = block_hash(s.request, row);
  for (std::int32_t g = 0; g < groups_.count(); ++g) {
    const BlockId b = s.blocks[index(row * groups_.count() + g)];
    if (b != kNoBlock) pool_of(g).publish(b, group_hash(hash, g));
  }
}

void KvMemory::publish(Sequence& s, std::int32_t tokens) {
  if (!pool_.caching()) return;
  const std::int32_t rows = tokens / block_size_;
  const std::int64_t at_once =
      tiers_.on() || windowed() ? rows : std::min<std::int64_t>(rows, named_rows(s.request));
  for (; s.published < at_once; ++s.published) publish_row(s, s.published);
  s.published = std::max(s.published, rows);
  measure(s);
}

void KvMemory::retract(Sequence& s) {
  const auto groups = static_cast<std::size_t>(groups_.count());
  const auto found = static_cast<std::size_t>(s.found / block_size_);
  for (std::size_t i = found * groups; i < s.blocks.size(); ++i) {
    if (s.blocks[i] != kNoBlock)
      pool_of(static_cast<std::int32_t>(i % groups)).retract(s.blocks[i]);
  }
  s.published = std::min(s.published, s.found / block_size_);
}

BlockId KvMemory::take_block() {
  if (!tiers_.on()) return pool_.take();
  std::uint64_t forgotten;
  const BlockId block = pool_.take(&forgotten);
  if (forgotten != 0) tiers_.keep(forgotten);
  return block;
}

bool KvMemory::reserve(Sequence& s, std::int64_t tokens) {
  if (plain_) {
    const std::int64_t more =
        std::max<std::int64_t>(0, KvGroups::rows(tokens, block_size_) -
                                      static_cast<std::int64_t>(s.blocks.size()) - s.counted);
    if (more > pool_.free()) return false;
    if (counting_) {
      pool_.count(more);
      s.counted += static_cast<std::int32_t>(more);
    } else {
      pool_.take(more, s.blocks);
    }
    held_blocks_ += more;
    measure(s);
    return true;
  }
  std::int64_t more = blocks_for(tokens) - blocks_of(s);
  if (more > pool_.free()) return false;
  for (; static_cast<std::int64_t>(s.state.size()) < state_blocks_; --more)
    s.state.push_back(take_block());
  if (tiers_.on() || window_pool_) {
    for (std::int64_t i = 0; i < more; ++i) {
      s.blocks.push_back(take_block());
      if (window_pool_) s.blocks.push_back(kNoBlock);  // one full group and one with a window
    }
  } else {
    pool_.take(more, s.blocks);
  }
  held_blocks_ += std::max<std::int64_t>(more, 0) * (window_pool_ ? 2 : 1);
  measure(s);
  return true;
}

bool KvMemory::place(Sequence& s) {
  if (!extents_ || s.extent >= 0) return true;
  const std::int64_t blocks =
      blocks_for(reserve_ == KvOptions::Reserve::kMaxModelLen ? max_model_len_ : s.cached_at_end());
  s.extent = extents_->take(blocks);
  stranded_ = s.extent < 0 && extents_->free() >= blocks ? extents_->free() : 0;
  return s.extent >= 0 && reserve(s, (blocks - state_blocks_) * block_size_);
}

bool KvMemory::fill_window(Sequence& s, std::int64_t tokens) {
  if (window_needed(s, tokens) > window_pool_->free()) return false;
  const auto rows = static_cast<std::int32_t>(KvGroups::rows(tokens, block_size_));
  for (; s.window_rows < rows; ++s.window_rows)
    s.blocks[index(2 * s.window_rows + 1)] = window_pool_->take();
  measure(s);
  return true;
}

bool KvMemory::grow_blocks(Sequence& s, std::int32_t tokens) {
  if (window_pool_ && window_needed(s, tokens) > window_pool_->free()) {
    skip(s, s.computed);
    if (window_needed(s, tokens) > window_pool_->free()) return false;
  }
  if (!reserve(s, tokens)) return false;
  if (window_pool_) fill_window(s, tokens);
  // Tokens that are still being made, and drafts that may be rejected, are not published.
  publish(s, std::min(tokens, s.prompt + s.made));
  return true;
}

void KvMemory::measure(Sequence& s) const {
  const auto blocks = static_cast<std::int32_t>(s.blocks.size()) + s.counted;
  s.room = plain_         ? blocks * block_size_
           : window_pool_ ? s.window_rows * block_size_
                          : blocks / groups_.count() * block_size_;
  s.next_full = pool_.caching() ? (s.published + 1) * block_size_ : INT32_MAX;
}

void KvMemory::skip(Sequence& s, std::int64_t computed) {
  if (!windowed()) return;
  const auto rows = static_cast<std::int32_t>(groups_.skipped_rows(computed, block_size_));
  // A separate pool gets blocks back once a window (SGLang), the shared pool as soon as a block is
  // outside.
  s.next_skip = window_pool_ ? static_cast<std::int32_t>(computed) + groups_.window
                             : (std::max(rows, s.skipped) + 1) * block_size_ + groups_.window - 1;
  if (rows <= s.skipped) return;
  publish(s, rows * block_size_);
  for (std::int32_t g = groups_.full; g < groups_.count(); ++g) {
    for (std::int32_t row = rows - 1; row >= s.skipped; --row) {
      BlockId& b = s.blocks[index(row * groups_.count() + g)];
      if (b == kNoBlock) continue;
      pool_of(g).release(b);
      b = kNoBlock;
    }
  }
  s.skipped = rows;
}

void KvMemory::release(Sequence& s, bool may_return) {
  if (may_return && pool_.caching()) {
    for (auto row = static_cast<std::int32_t>(named_rows(s.request)); row < s.published; ++row)
      publish_row(s, row);
  }
  const auto groups = static_cast<std::size_t>(groups_.count());
  const std::int64_t blocks = static_cast<std::int64_t>(s.blocks.size()) + s.counted;
  if (counting_) {
    pool_.count(-std::exchange(s.counted, 0));
  } else if (groups == 1) {
    pool_of(0).release(s.blocks);
  } else {
    for (std::size_t g = 0; g < groups; ++g) {
      for (std::size_t row = s.blocks.size() / groups; row-- > 0;) {
        if (const BlockId b = s.blocks[row * groups + g]; b != kNoBlock)
          pool_of(static_cast<std::int32_t>(g)).release(b);
      }
    }
  }
  held_blocks_ -= blocks;
  held_tokens_ -= s.computed;
  if (s.extent >= 0) {
    extents_->release(s.extent, blocks + static_cast<std::int64_t>(s.state.size()));
    s.extent = -1;
    stranded_ = 0;
  }
  for (const BlockId b : s.state) pool_.release(b);
  s.state.clear();
  s.blocks.clear();
  s.room = s.skipped = s.window_rows = 0;
  s.next_skip = INT32_MAX;
  drop_adapter(s);
}

std::int64_t KvMemory::adapter_blocks(const Sequence& s) const {
  const bool there = s.adapter < 0 || std::any_of(
                                          adapters_.begin(), adapters_.end(),
                                          [&s](const Adapter& a) { return a.id == s.adapter; });
  return there ? 0 : adapter_blocks_;
}

void KvMemory::take_adapter(Sequence& s) {
  if (adapter_blocks_ == 0 || s.adapter < 0) return;
  s.has_adapter = true;
  for (Adapter& a : adapters_) {
    if (a.id == s.adapter) return static_cast<void>(++a.users);
  }
  Adapter& a = adapters_.emplace_back(Adapter{s.adapter, 1, {}});
  for (std::int64_t i = 0; i < adapter_blocks_; ++i) a.blocks.push_back(take_block());
  ++adapter_loads_;
}

void KvMemory::drop_adapter(Sequence& s) {
  if (!std::exchange(s.has_adapter, false)) return;
  const auto at = std::find_if(adapters_.begin(), adapters_.end(),
                               [&s](const Adapter& a) { return a.id == s.adapter; });
  if (--at->users > 0) return;
  for (BlockId b : at->blocks) pool_.release(b);
  adapters_.erase(at);
}

}  // namespace orrery
