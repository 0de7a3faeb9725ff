#include "orrery/serving/engine/kv_moves.h"

#include <algorithm>
#include <iterator>

#include "orrery/serving/state/adapters.h"

namespace orrery {

std::optional<Slot> KvMoves::allocate(EngineState& state) {
  if (expected_.empty() || !state.queues.waiting.empty() ||
      !state.take_prompt_blocks(expected_.front()))
    return std::nullopt;
  const Slot slot = expected_.front();
  expected_.pop_front();
  held_.push_back({state.at(slot).request, slot});
  return slot;
}

std::vector<KvMoves::Held>::const_iterator KvMoves::find(std::uint32_t request) const {
  return std::find_if(held_.begin(), held_.end(),
                      [request](const Held& h) { return h.request == request; });
}

bool KvMoves::holds(std::uint32_t request) const { return find(request) != held_.end(); }

void KvMoves::arrive(std::uint32_t request) {
  const auto at = find(request);
  arrived_.push_back(at->slot);
  held_.erase(at);
}

void KvMoves::release(std::uint32_t request, bool may_return, EngineState& state) {
  const auto at = find(request);
  state.leave(at->slot, may_return);
  held_.erase(at);
}

bool KvMoves::abandon(std::uint32_t request, bool decodes, EngineState& state) {
  if (const auto at = find(request); at != held_.end()) {
    if (decodes) state.kv.retract(state.at(at->slot));
    release(request, true, state);
    return true;
  }
  const auto at = std::find_if(expected_.begin(), expected_.end(),
                               [&](Slot slot) { return state.at(slot).request == request; });
  if (at == expected_.end()) return false;
  state.leave(*at, true);
  expected_.erase(at);
  return true;
}

void KvMoves::run_arrived(EngineState& state) {
  const std::int64_t slots = state.adapter_slots();
  AdapterSet in_use;
  if (slots > 0) {
    for (Slot slot : state.queues.running) in_use.add(state.at(slot).adapter);
  }
  for (auto at = arrived_.begin();
       at != arrived_.end() && std::ssize(state.queues.running) < state.limits().max_num_seqs;) {
    const std::int32_t adapter = state.at(*at).adapter;
    if (slots > 0 && adapter >= 0 && in_use.size() >= slots && !in_use.has(adapter)) {
      ++at;
      continue;
    }
    if (slots > 0) in_use.add(adapter);
    state.run(*at);
    at = arrived_.erase(at);
  }
}

void KvMoves::list_requests(const EngineState& state, std::vector<std::uint32_t>& out) const {
  for (const Held& h : held_) out.push_back(h.request);
  for (Slot s : expected_) out.push_back(state.at(s).request);
  for (Slot s : arrived_) out.push_back(state.at(s).request);
}

}  // namespace orrery
