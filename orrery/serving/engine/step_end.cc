// The end of a step: its tokens go out, and sequences finish.
#include <algorithm>

#include "orrery/serving/engine/replica.h"

namespace orrery {

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

void Replica::end_in_turn(const Step& step, SimTime now, FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const std::int64_t number = group.ended();
  const auto tell = [this] {
    observer_.tokens_in_turn(turns_);
    turns_.clear();
  };
  // The others, and members whose last token it is, are listed in the order in which they run.
  auto listed = step.tokens.begin();
  const std::vector<Slot>& running = state_.queues.running;
  for (std::size_t i = 0; i < running.size();) {
    const Slot slot = running[i];
    Sequence& s = state_.at(slot);
    const bool member = s.joined >= 0 && s.joined <= number;
    SimTime delivered;
    if (member) {
      delivered = delivery.deliver(now);
      turns_.push_back({s.request, delivered, group.last_token(s)});
      s.last_token = delivered;
    }
    if (listed == step.tokens.end() || listed->slot != slot) {
      ++i;
      continue;
    }
    const std::size_t before = running.size();
    tell();
    if (member) {
      group.leave(state_, slot);
      finish(slot, now, delivered);
    } else {
      end_token(*listed, now, delivery);
    }
    ++listed;
    if (running.size() == before) ++i;
  }
  tell();
  // Sequences that were evicted since run no more.
  for (; listed != step.tokens.end(); ++listed) end_token(*listed, now, delivery);
  group.end_in_turn(now);
}

void Replica::end_token(const Made& made, SimTime now, FrontEndDelivery& delivery) {
  ++counts_.sequence_steps;
  Sequence& s = state_.at(made.slot);
  counts_.output_tokens += made.tokens;
  const SimTime delivered = delivery.deliver(now, 1, s.made);
  observer_.token(s.request, delivered, s.last_token, s.last_token.ps == 0);
  s.last_token = delivered;
  s.made += made.tokens;
  if (config_.stages > 1) --s.in_flight;
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
