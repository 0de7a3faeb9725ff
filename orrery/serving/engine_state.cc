#include "orrery/serving/engine_state.h"

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

}  // namespace

QueueOrder queue_order(std::string_view name) {
  if (name == "fcfs") return QueueOrder::kFcfs;
  if (name == "priority") return QueueOrder::kPriority;
  if (name == "sjf") return QueueOrder::kSjf;
  const std::vector<std::string> names = {"fcfs", "priority", "sjf"};
  throw InputError(fmt::format("unknown queue order '{}'{}", name, did_you_mean(name, names)));
}

EngineState::EngineState(const SchedulerLimits& limits, std::int64_t kv_blocks, bool prefix_caching,
                         const RequestLoad& load)
    : limits_(limits), pool_(kv_blocks, prefix_caching), load_(load) {}

Slot EngineState::enter(std::uint32_t request) {
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
  s.target = r.input + r.output;
  s.computed = s.published = s.made = s.found = 0;
  s.entered = false;
  s.last_token = {};
  s.priority = r.priority;
  s.arrival = r.arrival;
  enqueue(slot);
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
  if (limits_.order == QueueOrder::kFcfs) {
    waiting.push_back(slot);
    return;
  }
  const auto before = [this](Slot a, Slot b) { return goes_before(a, b); };
  waiting.insert(std::upper_bound(waiting.begin(), waiting.end(), slot, before), slot);
}

void EngineState::release_blocks(Sequence& s) {
  for (auto b = s.blocks.rbegin(); b != s.blocks.rend(); ++b) pool_.release(*b);
  s.blocks.clear();
}

void EngineState::leave(Slot slot) {
  release_blocks(sequences_[slot]);
  unused_.push_back(slot);
}

// Blocks within the identified part of a prompt are known by its ids, which are chained; all others
// by the request.
std::uint64_t EngineState::block_hash(const Sequence& s, std::int32_t block) const {
  const Request& r = load_.requests[s.request];
  const std::int64_t last = (std::int64_t{block} + 1) * limits_.block_size - 1;
  const std::int64_t id = last / load_.id_tokens;
  const auto place = static_cast<std::uint64_t>(block);
  // An id at the end of a prompt may stand for fewer tokens.
  if (id < r.ids && last < r.input)
    return mixed(mixed(load_.ids[r.first_id + static_cast<std::uint32_t>(id)]) + place);
  return mixed(mixed(~std::uint64_t{s.request}) + place);
}

std::int32_t EngineState::cached_prefix(const Sequence& s) {
  prefix_.clear();
  prefix_idle_ = 0;
  if (!pool_.caching()) return 0;
  const std::int32_t most = (s.tokens - 1) / limits_.block_size;
  for (std::int32_t i = 0; i < most; ++i) {
    const BlockId b = pool_.find(block_hash(s, i));
    if (b < 0) break;
    prefix_.push_back(b);
    prefix_idle_ += pool_.idle(b);
  }
  return static_cast<std::int32_t>(prefix_.size()) * limits_.block_size;
}

void EngineState::take_prefix(Sequence& s) {
  for (BlockId b : prefix_) pool_.share(b);
  s.blocks.insert(s.blocks.end(), prefix_.begin(), prefix_.end());
  s.published = static_cast<std::int32_t>(s.blocks.size());
  s.computed = s.found = s.published * limits_.block_size;
}

std::int64_t EngineState::free_beside_prefix() const { return pool_.free() - prefix_idle_; }

bool EngineState::reserve(Sequence& s, std::int64_t tokens) {
  const std::int64_t more = blocks_for(tokens) - static_cast<std::int64_t>(s.blocks.size());
  if (more > pool_.free()) return false;
  for (std::int64_t i = 0; i < more; ++i) s.blocks.push_back(pool_.take());
  return true;
}

bool EngineState::grow(Sequence& s, std::int32_t new_tokens) {
  const std::int32_t tokens = s.computed + new_tokens;
  if (!reserve(s, tokens)) return false;
  if (pool_.caching()) {
    // A token that is still being made has no known block.
    const std::int32_t full = std::min(tokens, s.prompt + s.made) / limits_.block_size;
    for (; s.published < full; ++s.published) {
      pool_.publish(s.blocks[static_cast<std::size_t>(s.published)], block_hash(s, s.published));
    }
  }
  return true;
}

Slot EngineState::admit(std::int32_t new_tokens) {
  const Slot slot = waiting.front();
  Sequence& s = at(slot);
  s.start = s.tokens;
  take_prefix(s);
  grow(s, new_tokens);
  waiting.pop_front();
  running.push_back(slot);
  return slot;
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
  s.computed = s.published = 0;
  if (limits_.order == QueueOrder::kFcfs) {
    waiting.push_front(slot);
  } else {
    enqueue(slot);
  }
}

}  // namespace orrery
