#include "orrery/serving/cluster/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "orrery/base/error.h"
#include "orrery/serving/cluster/admission.h"
#include "orrery/serving/cluster/event_queue.h"
#include "orrery/serving/cluster/fleet_scaling.h"
#include "orrery/serving/cluster/independent_engines.h"
#include "orrery/serving/cluster/rounds.h"

namespace orrery {
namespace {

constexpr int kMostRetries = 10'000;          // of a request
constexpr std::uint32_t kGiven = UINT32_MAX;  // the life of an engine that fails at a given time

std::vector<PoolConfig> pools_of(const SimulationConfig& config) {
  std::vector<PoolConfig> pools;
  for (std::size_t i = 0; i < config.pools(); ++i) pools.push_back(config.pool(i));
  return pools;
}

std::vector<Autoscale> autoscales_of(const SimulationConfig& config) {
  std::vector<Autoscale> all(config.pools());
  all.front() = config.autoscale;
  if (disaggregated(config)) all.back() = config.autoscale.of_decode();
  return all;
}

std::vector<std::int64_t> most_engines(const std::vector<Autoscale>& autoscales) {
  std::vector<std::int64_t> most;
  for (const Autoscale& a : autoscales) most.push_back(a.on() ? a.most : 0);
  return most;
}

class Simulation : public ReplicaObserver {
 public:
  Simulation(const SimulationConfig& config, const RequestLoad& load,
             std::span<StepTimer* const> timers, std::unique_ptr<Router> router,
             std::unique_ptr<Router> decode_router)
      : config_(config),
        rounds_(make_rounds(load)),
        load_(rounds_->load()),
        pools_(pools_of(config)),
        refresh_(sim_time(config.router_refresh)),
        restart_(sim_time(config.failures.restart)),
        disaggregated_(disaggregated(config)),
        router_(std::move(router)),
        decode_router_(std::move(decode_router)),
        windows_(config.window.ps > 0 ? pools_.size() : 0, StepWindows(config.window)),
        fleet_(pools_, timers, most_engines(autoscales_of(config)), load_, rounds_->observer(),
               {config.steps, windows_.empty() ? nullptr : &windows_}),
        scaling_(autoscales_of(config), fleet_, events_),
        links_(config.transfer, fleet_.size()),
        admission_(config_, load_, load.requests.size()),
        entered_(config.meter) {
    result_.records.resize(load.requests.size());
  }

  SimulationResult run() {
    scaling_.begin();
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      failure_draws_.emplace_back(config_.seed, fmt::format("failures/{}", i));
      if (fleet_.status(i) == EngineStatus::kUp) expect_failure(i, {});
    }
    for (std::size_t k = 0; k < config_.failures.at.size(); ++k)
      events_.push(sim_seconds(config_.failures.at[k]), EventKind::kFailed, k, kGiven);
    count_engines();
    if (refresh_.ps > 0) fleet_.look();
    while (working()) {
      const SimTime arrival = admission_.time();
      if (arrival == kNever && !events_.moving())
        throw std::logic_error("simulation: requests wait and nothing runs");
      if (events_.empty() || arrival <= events_.top().time) {
        enter(arrival);
      } else {
        take(events_.pop());
      }
    }
    result_.replicas = fleet_.counts();
    for (std::size_t i = 0; i < fleet_.size(); ++i) result_.pool_of.push_back(fleet_.pool_index(i));
    result_.starts = scaling_.starts();
    result_.engine_times = fleet_.engine_times(result_.end);
    result_.gpu_time = fleet_.gpu_time(result_.end);
    if (!windows_.empty()) fleet_.count_present(result_.end);
    result_.windows = std::move(windows_);
    return std::move(result_);
  }

 private:
  bool working() const { return outstanding_ > 0 || !admission_.empty(); }

  // ---- requests ----

  void enter(SimTime now) {
    entered_.count();
    const auto request = static_cast<std::uint32_t>(admission_.next());
    if (!admission_.enter(result_.records[request])) return;
    ++outstanding_;
    look_again(now);
    send(rounds_->start(request), now);
  }

  // The engine that a router chooses among those up in which the request fits; size() if there is
  // none.
  std::size_t choose(Router& router, Role role, std::uint32_t request, SimTime now) {
    const Arrival arrival{load_.requests[request], request, now};
    std::span<const EngineView> engines = fleet_.up(role);
    std::span<const std::uint32_t> places = fleet_.places(role);
    if (pools_.size() > 1) {
      fitting_.clear();
      fitting_places_.clear();
      for (std::size_t i = 0; i < engines.size(); ++i) {
        if (!engines[i].fits(arrival.request)) continue;
        fitting_.push_back(engines[i]);
        fitting_places_.push_back(places[i]);
      }
      engines = fitting_;
      places = fitting_places_;
    }
    return engines.empty() ? fleet_.size() : places[router.route(arrival, engines)];
  }

  // Routers look at the engines at every multiple of router_refresh, as long as the simulation
  // runs.
  void look(SimTime now) {
    fleet_.look();
    looking_ = outstanding_ > 0;
    if (looking_) events_.push(now + refresh_, EventKind::kLook, 0, 0);
  }
  void look_again(SimTime now) {
    const std::int64_t every = refresh_.ps;
    if (looking_ || every == 0) return;
    looking_ = true;
    events_.push({(now.ps / every + 1) * every}, EventKind::kLook, 0, 0);
  }

  void send(std::uint32_t request, SimTime now) {
    RequestRecord& record = result_.records[rounds_->of_load(request)];
    const auto last = static_cast<std::size_t>(record.replica);
    // All rounds of a search go to the engine that took the first.
    const bool stays =
        rounds_->several() && record.first_token.ps > 0 && fleet_.status(last) == EngineStatus::kUp;
    const std::size_t to =
        stays ? last
              : choose(*router_, disaggregated_ ? Role::kPrefill : Role::kServe, request, now);
    if (to == fleet_.size()) {
      parked_.push_back(request);
      return;
    }
    (disaggregated_ ? record.prefill_replica : record.replica) = static_cast<std::int32_t>(to);
    act(to, now, [&](Engine& e) { e.enter(request); });
  }

  // The state of an engine has changed, so that it may start a step.
  template <class Change>
  void act(std::size_t i, SimTime now, const Change& change) {
    Engine& e = fleet_.at(i);
    const SimTime before = e.next();
    change(e);
    e.dispatch(now);
    // The oldest step under way stays so until it ends.
    if (before == kNever) push_end(i);
  }

  void push_end(std::size_t i) {
    const SimTime end = fleet_.at(i).next();
    if (end != kNever) events_.push(end, EventKind::kStepEnd, i, fleet_.life(i));
  }

  void take(const Event& event) {
    switch (event.kind) {
      case EventKind::kStepEnd:
        if (event.life == fleet_.life(event.id)) end_step(event.id, event.time);
        break;
      case EventKind::kBeam:
        send(event.id, event.time);
        break;
      case EventKind::kTransferred:
        // A transfer of an earlier attempt is void.
        if (event.life == attempt(event.id)) transferred(event.id, event.time);
        break;
      case EventKind::kScale:
        scaling_.decide(event.id, demand(event.id), event.time);
        count_engines();
        break;
      case EventKind::kLook:
        look(event.time);
        break;
      case EventKind::kFailed:
        if (event.life == kGiven) {
          fail_given(event.id, event.time);
        } else if (event.life == fleet_.life(event.id)) {
          fail(event.id, event.time);
        }
        break;
      case EventKind::kStarted:
      case EventKind::kRestarted:
        come_up(event.id, event.time);
        break;
    }
  }

  void end_step(std::size_t i, SimTime now) {
    Engine& e = fleet_.at(i);
    e.end_step();
    e.dispatch(now);
    // Steps that end before anything else happens are no events.
    while (prefilled_.empty() && fleet_.status(i) == EngineStatus::kUp && working()) {
      const SimTime other =
          std::min(admission_.time(), events_.empty() ? kNever : events_.top().time);
      e.go_on(other);
      if (e.next() >= other) break;
      now = e.next();
      e.end_step();
      e.dispatch(now);
    }
    push_end(i);
    // Prompts that it has computed continue on an engine that decodes.
    for (std::uint32_t request : prefilled_) send_to_decode(request, now);
    prefilled_.clear();
    end_draining(i, now);
  }

  void end_draining(std::size_t i, SimTime now) {
    if (fleet_.status(i) == EngineStatus::kDraining && fleet_.at(i).idle())
      fleet_.set(i, EngineStatus::kOff, now);
  }

  void send_to_decode(std::uint32_t request, SimTime now) {
    RequestRecord& record = result_.records[request];
    const std::size_t to = choose(*decode_router_, Role::kDecode, request, now);
    if (to == fleet_.size()) {
      undecoded_.push_back(request);
      return;
    }
    record.replica = static_cast<std::int32_t>(to);
    act(to, now, [&](Engine& e) { e.expect(request, record.first_token); });
  }

  std::uint32_t attempt(std::uint32_t request) const {
    return static_cast<std::uint32_t>(result_.records[request].retries);
  }

  void transferred(std::uint32_t request, SimTime now) {
    RequestRecord& record = result_.records[request];
    record.transfer = now - record.first_token;
    const auto from = static_cast<std::size_t>(record.prefill_replica);
    // A request is computed again only where an engine fails.
    act(from, now, [&](Engine& e) { e.release(request, config_.failures.any()); });
    end_draining(from, now);
    act(static_cast<std::size_t>(record.replica), now,
        [&](Engine& e) { e.continue_with(request); });
  }

  // ---- the fleet ----

  void come_up(std::size_t i, SimTime now) {
    fleet_.set(i, EngineStatus::kUp, now);
    expect_failure(i, now);
    const bool decodes = fleet_.pool(i).replica.role == Role::kDecode;
    std::deque<std::uint32_t> parked;
    parked.swap(decodes ? undecoded_ : parked_);
    for (std::uint32_t request : parked)
      decodes ? send_to_decode(request, now) : send(request, now);
  }

  void expect_failure(std::size_t i, SimTime now) {
    const double mean = config_.failures.mean_time.value();
    if (mean <= 0) return;
    constexpr double kLatest = 105 * 86400.0;  // simulated time ends before the failures after
    const double after = failure_draws_[i].exponential() * mean;
    if (now.seconds() + after < kLatest)
      events_.push(now + sim_seconds(after), EventKind::kFailed, i, fleet_.life(i));
  }

  // The engine that fails at the k-th given time: of those up in turn, those that prefill first.
  void fail_given(std::size_t k, SimTime now) {
    std::vector<std::uint32_t> up;
    for (Role role : {Role::kServe, Role::kPrefill, Role::kDecode})
      up.insert(up.end(), fleet_.places(role).begin(), fleet_.places(role).end());
    if (!up.empty()) fail(up[k % up.size()], now);
  }

  void fail(std::size_t i, SimTime now) {
    ++result_.failures;
    std::vector<std::uint32_t> lost;
    fleet_.at(i).list_requests(lost);
    fleet_.set(i, EngineStatus::kFailed, now);
    events_.push(now + restart_, EventKind::kRestarted, i, 0);
    if (disaggregated_) {
      links_.forget(i, now);
      withdraw(lost, i, now);
    }
    for (std::uint32_t request : lost) {
      RequestRecord& record = result_.records[rounds_->of_load(request)];
      if (++record.retries > kMostRetries) {
        throw Infeasible(fmt::format(
            "failures: engines fail so often that a request began {} times and did not end",
            kMostRetries));
      }
      if (!rounds_->several()) {
        record.scheduled = record.first_token = {};
        record.cached = 0;
      }
      send(request, now);
    }
  }

  // Requests that engine `failed` lost give back what they have on the other engine: the KV cache
  // of the prompt where it was computed, or the blocks that wait for it where it would decode.
  void withdraw(const std::vector<std::uint32_t>& lost, std::size_t failed, SimTime now) {
    std::vector<std::size_t> others;
    for (std::uint32_t request : lost) {
      const RequestRecord& record = result_.records[request];
      if (record.first_token == SimTime{}) continue;  // its prompt was not yet computed
      --decoding_;
      if (std::erase(undecoded_, request) > 0) continue;
      const bool prefilled = static_cast<std::size_t>(record.prefill_replica) == failed;
      const auto other =
          static_cast<std::size_t>(prefilled ? record.replica : record.prefill_replica);
      // The engine that prefilled may have failed since the KV cache left it.
      if (!fleet_.runs(other) || !fleet_.at(other).abandon(request)) continue;
      others.push_back(other);
    }
    for (std::size_t other : others) {
      if (!fleet_.runs(other)) continue;  // drained
      act(other, now, [](Engine&) {});
      end_draining(other, now);
    }
  }

  // Requests that the engines of a pool serve or will serve.
  FleetScaling::Demand demand(std::size_t pool) const {
    const auto parked = static_cast<std::int64_t>(parked_.size());
    if (pools_[pool].replica.role != Role::kDecode) return {outstanding_ - decoding_, parked};
    return {decoding_, static_cast<std::int64_t>(undecoded_.size())};
  }

  void count_engines() {
    result_.most_engines = std::max(result_.most_engines, scaling_.present());
  }

  // ---- what engines tell ----

  void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) override {
    RequestRecord& record = result_.records[request];
    record.scheduled = now;
    record.cached = cached;
  }
  void evicted(std::uint32_t request) override { ++result_.records[request].evictions; }
  void stalled(std::uint32_t request) override { ++result_.records[request].stalls; }
  void token(std::uint32_t request, SimTime now, SimTime before, bool first) override {
    if (first) {
      result_.records[request].first_token = now;
    } else {
      result_.gaps.add(now - before);
    }
  }
  void tokens_in_turn(const Replica&, const TokensInTurn& all) override { result_.gaps.add(all); }
  void tokens(const Replica&, std::int64_t sequences, SimTime now, SimTime before) override {
    result_.gaps.add(now - before, sequences);
  }
  void tokens_of(const Replica&, std::int64_t sequences, SimTime now, SimTime before,
                 const TokenGaps& between) override {
    result_.gaps.add(now - before, sequences);
    result_.gaps.add(between, sequences);
  }
  void finished(std::uint32_t request, SimTime now) override {
    RequestRecord& record = result_.records[request];
    record.finished = now;
    record.outcome = Outcome::kDone;
    result_.end = std::max(result_.end, now);
    admission_.end(request, now);
    --outstanding_;
    if (disaggregated_ && record.output > 1) --decoding_;
  }
  void prefilled(std::uint32_t request, SimTime) override {
    prefilled_.push_back(request);
    ++decoding_;
  }
  void allocated(std::uint32_t request, SimTime now, std::int32_t tokens) override {
    const RequestRecord& r = result_.records[request];
    const KvLinks::Booking b =
        links_.book(static_cast<std::size_t>(r.prefill_replica),
                    static_cast<std::size_t>(r.replica), tokens, r.scheduled, r.first_token, now);
    ++result_.transfers;
    result_.transferred_tokens += tokens;
    result_.link_time += b.duration.time();
    events_.push(b.end, EventKind::kTransferred, request, attempt(request));
  }

  std::unique_ptr<Rounds> make_rounds(const RequestLoad& load) {
    if (!config_.beams.on()) return single_rounds(load, *this);
    const EngineProfile& engine = config_.replica.engine;
    return beam_rounds(
        BeamSearch(load, config_.beams, static_cast<std::int32_t>(engine.memory.block_size),
                   config_.seed),
        sim_time(engine.execution.beam_overhead), *this, [this](SimTime time, std::uint32_t beam) {
          events_.push(time, EventKind::kBeam, beam, 0);
        });
  }

  SimulationConfig config_;
  std::unique_ptr<Rounds> rounds_;
  const RequestLoad& load_;  // of rounds_
  std::vector<PoolConfig> pools_;
  SimTime refresh_, restart_;
  bool disaggregated_;
  std::unique_ptr<Router> router_, decode_router_;
  EventQueue events_;
  std::vector<StepWindows> windows_;  // of each pool, if they are asked for
  Fleet fleet_;
  FleetScaling scaling_;
  KvLinks links_;
  std::vector<RandomStream> failure_draws_;
  Admission admission_;
  WorkMeter::Requests entered_;
  std::int64_t outstanding_ = 0;
  std::int64_t decoding_ = 0;  // disaggregated: requests whose prompt is computed
  std::vector<std::uint32_t> prefilled_;
  bool looking_ = false;                 // a look is coming
  std::deque<std::uint32_t> parked_;     // while no engine takes requests
  std::deque<std::uint32_t> undecoded_;  // prefilled, while no engine takes requests to decode
  std::vector<EngineView> fitting_;
  std::vector<std::uint32_t> fitting_places_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          std::span<StepTimer* const> timers) {
  if (timers.size() != config.pools()) throw std::logic_error("simulate: one timer for each pool");
  check(config, load);
  if (config.meter) config.meter->requests.all += static_cast<std::int64_t>(load.requests.size());
  auto router = make_router(config.router, config.seed);
  auto decode_router = make_router(config.decode_router, config.seed + 1);
  if (BlindRouter* blind = independent_router(config, load, *router, timers))
    return simulate_independently(config, load, timers, *blind);
  return Simulation(config, load, timers, std::move(router), std::move(decode_router)).run();
}

SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          StepTimer& timer) {
  const std::vector<StepTimer*> timers(config.pools(), &timer);
  return simulate(config, load, timers);
}

}  // namespace orrery
