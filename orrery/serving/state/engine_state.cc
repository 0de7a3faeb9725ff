#include "orrery/serving/state/engine_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// SplitMix64's finaliser (Steele et al. 2014): spreads ids over 64 bits. Never 0.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (x ^ (x >> 31)) | 1;
}

// Blocks of different groups are known apart.
std::uint64_t group_hash(std::uint64_t hash, std::int32_t group) {
  return group == 0 ? hash : mixed(hash + static_cast<std::uint64_t>(group));
}

// Prompts of different adapters share nothing: their keys and values differ.
std::uint64_t adapter_key(std::int32_t adapter) {
  return adapter < 0 ? 0 : mixed(static_cast<std::uint64_t>(adapter));
}

}  // namespace

QueueOrder queue_order(std::string_view name) {
  if (name == "fcfs") return QueueOrder::kFcfs;
  if (name == "priority") return QueueOrder::kPriority;
  if (name == "sjf") return QueueOrder::kSjf;
  if (name == "lpm") return QueueOrder::kLpm;
  const std::vector<std::string> names = {"fcfs", "priority", "sjf", "lpm"};
  throw InputError(fmt::format("unknown queue order '{}'{}", name, did_you_mean(name, names)));
}

EngineState::EngineState(const SchedulerLimits& limits, std::int64_t kv_blocks, bool prefix_caching,
                         const RequestLoad& load, const KvOptions& kv)
    : limits_(limits),
      groups_(kv.groups),
      pool_(kv_blocks, prefix_caching),
      load_(load),
      tiers_(kv.host_blocks, kv.disk_blocks),
      reserve_(kv.reserve),
      adapter_blocks_(kv.adapter_blocks) {
  if (reserve_ != KvOptions::Reserve::kNothing) extents_.emplace(kv_blocks);
  if (groups_.separate_pools())
    window_pool_.emplace(groups_.window_blocks(kv_blocks), prefix_caching);
}

Slot EngineState::enter(std::uint32_t request, std::int32_t output) {
  const Slot slot = make(request, output);
  enqueue(slot);
  return slot;
}

Slot EngineState::adopt(std::uint32_t request) {
  const Slot slot = make(request, load_.requests[request].output);
  Sequence& s = sequences_[slot];
  ++s.tokens;
  s.made = 1;
  s.uncounted = 0;
  s.entered = true;
  return slot;
}

bool EngineState::take_prompt_blocks(Slot slot) {
  Sequence& s = sequences_[slot];
  cached_prefix(s);
  if (blocks_for(s.tokens) - prefix_blocks() > free_after_prefix()) return false;
  take_prefix(s);
  grow(s, s.prompt - s.computed);
  compute(s, s.prompt - s.computed);
  return true;
}

Slot EngineState::make(std::uint32_t request, std::int32_t output) {
  Slot slot;
  if (unused_.empty()) {
    slot = static_cast<Slot>(sequences_.size());
    sequences_.emplace_back();
  } else {
    slot = unused_.back();
    unused_.pop_back();
  }
  const Request& r = load_.requests[request];
  Sequence& s = sequences_[slot];
  s.request = request;
  s.prompt = s.tokens = s.start = r.input;
  s.target = r.input + output;
  s.computed = s.published = s.made = s.found = s.drafts = 0;
  s.skipped = s.window_rows = 0;
  s.next_skip = INT32_MAX;
  s.entered = false;
  s.uncounted = r.input;
  s.in_flight = 0;
  s.parked = s.has_adapter = false;
  s.last_token = {};
  s.step = s.joined = -1;
  s.priority = r.priority;
  s.adapter = r.adapter;
  s.arrival = r.arrival;
  return slot;
}

bool EngineState::goes_before(Slot a, Slot b) const {
  const Sequence &x = at(a), &y = at(b);
  if (limits_.order == QueueOrder::kPriority && x.priority != y.priority)
    return x.priority < y.priority;
  if (limits_.order == QueueOrder::kSjf && x.tokens != y.tokens) return x.tokens < y.tokens;
  return x.request < y.request;
}

void EngineState::enqueue(Slot slot) {
  if (as_they_come()) {
    waiting.push_back(slot);
    return;
  }
  const auto before = [this](Slot a, Slot b) { return goes_before(a, b); };
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), slot, before), slot);
}

void EngineState::release_blocks(Sequence& s) {
  const auto groups = static_cast<std::size_t>(groups_.count());
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t row = s.blocks.size() / groups; row-- > 0;) {
      if (const BlockId b = s.blocks[row * groups + g]; b != kNoBlock)
        pool_of(static_cast<std::int32_t>(g)).release(b);
    }
  }
  const auto blocks = static_cast<std::int64_t>(s.blocks.size());
  held_blocks_ -= blocks;
  held_tokens_ -= s.computed;
  if (s.extent >= 0) {
    extents_->release(s.extent, blocks);
    s.extent = -1;
    stranded_ = 0;
  }
  s.blocks.clear();
  s.room = s.skipped = s.window_rows = 0;
  s.next_skip = INT32_MAX;
  drop_adapter(s);
}

std::int64_t EngineState::adapter_blocks(const Sequence& s) const {
  const bool there = s.adapter < 0 || std::any_of(
                                          adapters_.begin(), adapters_.end(),
                                          [&s](const Adapter& a) { return a.id == s.adapter; });
  return there ? 0 : adapter_blocks_;
}

void EngineState::take_adapter(Sequence& s) {
  if (adapter_blocks_ == 0 || s.adapter < 0) return;
  s.has_adapter = true;
  for (Adapter& a : adapters_) {
    if (a.id == s.adapter) return static_cast<void>(++a.users);
  }
  Adapter& a = adapters_.emplace_back(Adapter{s.adapter, 1, {}});
  for (std::int64_t i = 0; i < adapter_blocks_; ++i) a.blocks.push_back(take_block());
  ++adapter_loads_;
}

void EngineState::drop_adapter(Sequence& s) {
  if (!std::exchange(s.has_adapter, false)) return;
  const auto at = std::find_if(adapters_.begin(), adapters_.end(),
                               [&s](const Adapter& a) { return a.id == s.adapter; });
  if (--at->users > 0) return;
  for (BlockId b : at->blocks) pool_.release(b);
  adapters_.erase(at);
}

void EngineState::leave(Slot slot) {
  release_blocks(sequences_[slot]);
  unused_.push_back(slot);
}

// Blocks within the identified part of a prompt are known by its ids, which are chained; all others
// by the request.
std::uint64_t EngineState::block_hash(std::uint32_t request, std::int32_t block) const {
  const Request& r = load_.requests[request];
  const std::int64_t last = (std::int64_t{block} + 1) * limits_.block_size - 1;
  const std::int64_t id = last / load_.id_tokens;
  const auto place = static_cast<std::uint64_t>(block);
  // An id at the end of a prompt may stand for fewer tokens.
  if (id < r.ids && (last < r.input || load_.names_outputs))
    return mixed(
        mixed(load_.ids[r.first_id + static_cast<std::uint32_t>(id)] + adapter_key(r.adapter)) +
        place);
  return mixed(mixed(~std::uint64_t{request}) + place);
}

std::int32_t EngineState::cached_prompt(std::uint32_t request) const {
  if (!pool_.caching()) return 0;
  const std::int32_t most = (load_.requests[request].input - 1) / limits_.block_size;
  return find_rows(request, most, looked_at_) * limits_.block_size;
}

bool EngineState::find_row(std::uint32_t request, std::int32_t row, std::int32_t first,
                           std::int32_t last, BlockId* found) const {
  const std::uint64_t hash = block_hash(request, row);
  for (std::int32_t g = first; g < last; ++g) {
    found[g] = pool_of(g).find(group_hash(hash, g));
    if (found[g] < 0) return false;
  }
  return true;
}

std::int32_t EngineState::find_rows(std::uint32_t request, std::int32_t most,
                                    std::vector<BlockId>& found) const {
  const std::int32_t full = groups_.full, all = groups_.count();
  const auto width = static_cast<std::size_t>(all);
  found.clear();
  // Groups without a window need all rows from the first.
  std::int32_t rows = 0;
  for (; rows < most; ++rows) {
    found.resize(found.size() + width, kNoBlock);
    if (find_row(request, rows, 0, full, found.data() + found.size() - width)) continue;
    found.resize(found.size() - width);
    break;
  }
  if (groups_.windowed == 0) return rows;
  // The others the last ones: the longest prefix that has them.
  const std::int64_t needed = groups_.window_rows(limits_.block_size);
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

std::int64_t EngineState::needed_at_once(std::int64_t tokens) const {
  const std::int64_t block = limits_.block_size;
  const std::int64_t all = KvGroups::rows(tokens, block);
  const std::int64_t found = prefix_blocks() / groups_.count();
  const std::int64_t at_once =
      std::min(all, groups_.most_rows(limits_.max_num_batched_tokens, block));
  return groups_.full * (all - found) +
         groups_.windowed * std::max<std::int64_t>(0, at_once - found);
}

std::int32_t EngineState::cached_prefix(const Sequence& s) {
  prefix_.clear();
  elsewhere_.clear();
  prefix_idle_ = window_prefix_idle_ = 0;
  if (!pool_.caching()) return 0;
  const std::int32_t most = (s.tokens - 1) / limits_.block_size;
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
  return (rows + static_cast<std::int32_t>(elsewhere_.size())) * limits_.block_size;
}

// What windows give back of the first tokens may stay with others that share it: it is not counted.
std::int64_t EngineState::needed_until(std::int64_t end, std::int64_t tokens) const {
  const std::int64_t block = limits_.block_size;
  const std::int64_t more = KvGroups::rows(end, block) - KvGroups::rows(tokens, block);
  return groups_.full * more +
         (windowed() ? groups_.windowed * std::min(more, groups_.most_rows(1, block)) : 0);
}

void EngineState::take_prefix(Sequence& s) {
  for (std::size_t i = 0; i < prefix_.size(); ++i) {
    const auto g = static_cast<std::int32_t>(i % static_cast<std::size_t>(groups_.count()));
    if (prefix_[i] != kNoBlock) pool_of(g).share(prefix_[i]);
  }
  s.blocks.insert(s.blocks.end(), prefix_.begin(), prefix_.end());
  for (const auto& [tier, hash] : elsewhere_)
    tiers_.touch(tier, hash);  // none makes room for another
  for (const auto& [tier, hash] : elsewhere_) {
    s.blocks.push_back(take_block());
    pool_.publish(s.blocks.back(), hash);
    ++fetched_[tier];
  }
  const auto taken = static_cast<std::int64_t>(prefix_.size() + elsewhere_.size());
  s.published = static_cast<std::int32_t>(taken / groups_.count());
  s.found = s.published * limits_.block_size;
  s.window_rows = s.published;
  held_blocks_ += taken;
  compute(s, s.found);
  measure(s);
  if (windowed()) skip(s, s.computed);
}

std::int64_t EngineState::free_after_prefix() const { return pool_.free() - prefix_idle_; }

BlockId EngineState::take_block() {
  if (!tiers_.on()) return pool_.take();
  std::uint64_t forgotten;
  const BlockId block = pool_.take(&forgotten);
  if (forgotten != 0) tiers_.keep(forgotten);
  return block;
}

bool EngineState::place(Sequence& s) {
  if (!extents_ || s.extent >= 0) return true;
  const std::int64_t blocks = blocks_for(
      reserve_ == KvOptions::Reserve::kMaxModelLen ? limits_.max_model_len : s.cached_at_end());
  s.extent = extents_->take(blocks);
  stranded_ = s.extent < 0 && extents_->free() >= blocks ? extents_->free() : 0;
  return s.extent >= 0 && reserve(s, blocks * limits_.block_size);
}

bool EngineState::reserve(Sequence& s, std::int64_t tokens) {
  const std::int64_t more = blocks_for(tokens) - blocks_of(s);
  if (more > pool_.free()) return false;
  for (std::int64_t i = 0; i < more; ++i) {
    s.blocks.push_back(take_block());
    if (window_pool_) s.blocks.push_back(kNoBlock);  // of one full group and one with a window
  }
  held_blocks_ += std::max<std::int64_t>(more, 0) * (window_pool_ ? 2 : 1);
  measure(s);
  return true;
}

bool EngineState::fill_window(Sequence& s, std::int64_t tokens) {
  if (window_needed(s, tokens) > window_pool_->free()) return false;
  const auto rows = static_cast<std::int32_t>(KvGroups::rows(tokens, limits_.block_size));
  for (; s.window_rows < rows; ++s.window_rows)
    s.blocks[static_cast<std::size_t>(2 * s.window_rows + 1)] = window_pool_->take();
  measure(s);
  return true;
}

void EngineState::measure(Sequence& s) const {
  s.room = window_pool_
               ? s.window_rows * limits_.block_size
               : static_cast<std::int32_t>(s.blocks.size()) / groups_.count() * limits_.block_size;
  s.next_full = pool_.caching() ? (s.published + 1) * limits_.block_size : INT32_MAX;
}

void EngineState::skip(Sequence& s, std::int64_t computed) {
  if (!windowed()) return;
  const auto rows = static_cast<std::int32_t>(groups_.skipped_rows(computed, limits_.block_size));
  // From a pool of its own once a window (SGLang); else as soon as a block is outside.
  s.next_skip = window_pool_
                    ? static_cast<std::int32_t>(computed) + groups_.window
                    : (std::max(rows, s.skipped) + 1) * limits_.block_size + groups_.window - 1;
  if (rows <= s.skipped) return;
  publish(s, rows * limits_.block_size);
  for (std::int32_t g = groups_.full; g < groups_.count(); ++g) {
    for (std::int32_t row = rows - 1; row >= s.skipped; --row) {
      BlockId& b = s.blocks[static_cast<std::size_t>(row * groups_.count() + g)];
      if (b == kNoBlock) continue;
      pool_of(g).release(b);
      b = kNoBlock;
    }
  }
  s.skipped = rows;
}

bool EngineState::grow_blocks(Sequence& s, std::int32_t tokens) {
  if (window_pool_ && window_needed(s, tokens) > window_pool_->free()) {
    skip(s, s.computed);
    if (window_needed(s, tokens) > window_pool_->free()) return false;
  }
  if (!reserve(s, tokens)) return false;
  if (window_pool_) fill_window(s, tokens);
  // A token that is still being made, or a draft that may be rejected, has no known block.
  publish(s, std::min(tokens, s.prompt + s.made));
  return true;
}

void EngineState::publish(Sequence& s, std::int32_t tokens) {
  if (!pool_.caching()) return;
  for (; s.published < tokens / limits_.block_size; ++s.published) {
    const std::uint64_t hash = block_hash(s.request, s.published);
    for (std::int32_t g = 0; g < groups_.count(); ++g) {
      const BlockId b = s.blocks[static_cast<std::size_t>(s.published * groups_.count() + g)];
      if (b != kNoBlock) pool_of(g).publish(b, group_hash(hash, g));
    }
  }
  measure(s);
}

Slot EngineState::admit(std::int32_t new_tokens) {
  const Slot slot = waiting.front();
  Sequence& s = at(slot);
  s.start = s.tokens;
  take_prefix(s);
  take_adapter(s);
  grow(s, new_tokens);
  waiting.pop_front();
  run(slot);
  return slot;
}

void EngineState::run(Slot slot) {
  at(slot).ticket = tickets_++;
  running.push_back(slot);
  decode_group.run(slot);
}

Slot EngineState::evict_running(std::size_t i, std::vector<Slot>& evicted) {
  const Slot slot = running[i];
  running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
  evict(slot);
  evicted.push_back(slot);
  return slot;
}

bool EngineState::grow_evicting(std::size_t i, std::int32_t new_tokens,
                                std::vector<Slot>& evicted) {
  while (!grow(at(running[i]), new_tokens)) {
    evict_running(running.size() - 1, evicted);
    if (i == running.size()) return false;
  }
  return true;
}

void EngineState::evict(Slot slot) {
  Sequence& s = sequences_[slot];
  release_blocks(s);
  s.computed = s.published = s.drafts = 0;
  if (s.in_flight > 0) {
    s.parked = true;
  } else {
    unpark(slot);
  }
}

void EngineState::unpark(Slot slot) {
  at(slot).parked = false;
  if (as_they_come()) {
    waiting.push_front(slot);
  } else {
    enqueue(slot);
  }
}

}  // namespace orrery
