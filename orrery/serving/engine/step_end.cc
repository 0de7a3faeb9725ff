// The end of a step: its tokens go out, and sequences finish.
#include <algorithm>

#include "orrery/serving/engine/replica.h"

namespace orrery {

void ReplicaObserver::tokens_in_turn(const Replica& from, const TokensInTurn& tokens) {
  SimTime now = tokens.first, gap = tokens.gap;
  for (const Slot slot : tokens.of) {
    token(from.state().at(slot).request, now, now - gap, false);
    now += tokens.each;
    gap += tokens.growth;
  }
}

void Replica::end_step(SimTime now, FrontEndDelivery& delivery) {
  Step& step = steps_[first_];
  first_ = place(first_ + 1);
  --started_;
  --count_;
  asked_ = false;
  counts_.sequence_steps += step.group;
  counts_.output_tokens += step.group;
  if (step.in_turn) return end_in_turn(step, now, delivery);
  SimTime out = now;  // when the tokens of the decode group are delivered
  if (step.group > 0) {
    out = delivery.deliver(now, step.group, 0);
    observer_.tokens(*this, step.group, out, state_.decode_group.last_end());
  }
  state_.decode_group.end(out);
  for (const Made& m : step.tokens) {
    if (m.tokens == 0) {
      state_.decode_group.leave(state_, m.slot);
      finish(m.slot, now, out);
    } else {
      end_token(m, now, delivery);
    }
  }
}

std::vector<Replica::Made>::const_iterator Replica::end_turns(
    std::vector<Made>::const_iterator listed, std::vector<Made>::const_iterator end, SimTime now,
    FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const std::vector<Slot>& running = state_.queues.running;
  const SimTime each = delivery.lag(1);
  auto at = running.begin();
  for (std::int64_t before = 0, left = group.turns().size(); left > 0;) {
    // A part ends with the next sequence whose last token it is.
    std::int64_t n = left;
    bool ends = false;
    if (listed != end && listed->tokens == 0) {
      const auto found = std::find(at, at + left, listed->slot);
      ends = found != at + left;
      if (ends) n = found - at + 1;
    }
    const SimTime last = delivery.deliver(now, n, 0), first = last - each * (n - 1);
    SimTime next = first;
    auto of = at;
    group.turns().each_run(before, n, [&](std::int64_t part, SimTime token, SimTime apart) {
      observer_.tokens_in_turn(*this, {{of, of + part}, next, each, next - token, each - apart});
      next += each * part;
      of += part;
    });
    before += n;
    left -= n;
    turns_.add(n - ends, first, each);
    at += n - ends;
    if (!ends) continue;
    const auto place = at - running.begin();
    group.leave(state_, listed->slot);
    finish(listed->slot, now, last);
    at = running.begin() + place;
    ++listed;
  }
  return listed;
}

void Replica::end_in_turn(const Step& step, SimTime now, FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const std::int64_t number = group.ended();
  const SimTime each = delivery.lag(1);
  turns_.clear();
  group.begin_turns(state_);
  // The others, and members whose last token it is, are listed in the order in which they run.
  auto listed = end_turns(step.tokens.begin(), step.tokens.end(), now, delivery);
  const std::vector<Slot>& running = state_.queues.running;
  bool members = true;  // and nothing else so far
  for (auto i = static_cast<std::size_t>(turns_.size()); i < running.size();) {
    const Slot slot = running[i];
    Sequence& s = state_.at(slot);
    const bool member = s.joined >= 0 && s.joined <= number;
    const bool is_listed = listed != step.tokens.end() && listed->slot == slot;
    members &= member;
    SimTime delivered;
    if (member) {
      delivered = delivery.deliver(now);
      observer_.tokens_in_turn(
          *this, {{&running[i], 1}, delivered, each, delivered - group.last_token(s), {}});
      s.last_token = delivered;
      if (members && !is_listed) turns_.add(1, delivered, each);
    }
    if (!is_listed) {
      ++i;
      continue;
    }
    const std::size_t before = running.size();
    if (member) {
      group.leave(state_, slot);
      finish(slot, now, delivered);
    } else {
      end_token(*listed, now, delivery);
    }
    ++listed;
    if (running.size() == before) ++i;
  }
  // Sequences that were evicted since run no more.
  for (; listed != step.tokens.end(); ++listed) end_token(*listed, now, delivery);
  group.end_in_turn(now, turns_);
}

void Replica::end_token(const Made& made, SimTime now, FrontEndDelivery& delivery) {
  ++counts_.sequence_steps;
  Sequence& s = state_.at(made.slot);
  counts_.output_tokens += made.tokens;
  const SimTime delivered = delivery.deliver(now, 1, s.made);
  observer_.token(s.request, delivered, s.last_token, s.last_token.ps == 0);
  s.last_token = delivered;
  s.made += made.tokens;
  if (stages_ > 1) --s.in_flight;
  if (s.made == s.target - s.prompt) {
    state_.decode_group.end_other(made.slot);
    finish(made.slot, now, delivered);
  } else if (s.parked && s.in_flight == 0) {
    state_.unpark(made.slot);
  }
}

void Replica::finish(Slot slot, SimTime now, SimTime delivered) {
  // Sequences end in about the order in which they began.
  auto& running = state_.queues.running;
  const auto at = std::find(running.begin(), running.end(), slot);
  if (at != running.end()) {
    running.erase(at);
  } else if (!state_.at(slot).parked) {  // evicted while its last token was being made
    state_.queues.waiting.erase(
        std::find(state_.queues.waiting.begin(), state_.queues.waiting.end(), slot));
  }
  const std::uint32_t request = state_.at(slot).request;
  --outstanding_;
  if (config_.role == Role::kPrefill && load_.requests[request].output > 1) {
    held_.push_back({request, slot});
    observer_.prefilled(request, now);
    return;
  }
  observer_.finished(request, delivered);
  state_.leave(slot, false);
}

}  // namespace orrery
