#include "orrery/serving/state/decode_group.h"

#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/serving/state/engine_state.h"

namespace orrery {
namespace {

// If a step is short of memory or budget within this many steps after tokens began to go out
// together, they go out in turn for twice as many.
constexpr std::int64_t kShort = 8;

// Number of the step that makes the sequence's last token.
std::int64_t last_step(const Sequence& s) { return s.joined + s.target - s.tokens - 1; }

}  // namespace

std::int64_t DecodeGroup::steps_of(const Sequence& s) const {
  return std::min(planned_, last_step(s) + 1) - s.joined;
}

bool DecodeGroup::counts(const EngineState& engine) const {
  return engine.kv.counting() && roomy_ == 0;
}

void DecodeGroup::catch_up(EngineState& engine) {
  for (const auto& phase : phases_) {
    for (Slot slot : phase) {
      Sequence& s = engine.at(slot);
      engine.kv.catch_up(s, s.computed + steps_of(s));
    }
  }
}

std::size_t DecodeGroup::phase(std::int64_t step) const {
  return static_cast<std::size_t>(step) % phases_.size();
}

bool DecodeGroup::take_in(EngineState& engine) {
  if (!allowed_) return false;
  engine.count_blocks_again();
  if (!formed_) {
    phases_.resize(static_cast<std::size_t>(engine.kv.block_size()));
    takers_.resize(phases_.size());
    due_ = phase(planned_);
    others_ = engine.queues.running;
    formed_ = true;
    latest_ = -1;
  }
  newly_.clear();
  std::erase_if(others_, [&](Slot slot) {
    Sequence& s = engine.at(slot);
    const std::int32_t wanted = s.wanted();
    // Only a sequence that got a token in the step before can join, because all members did.
    if (wanted == 1 && s.decodes() && s.step == planned_ - 1) {
      join(slot, s);
      engine.recovered(s);
    }
    return wanted == 0 || s.joined >= 0;
  });
  return true;
}

void DecodeGroup::join(Slot slot, Sequence& s) {
  s.joined = planned_;
  newly_.push_back(slot);
  // Step n computes token computed + 1 + n - joined. The sequence needs a block once that exceeds
  // its room, and from then on in every block_size-th step.
  const std::size_t takes = phase(planned_ + s.room - s.computed);
  phases_[takes].push_back(slot);
  ++takers_[takes];
  roomy_ += s.room - s.computed >= static_cast<std::int64_t>(phases_.size());
  lasts_.push_back({last_step(s), s.ticket, slot});
  std::push_heap(lasts_.begin(), lasts_.end());
  latest_ = std::max(latest_, s.ticket);
  ++size_;
  past_ += s.computed;
}

bool DecodeGroup::all_before(const Sequence& s) const { return s.ticket > latest_; }

std::int64_t DecodeGroup::blocks_needed(const EngineState& engine) const {
  return static_cast<std::int64_t>(phases_[due_].size()) * engine.kv.groups().count();
}

void DecodeGroup::list_skipping(const EngineState& engine, std::vector<Slot>& out) const {
  // A sequence needs a block when a whole number of blocks is computed. A block falls out of the
  // window window - 1 tokens after that.
  const std::int64_t block = engine.kv.block_size();
  const std::int64_t later = (engine.kv.groups().window - 1) % block;
  for (Slot slot : phases_[phase(planned_ + block - later)]) {
    if (planned_ <= last_step(engine.at(slot))) out.push_back(slot);
  }
  // Blocks that the last step of a prompt left outside of the window.
  out.insert(out.end(), newly_.begin(), newly_.end());
}

std::int64_t DecodeGroup::computed(const Sequence& s) const {
  return s.joined >= 0 ? s.computed + planned_ - s.joined : s.computed;
}

std::int64_t DecodeGroup::blocks_taken(EngineState& engine) const {
  if (counts(engine)) return takers_[due_];
  std::int64_t blocks = 0;
  for (Slot slot : phases_[due_]) {
    Sequence& s = engine.at(slot);
    if (planned_ > last_step(s)) continue;
    const std::int64_t tokens = s.computed + 1 + planned_ - s.joined;
    if (engine.kv.counting()) engine.kv.catch_up(s, tokens - 1);
    if (tokens > s.room) blocks += engine.kv.groups().count();
  }
  return blocks;
}

void DecodeGroup::grow(EngineState& engine) {
  if (counts(engine)) return engine.kv.take_counted(takers_[due_]);
  for (Slot slot : phases_[due_]) {
    Sequence& s = engine.at(slot);
    if (planned_ > last_step(s)) continue;  // its last token is being made
    const std::int64_t tokens = s.computed + 1 + planned_ - s.joined;
    if (engine.kv.counting()) engine.kv.catch_up(s, tokens - 1);
    if (tokens > s.room) engine.kv.reserve(s, tokens);
  }
}

DecodeGroup::Step DecodeGroup::plan(const EngineState& engine, std::vector<Slot>& last) {
  const Step step{size_, past_};
  under_way_ = planned_ - ended_;
  uncounted_ += size_;
  past_ += size_;
  while (!lasts_.empty() && lasts_.front().step == planned_) {
    last.push_back(lasts_.front().slot);
    const Sequence& s = engine.at(last.back());
    --takers_[phase(s.joined + s.room - s.computed)];
    std::pop_heap(lasts_.begin(), lasts_.end());
    lasts_.pop_back();
    --size_;
    past_ -= s.cached_at_end();
  }
  if (size_ == 0) roomy_ = 0;
  ++planned_;
  if (++due_ >= phases_.size()) due_ = 0;
  return step;
}

void DecodeGroup::list_ending(const EngineState& engine,
                              std::vector<std::uint32_t>& requests) const {
  for (const auto& phase : phases_) {
    for (Slot slot : phase) {
      const Sequence& s = engine.at(slot);
      if (s.joined <= ended_ && ended_ <= last_step(s)) requests.push_back(s.request);
    }
  }
}

void DecodeGroup::begin_turns(const EngineState& engine) {
  if (ended_in_turn_) return;
  std::int64_t n = 0;
  for (const Slot slot : engine.queues.running) {
    const std::int64_t joined = engine.at(slot).joined;
    if (joined < 0 || joined >= ended_) break;
    ++n;
  }
  turns_.clear();
  turns_.add(n, last_end_, {});
}

// Brings the sequence up to date with all steps since it joined.
void DecodeGroup::settle(EngineState& engine, Sequence& s) {
  const std::int64_t end = last_step(s) + 1;
  const auto steps = static_cast<std::int32_t>(steps_of(s));
  const auto out = static_cast<std::int32_t>(std::min(ended_, end) - s.joined);
  s.tokens += steps;
  engine.kv.compute(s, steps);
  if (engine.kv.counting()) engine.kv.catch_up(s, s.computed);
  uncounted_ -= steps;
  if (out > 0) {
    s.made += out;
    if (!ended_in_turn_) s.last_token = last_end_;
  }
  s.joined = -1;
}

void DecodeGroup::leave(EngineState& engine, Slot slot) {
  Sequence& s = engine.at(slot);
  std::vector<Slot>& in = phases_[phase(s.joined + s.room - s.computed)];
  *std::find(in.begin(), in.end(), slot) = in.back();
  in.pop_back();
  settle(engine, s);
}

void DecodeGroup::strain() {
  if (in_turn()) return;
  together_from_ = planned_ + (planned_ - together_from_ < kShort ? 2 * kShort : 1);
}

void DecodeGroup::make_ordinary(EngineState& engine, Slot slot) {
  Sequence& s = engine.at(slot);
  former_.push_back({slot, s.joined, last_step(s)});
  settle(engine, s);
  // When its last step was planned, tokens of steps under way were not known.
  engine.kv.publish(s, s.computed - static_cast<std::int32_t>(under_way_));
}

void DecodeGroup::evict(EngineState& engine, Slot slot) {
  const Sequence& s = engine.at(slot);
  const std::size_t takes = phase(s.joined + s.room - s.computed);
  std::erase(phases_[takes], slot);
  const auto last =
      std::find_if(lasts_.begin(), lasts_.end(), [slot](const Last& l) { return l.slot == slot; });
  if (last != lasts_.end()) {
    lasts_.erase(last);
    std::make_heap(lasts_.begin(), lasts_.end());
    --takers_[takes];
    --size_;
    past_ -= computed(s);
  }
  if (size_ == 0) roomy_ = 0;
  const auto& running = engine.queues.running;
  if (const auto n = static_cast<std::size_t>(turns_.size()); n > 0 && running[n - 1] == slot)
    engine.at(slot).last_token = turns_.remove_last();
  make_ordinary(engine, slot);
  const auto before = std::find_if(running.rbegin(), running.rend(),
                                   [&](Slot r) { return engine.at(r).joined >= 0; });
  latest_ = before == running.rend() ? -1 : engine.at(*before).ticket;
}

void DecodeGroup::dissolve(EngineState& engine) {
  strain();
  for (; turns_.size() > 0;) {
    const Slot slot = engine.queues.running[index(turns_.size() - 1)];
    engine.at(slot).last_token = turns_.remove_last();
  }
  for (auto& phase : phases_) {
    for (Slot slot : phase) make_ordinary(engine, slot);
    phase.clear();
  }
  std::fill(takers_.begin(), takers_.end(), 0);
  roomy_ = 0;
  lasts_.clear();
  others_.clear();
  size_ = past_ = 0;
  formed_ = false;
}

}  // namespace orrery
