#include "orrery/serving/engine/replica.h"

#include <algorithm>

namespace orrery {

Replica::Replica(const ReplicaConfig& config, std::unique_ptr<Scheduler> scheduler,
                 const RequestLoad& load, ReplicaObserver& observer)
    : config_(config),
      stages_(config.plan.pp),
      async_(config.async()),
      scheduler_(std::move(scheduler)),
      load_(load),
      observer_(observer),
      state_(config.engine, config.kv_blocks, load, config.kv),
      slots_(config.kv.adapter_slots),
      disk_(config.disk_block_read, config.disk_block_write) {
  state_.kv.count_blocks();
  if (config_.speculation.on()) acceptance_.emplace(config_.speculation);
  steps_.resize(depth());
  const bool alike = config_.delivery_per_past_token() <= SimTime{};  // tokens, for the front end
  if (stages_ == 1 && !acceptance_ && !config_.adapters() && !state_.kv.tiers().on() && alike)
    state_.decode_group.allow();
}

std::size_t Replica::depth() const {
  if (stages_ > 1) return static_cast<std::size_t>(stages_);
  return async_ ? 2 : 1;
}

void Replica::enter(std::uint32_t request) {
  disturbed_ = true;
  const Request& r = load_.requests[request];
  state_.enter(request, config_.role == Role::kPrefill ? 1 : r.output);
  prompt_ahead_ += r.input;
  ++outstanding_;
}

void Replica::plan_ahead(SimTime now) {
  if (planned() || count_ == steps_.size()) return;
  resume();
  if (plan(now, under_way(count_))) ++count_;
}

void Replica::ask() {
  disturbed_ = false;
  plan_.clear();
  scheduler_->plan(state_, plan_);
  list_former_members();
  for (Slot s : plan_.evicted) observer_.evicted(state_.at(s).request);
  for (Slot s : plan_.stalled) observer_.stalled(state_.at(s).request);
  counts_.evictions += static_cast<std::int64_t>(plan_.evicted.size());
  counts_.stalls += static_cast<std::int64_t>(plan_.stalled.size());
}

// Fills `step`. Returns false if nothing can be computed. After a plan that only evicts, the
// scheduler plans again at once, or when the step under way has ended.
bool Replica::plan(SimTime now, Step& step) {
  if (asked_) return false;
  ask();
  while (count_ == 0 && plan_.empty() && !plan_.evicted.empty()) {
    resume();  // sequences whose KV cache has arrived go before the evicted one
    ask();
  }
  asked_ = stages_ == 1 && count_ > 0 && plan_.empty();
  if (plan_.empty()) return false;

  StepShape& shape = step.shape;
  shape = {};
  step.chunks.clear();
  step.tokens.clear();
  for (const Work& w : plan_.work) {
    Sequence& s = state_.at(w.slot);
    const std::int32_t past = s.computed;
    state_.kv.compute(s, w.new_tokens);
    const std::int32_t drafts = s.computed - s.tokens;  // below 0: not caught up
    const bool caught_up = drafts >= 0;
    if (w.new_tokens == 1 && past > 0) {
      ++shape.decodes;
      shape.decode_past += past;
    } else if (drafts > 0) {
      ++shape.verifies;
      shape.verify_tokens += w.new_tokens;
      shape.verify_past += past;
    } else {
      step.chunks.push_back({w.new_tokens, past, caught_up});
    }
    if (past < s.prompt) counts_.prompt_tokens += std::min(s.prompt - past, w.new_tokens);
    if (!s.entered) {
      s.entered = true;
      const std::int32_t cached = s.found;
      counts_.cached_tokens += cached;
      observer_.scheduled(s.request, now, cached);
      s.uncounted -= cached;
      prompt_ahead_ -= cached;
    }
    if (s.uncounted > 0) {
      const std::int32_t taken = std::min(s.uncounted, w.new_tokens);
      s.uncounted -= taken;
      prompt_ahead_ -= taken;
    }
    if (!caught_up) continue;
    step.tokens.push_back({w.slot, make_tokens(s, drafts)});
    s.step = state_.decode_group.planned();
    if (stages_ > 1) ++s.in_flight;
  }
  add_decode_group(step);
  shape.chunks = step.chunks;
  step.loading = {};
  if (config_.adapters()) {
    step.loading = bring_in_adapters();
    shape.adapters = adapters_.size();
  }
  if (state_.kv.tiers().on()) step.loading += bring_in_blocks(now);
  return true;
}

void Replica::add_decode_group(Step& step) {
  last_.clear();
  step.in_turn = state_.decode_group.in_turn();
  const auto [sequences, past] = state_.decode_group.plan(state_, last_);
  step.group = sequences;
  step.shape.decodes += sequences;
  step.shape.decode_past += past;
  if (last_.empty()) return;
  for (Slot slot : last_) {
    step.tokens.push_back({slot, 0});
    if (!load_.names_outputs) continue;
    Sequence& s = state_.at(slot);
    state_.kv.publish(
        s, s.cached_at_end() - static_cast<std::int32_t>(state_.decode_group.under_way()));
  }
  sort_as_they_run(step);
}

void Replica::sort_as_they_run(Step& step) const {
  std::sort(step.tokens.begin(), step.tokens.end(), [this](const Made& a, const Made& b) {
    return state_.at(a.slot).ticket < state_.at(b.slot).ticket;
  });
}

void Replica::list_former_members() {
  auto& former = state_.decode_group.former();
  if (!state_.decode_group.in_turn()) return;
  for (std::size_t i = 0; i < count_; ++i) {
    Step& step = under_way(i);
    step.in_turn = true;
    if (former.empty()) continue;
    const std::int64_t number = state_.decode_group.ended() + static_cast<std::int64_t>(i);
    std::erase_if(step.tokens,
                  [this](const Made& m) { return m.tokens == 0 && state_.at(m.slot).joined < 0; });
    for (const DecodeGroup::Former& f : former) {
      if (number < f.joined || f.last < number) continue;
      step.tokens.push_back({f.slot, 1});
      --step.group;
    }
    sort_as_they_run(step);
  }
  former.clear();
}

SimTime Replica::bring_in_adapters() {
  adapters_.clear();
  for (const Work& w : plan_.work) adapters_.add(state_.at(w.slot).adapter);
  const std::int64_t loads =
      config_.kv.adapter_blocks > 0 ? state_.kv.adapter_loads() : slots_.bring_in(adapters_);
  counts_.adapter_loads += loads;
  return config_.adapter_load * loads;
}

SimTime Replica::bring_in_blocks(SimTime now) {
  const std::int64_t host = state_.kv.fetched(CacheTiers::kHost),
                     disk = state_.kv.fetched(CacheTiers::kDisk),
                     kept = state_.kv.tiers()[CacheTiers::kDisk].kept();
  const SimTime waited = disk_.ask(now, disk, kept - counts_.disk_keeps);
  counts_.host_fetches += host;
  counts_.host_keeps = state_.kv.tiers()[CacheTiers::kHost].kept();
  counts_.disk_fetches += disk;
  counts_.disk_keeps = kept;
  counts_.disk_waits += waited.time();
  return config_.host_block_copy * host + waited;
}

std::int32_t Replica::make_tokens(Sequence& s, std::int32_t drafts) {
  std::int32_t made = 1;
  if (acceptance_) {
    if (drafts > 0) {
      const std::int32_t accepted = acceptance_->accepted(s.request, s.tokens - s.prompt, drafts);
      ++counts_.verifications;
      counts_.drafts += drafts;
      counts_.accepted += accepted;
      made = std::min(accepted + 1, s.target - s.tokens);
    }
    // Rejected drafts are rolled back. The next drafts never need more memory than there can be:
    // the sequence's extent or the whole pool.
    state_.kv.compute(s, s.tokens + made - 1 - s.computed);
    const std::int64_t most = s.extent >= 0 ? s.room : config_.kv_tokens();
    const std::int64_t slots = most - (s.tokens + made);
    s.drafts = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(slots, 0, config_.speculation.verified()));
  }
  s.tokens += made;
  return made;
}

void Replica::start(SimTime duration) {
  const Step& step = under_way(started_++);
  ++counts_.steps;
  counts_.decode_steps += step.chunks.empty();
  held_time_.add(duration, kv_held(state_));
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
    moves_.hold(request, slot);
    observer_.prefilled(request, now);
    return;
  }
  observer_.finished(request, delivered);
  state_.leave(slot, false);
}

bool Replica::even(const Step& step) const {
  return step.group == state_.decode_group.size() && !step.in_turn && step.tokens.empty() &&
         step.chunks.empty();
}

Replica::NextSpan Replica::span() const {
  const DecodeGroup& group = state_.decode_group;
  // An asynchronous engine starts the step that is planned, and plans those after it.
  const std::size_t known = async_ ? 2 : 1;
  if (stages_ > 1 || count_ != known || started_ != 1) return {};
  if (!state_.queues.waiting.empty() && disturbed_) return {};
  if (moves_.any_arrived() && running() < state_.limits().max_num_seqs) return {};
  for (std::size_t i = 0; i < known; ++i) {
    if (!even(under_way(i))) return {};
  }
  if (!scheduler_->repeats(state_) || group.blocks_needed(state_) > state_.kv.pool().free())
    return {};
  return {group.even_steps(), group.size(), group.past() - (async_ ? group.size() : 0)};
}

std::size_t Replica::go_on(SimTime& now, std::span<const SimTime> times, SimTime limit,
                           FrontEndDelivery& delivery) {
  DecodeGroup& group = state_.decode_group;
  const std::size_t n =
      span_.take_blocks(span_.begin(now, times, limit), times, async_, state_, held_time_);
  now = span_.ends(n).back();
  const std::int64_t sequences = group.size();
  const auto steps = static_cast<std::int64_t>(n);
  group.end(span_.deliver(n, times, *this, delivery, observer_), steps);
  counts_.steps += steps;
  counts_.decode_steps += steps;
  counts_.sequence_steps += sequences * steps;
  counts_.output_tokens += sequences * steps;
  for (std::size_t i = 0; i < count_; ++i) under_way(i).shape.decode_past += sequences * steps;
  return n;
}

ReplicaCounts Replica::counts() const {
  ReplicaCounts all = counts_;
  all.busy = held_time_.busy().time();
  all.used_block_seconds = held_time_.used_block_seconds();
  all.slack_token_seconds = held_time_.slack_token_seconds();
  all.stranded_block_seconds = held_time_.stranded_block_seconds();
  return all;
}

void Replica::expect(std::uint32_t request, SimTime first_token) {
  const Slot slot = state_.adopt(request);
  state_.at(slot).last_token = first_token;
  moves_.expect(slot);
  ++outstanding_;
}

void Replica::take_blocks(SimTime now) {
  while (const std::optional<Slot> slot = moves_.allocate(state_)) {
    const Sequence& s = state_.at(*slot);
    counts_.cached_tokens += s.found;
    observer_.allocated(s.request, now, s.prompt - s.found);
  }
}

void Replica::continue_with(std::uint32_t request) {
  disturbed_ = true;
  moves_.arrive(request);
}

void Replica::release(std::uint32_t request, bool may_return) {
  disturbed_ = true;
  moves_.release(request, may_return, state_);
}

bool Replica::abandon(std::uint32_t request) {
  disturbed_ = true;
  const bool decodes = config_.role == Role::kDecode;
  if (!moves_.abandon(request, decodes, state_)) return false;
  outstanding_ -= decodes;  // where a prompt is computed, it no longer counts
  return true;
}

void Replica::list_requests(std::vector<std::uint32_t>& out) const {
  for (Slot s : state_.queues.running) out.push_back(state_.at(s).request);
  for (Slot s : state_.queues.waiting) out.push_back(state_.at(s).request);
  for (std::size_t i = 0; i < count_; ++i) {
    for (const Made& m : under_way(i).tokens) {
      if (state_.at(m.slot).parked) out.push_back(state_.at(m.slot).request);
    }
  }
  moves_.list_requests(state_, out);
}

}  // namespace orrery
