#include "orrery/serving/engine/replica.h"

#include <algorithm>

namespace orrery {

ReplicaCounts& ReplicaCounts::operator+=(const ReplicaCounts& r) {
  steps += r.steps;
  decode_steps += r.decode_steps;
  prompt_tokens += r.prompt_tokens;
  output_tokens += r.output_tokens;
  evictions += r.evictions;
  stalls += r.stalls;
  cached_tokens += r.cached_tokens;
  verifications += r.verifications;
  drafts += r.drafts;
  accepted += r.accepted;
  busy += r.busy;
  used_block_seconds += r.used_block_seconds;
  slack_token_seconds += r.slack_token_seconds;
  stranded_block_seconds += r.stranded_block_seconds;
  adapter_loads += r.adapter_loads;
  sequence_steps += r.sequence_steps;
  host_fetches += r.host_fetches;
  host_keeps += r.host_keeps;
  disk_fetches += r.disk_fetches;
  disk_keeps += r.disk_keeps;
  disk_waits += r.disk_waits;
  return *this;
}

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
  held_time_.add(duration, holding());
}

KvHeld Replica::holding() const {
  const BlockPool& pool = state_.kv.pool();
  return {pool.size() - pool.free(), state_.slack(), state_.kv.stranded()};
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
  expected_.push_back(slot);
  ++outstanding_;
}

void Replica::take_blocks(SimTime now) {
  // Evicted requests go first. Expected ones would otherwise take the blocks that these gave up,
  // for ever.
  while (!expected_.empty() && state_.queues.waiting.empty() &&
         state_.take_prompt_blocks(expected_.front())) {
    const Slot slot = expected_.front();
    expected_.pop_front();
    const Sequence& s = state_.at(slot);
    held_.push_back({s.request, slot});
    counts_.cached_tokens += s.found;
    observer_.allocated(s.request, now, s.prompt - s.found);
  }
}

std::vector<Replica::Held>::const_iterator Replica::find(const std::vector<Held>& in,
                                                         std::uint32_t request) {
  return std::find_if(in.begin(), in.end(),
                      [request](const Held& h) { return h.request == request; });
}

bool Replica::holds(std::uint32_t request) const { return find(held_, request) != held_.end(); }

void Replica::continue_with(std::uint32_t request) {
  disturbed_ = true;
  const auto at = find(held_, request);
  resumed_.push_back(at->slot);
  held_.erase(at);
}

void Replica::release(std::uint32_t request, bool may_return) {
  disturbed_ = true;
  const auto at = find(held_, request);
  state_.leave(at->slot, may_return);
  held_.erase(at);
}

bool Replica::abandon(std::uint32_t request) {
  disturbed_ = true;
  if (const auto at = find(held_, request); at != held_.end()) {
    if (config_.role == Role::kDecode) {
      state_.kv.retract(state_.at(at->slot));
      --outstanding_;  // where a prompt is computed, it no longer counts
    }
    state_.leave(at->slot, true);
    held_.erase(at);
    return true;
  }
  const auto at = std::find_if(expected_.begin(), expected_.end(),
                               [&](Slot slot) { return state_.at(slot).request == request; });
  if (at == expected_.end()) return false;
  state_.leave(*at, true);
  expected_.erase(at);
  --outstanding_;
  return true;
}

// Sequences whose KV cache came from another engine run before any newcomer.
// Sequences whose adapter would be more than adapter_slots among the running are passed over.
void Replica::resume() {
  if (resumed_.empty()) return;
  const std::int64_t slots = config_.kv.adapter_slots;
  AdapterSet in_use;
  if (slots > 0) {
    for (Slot slot : state_.queues.running) in_use.add(state_.at(slot).adapter);
  }
  for (auto at = resumed_.begin();
       at != resumed_.end() && running() < state_.limits().max_num_seqs;) {
    const std::int32_t adapter = state_.at(*at).adapter;
    if (slots > 0 && adapter >= 0 && in_use.size() >= slots && !in_use.has(adapter)) {
      ++at;
      continue;
    }
    if (slots > 0) in_use.add(adapter);
    state_.run(*at);
    at = resumed_.erase(at);
  }
}

void Replica::list_requests(std::vector<std::uint32_t>& out) const {
  for (Slot s : state_.queues.running) out.push_back(state_.at(s).request);
  for (Slot s : state_.queues.waiting) out.push_back(state_.at(s).request);
  for (std::size_t i = 0; i < count_; ++i) {
    for (const Made& m : under_way(i).tokens) {
      if (state_.at(m.slot).parked) out.push_back(state_.at(m.slot).request);
    }
  }
  for (const Held& h : held_) out.push_back(h.request);
  for (Slot s : expected_) out.push_back(state_.at(s).request);
  for (Slot s : resumed_) out.push_back(state_.at(s).request);
}

}  // namespace orrery
