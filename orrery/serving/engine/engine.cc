#include "orrery/serving/engine/engine.h"

#include <algorithm>

namespace orrery {

Engine::Engine(const ReplicaConfig& config, const RequestLoad& load, StepTimer& timer,
               ReplicaObserver& observer)
    : config_(config),
      stages_(config.plan.pp),
      async_(config.async()),
      waiting_weight_(scheduler_kind(config.engine.scheduler.policy).traits.waiting_weight),
      room_(config),
      timer_(timer),
      start_up_(sim_time(config.engine.execution.first_step_extra())),
      deliveries_(static_cast<std::size_t>(config.plan.dp),
                  config.role == Role::kPrefill
                      ? FrontEndDelivery(SimTime{})
                      : FrontEndDelivery(config.delivery(), config.delivery_per_past_token())) {
  const auto& execution = config.engine.execution;
  if (execution.cold) continued_start_up_ = sim_time(execution.continued_start_up);
  ranks_.reserve(static_cast<std::size_t>(config.plan.dp));
  for (std::int32_t i = 0; i < config.plan.dp; ++i) {
    auto scheduler = make_scheduler({config.engine.scheduler, config.plan.dp});
    balance_timeout_ = scheduler->balance_timeout();
    ranks_.emplace_back(config, std::move(scheduler), load, observer);
  }
}

std::size_t Engine::least_loaded() const {
  const auto load = [this](const Replica& r) {
    return r.outstanding() + (waiting_weight_ - 1) * r.waiting();
  };
  const auto least =
      std::min_element(ranks_.begin(), ranks_.end(),
                       [&](const Replica& a, const Replica& b) { return load(a) < load(b); });
  return static_cast<std::size_t>(least - ranks_.begin());
}

void Engine::enter(std::uint32_t request) { ranks_[least_loaded()].enter(request); }

void Engine::dispatch(SimTime now) {
  const auto stages = static_cast<std::size_t>(stages_);
  const bool ahead = async_;
  while (ahead || waves_.size() < stages) {
    balance();
    for (Replica& r : ranks_) r.plan_ahead(now);
    if (waves_.size() == stages || !start_wave(now)) break;
  }
  if (config_.role != Role::kDecode) return;
  for (Replica& r : ranks_) r.take_blocks(now);
}

void Engine::balance() {
  if (balance_timeout_ == 0 || ranks_.size() == 1) return;
  bool all_prompt = true, all_decode = true;
  for (const Replica& r : ranks_) {
    all_prompt &= r.waiting() > 0 || r.prompt_ahead() > 0;
    all_decode &= r.running() > 0;
  }
  const bool go = all_prompt || !all_decode || held_ + 1 >= balance_timeout_;
  for (Replica& r : ranks_) r.hold_prompts(!go);
  let_in_ = go;
}

bool Engine::gather(Wave& wave) {
  if (ranks_.size() == 1) return ranks_.front().planned();
  if (!unused_.empty()) {
    wave.ranks = std::move(unused_.back());
    unused_.pop_back();
    wave.ranks.clear();
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].planned()) wave.ranks.push_back(static_cast<std::uint32_t>(i));
  }
  if (!wave.ranks.empty()) return true;
  unused_.push_back(std::move(wave.ranks));
  return false;
}

bool Engine::start_wave(SimTime now) {
  Wave wave;
  if (!gather(wave)) return false;
  const auto [slowest_step, computing] = slowest();
  const StepShape& shape = *slowest_step;
  SimTime loading;
  each_rank(wave, [&](std::size_t i) { loading = std::max(loading, ranks_[i].loading()); });
  if (start_up_ > SimTime{} && !shape.chunks.empty()) {
    loading += start_up_;
    start_up_ = {};
  }
  if (continued_start_up_ > SimTime{} &&
      std::any_of(shape.chunks.begin(), shape.chunks.end(),
                  [](const PromptChunk& c) { return c.past > 0; })) {
    loading += continued_start_up_;
    continued_start_up_ = {};
  }
  const SimTime pace = computing + loading;
  const SimTime latency = stages_ > 1 ? timer_.latency(shape) + loading : pace;
  entered_ = std::max(now, entered_ + pace_);
  pace_ = pace;
  last_end_ = wave.end = std::max(entered_ + latency, last_end_ + pace);
  if (log_) record(shape, wave.end);
  if (windows_) windows_->add(counts_of(wave), entered_, pace);
  busy_ += pace;
  ++steps_;
  held_ = let_in_ ? 0 : held_ + 1;
  decode_steps_ += shape.chunks.empty();
  each_rank(wave, [&](std::size_t i) { ranks_[i].start(pace); });
  waves_.push_back(std::move(wave));
  return true;
}

void Engine::record(const StepShape& shape, SimTime end) const {
  StepRecord step{entered_, end, place_, shape.decodes + shape.verifies};
  for (const PromptChunk& c : shape.chunks) ++step.prompts, step.prompt_tokens += c.new_tokens;
  step.running = running();
  step.waiting = waiting();
  step.kv_use = kv_use();
  log_->push_back(step);
}

StepCounts Engine::counts_of(const Wave& wave) const {
  StepCounts sum{1};
  each_rank(wave, [&](std::size_t i) {
    const StepShape& s = ranks_[i].shape();
    sum.decodes += s.decodes + s.verifies;
    sum.decode_past += s.decode_past + s.verify_past;
    for (const PromptChunk& c : s.chunks)
      ++sum.prompts, sum.prompt_tokens += c.new_tokens, sum.prompt_past += c.past;
  });
  return sum;
}

std::pair<const StepShape*, SimTime> Engine::slowest() {
  if (ranks_.size() == 1) {
    const StepShape& only = ranks_.front().shape();
    return {&only, timer_.time(only)};
  }
  // The slowest step is the one with the most new tokens or the one with the longest pasts.
  StepShape most, longest;
  std::int64_t most_tokens = 0, longest_past = -1, all = 0;
  bool same = false;  // one rank has both
  for (const Replica& r : ranks_) {
    if (!r.planned()) {
      ++all;  // the dummy step's token
      continue;
    }
    const StepShape& s = r.shape();
    std::int64_t tokens = s.decodes + s.verify_tokens, past = s.decode_past + s.verify_past;
    for (const PromptChunk& c : s.chunks) tokens += c.new_tokens, past += c.past;
    all += tokens;
    const bool busiest = tokens > most_tokens, deepest = past > longest_past;
    if (busiest) most = s, most_tokens = tokens;
    if (deepest) longest = s, longest_past = past;
    if (busiest || deepest) same = busiest && deepest;
  }
  most.wave_tokens = longest.wave_tokens = all;
  slowest_ = most;
  SimTime t = timer_.time(most);
  if (!same) {
    if (const SimTime u = timer_.time(longest); u > t) slowest_ = longest, t = u;
  }
  return {&slowest_, t};
}

void Engine::end_step() {
  Wave wave = std::move(waves_.front());
  waves_.erase(waves_.begin());
  each_rank(wave, [&](std::size_t i) { ranks_[i].end_step(wave.end, deliveries_[i]); });
  if (ranks_.size() > 1) unused_.push_back(std::move(wave.ranks));
}

void Engine::go_on(SimTime limit) {
  if (ranks_.size() > 1 || stages_ > 1 || log_ != nullptr) return;
  Replica& rank = ranks_.front();
  while (!waves_.empty() && waves_.front().end < limit) {
    const auto [steps, sequences, past] = rank.span();
    if (steps == 0) return;
    // The steps that end before the limit, if each takes as long as the last one did.
    std::int64_t most = std::min<std::int64_t>(steps, DecodeSpan::kMost);
    if (limit != kNever && pace_.ps > 0)
      most = std::min(most, (limit - waves_.front().end).ps / pace_.ps + 1);
    std::span<SimTime> asked(span_times_.data(), static_cast<std::size_t>(most));
    asked = asked.first(timer_.decode_times(sequences, past, asked));
    const SimTime from = waves_.front().end;
    SimTime end = from;
    const std::size_t n = rank.go_on(end, asked, limit, deliveries_.front());
    if (windows_) windows_->add_decodes(sequences, past, rank.span_ends(n));
    pace_ = asked[n - 1];
    entered_ = end - pace_;
    last_end_ = waves_.front().end = end;
    busy_ += end - from;
    held_ = 0;
    steps_ += static_cast<std::int64_t>(n);
    decode_steps_ += static_cast<std::int64_t>(n);
  }
}

void Engine::expect(std::uint32_t request, SimTime first_token) {
  ranks_[least_loaded()].expect(request, first_token);
}

Replica& Engine::holder(std::uint32_t request) {
  return *std::find_if(ranks_.begin(), ranks_.end(),
                       [request](const Replica& r) { return r.holds(request); });
}

void Engine::continue_with(std::uint32_t request) { holder(request).continue_with(request); }

void Engine::release(std::uint32_t request, bool may_return) {
  holder(request).release(request, may_return);
}

bool Engine::abandon(std::uint32_t request) {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [request](Replica& r) { return r.abandon(request); });
}

bool Engine::idle() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const Replica& r) { return r.outstanding() == 0 && !r.holds_any(); });
}

std::int64_t Engine::outstanding() const {
  std::int64_t n = 0;
  for (const Replica& r : ranks_) n += r.outstanding();
  return n;
}

std::int64_t Engine::waiting() const {
  std::int64_t n = 0;
  for (const Replica& r : ranks_) n += r.waiting();
  return n;
}

std::int64_t Engine::running() const {
  std::int64_t n = 0;
  for (const Replica& r : ranks_) n += r.running();
  return n;
}

std::int64_t Engine::kv_tokens() const { return config_.kv_tokens() * config_.plan.dp; }

double Engine::kv_use() const {
  std::int64_t used = 0;
  for (const Replica& r : ranks_) used += r.state().kv.pool().size() - r.state().kv.pool().free();
  return static_cast<double>(used) / static_cast<double>(config_.kv_blocks * config_.plan.dp);
}

std::int32_t Engine::cached_prompt(std::uint32_t request) const {
  std::int32_t most = 0;
  for (const Replica& r : ranks_) most = std::max(most, r.state().kv.cached_prompt(request));
  return most;
}

EngineLoad Engine::load() const {
  EngineLoad l{outstanding(), waiting(), running(), INT64_MAX, {}};
  for (const Replica& r : ranks_) l.prompt_ahead = std::min(l.prompt_ahead, r.prompt_ahead());
  if (!waves_.empty()) l.step_end = waves_.front().end;
  return l;
}

SimTime Engine::predicted_ttft(const EngineLoad& load, std::int64_t tokens, SimTime now) const {
  if (prompt_token_seconds_ == 0) {
    constexpr std::int64_t kFull = 2048;
    const PromptChunk chunk{static_cast<std::int32_t>(
        std::min(kFull, config_.engine.scheduler.max_num_batched_tokens))};
    StepShape full;
    full.chunks = {&chunk, 1};
    prompt_token_seconds_ = timer_.time(full).seconds() / chunk.new_tokens;
  }
  const SimTime rest = std::max(load.step_end - now, SimTime{});
  return rest +
         sim_seconds(static_cast<double>(load.prompt_ahead + tokens) * prompt_token_seconds_);
}

void Engine::list_requests(std::vector<std::uint32_t>& out) const {
  for (const Replica& r : ranks_) r.list_requests(out);
}

ReplicaCounts Engine::counts() const {
  ReplicaCounts sum;
  for (const Replica& r : ranks_) sum += r.counts();
  for (double* integral :
       {&sum.used_block_seconds, &sum.slack_token_seconds, &sum.stranded_block_seconds})
    *integral /= static_cast<double>(ranks_.size());
  sum.steps = steps_;
  sum.decode_steps = decode_steps_;
  sum.busy = busy_.time();
  return sum;
}

}  // namespace orrery
