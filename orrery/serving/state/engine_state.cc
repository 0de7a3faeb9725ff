#include "orrery/serving/state/engine_state.h"

namespace orrery {

EngineState::EngineState(const EngineProfile& engine, std::int64_t kv_blocks,
                         const RequestLoad& load, const KvOptions& options)
    : queues(engine.scheduler.order),
      kv(engine, kv_blocks, load, options),
      limits_(engine.scheduler),
      adapter_slots_(options.adapter_slots),
      load_(load) {}

Slot EngineState::enter(std::uint32_t request, std::int32_t output) {
  if (load_.requests[request].ids > 0) number_blocks();
  const Slot slot = queues.make(request, load_.requests[request], output);
  queues.enqueue(slot);
  return slot;
}

Slot EngineState::adopt(std::uint32_t request) {
  const Request& r = load_.requests[request];
  if (r.ids > 0) number_blocks();
  const Slot slot = queues.make(request, r, r.output);
  Sequence& s = at(slot);
  ++s.tokens;
  s.made = 1;
  s.uncounted = 0;
  s.entered = true;
  return slot;
}

bool EngineState::take_prompt_blocks(Slot slot) {
  Sequence& s = at(slot);
  kv.cached_prefix(s);
  if (kv.blocks_for(s.tokens) - kv.prefix_blocks() + kv.adapter_blocks(s) > kv.free_after_prefix())
    return false;
  kv.take_prefix(s);
  kv.take_adapter(s);
  kv.grow(s, s.prompt - s.computed);
  kv.compute(s, s.prompt - s.computed);
  return true;
}

void EngineState::number_blocks() {
  if (!kv.counting()) return;
  may_count_ = load_.ids.empty();
  decode_group.catch_up(*this);
  kv.number_blocks(queues.running, queues.all());
}

void EngineState::leave(Slot slot, bool may_return) {
  if (may_return && kv.pool().caching()) {
    number_blocks();
    may_count_ = false;
  }
  lost_ -= at(slot).lost;
  kv.release(at(slot), may_return);
  queues.remove(slot);
}

Slot EngineState::admit(std::int32_t new_tokens) {
  const Slot slot = queues.waiting.front();
  Sequence& s = at(slot);
  s.start = s.tokens;
  if (s.lost && may_count_) s.leaves_rows = s.leaves_rows || kv.holds_beyond_prefix(s);
  kv.take_prefix(s);
  kv.take_adapter(s);
  kv.grow(s, new_tokens);
  queues.waiting.pop_front();
  run(slot);
  return slot;
}

void EngineState::run(Slot slot) {
  queues.run(slot);
  decode_group.run(slot);
}

void EngineState::evict(Slot slot) {
  if (kv.pool().caching()) number_blocks();
  Sequence& s = at(slot);
  last_lost_ = decode_group.planned();
  lost_ += !s.lost;
  s.lost = true;
  kv.release(s, true);
  s.computed = s.published = s.drafts = 0;
  if (s.in_flight > 0) {
    s.parked = true;
  } else {
    unpark(slot);
  }
}

void EngineState::unpark(Slot slot) {
  at(slot).parked = false;
  queues.enqueue_again(slot);
}

Slot EngineState::evict_running(std::size_t i, std::vector<Slot>& evicted) {
  const Slot slot = queues.running[i];
  evict(slot);
  queues.running.erase(queues.running.begin() + static_cast<std::ptrdiff_t>(i));
  evicted.push_back(slot);
  return slot;
}

bool EngineState::grow_evicting(std::size_t i, std::int32_t new_tokens,
                                std::vector<Slot>& evicted) {
  while (!kv.grow(at(queues.running[i]), new_tokens)) {
    evict_running(queues.running.size() - 1, evicted);
    if (i == queues.running.size()) return false;
  }
  return true;
}

}  // namespace orrery
