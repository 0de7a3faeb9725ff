#include "orrery/serving/cluster/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "orrery/base/error.h"
#include "orrery/serving/cluster/admission.h"
#include "orrery/serving/cluster/event_queue.h"
#include "orrery/serving/cluster/independent_engines.h"
#include "orrery/serving/cluster/rounds.h"

namespace orrery {
namespace {

constexpr int kMostRetries = 10'000;          // of a request
constexpr std::uint32_t kGiven = UINT32_MAX;  // the life of an engine that fails at a given time

std::vector<PoolConfig> pools_of(const SimulationConfig& config) {
  std::vector<PoolConfig> pools = {config};
  pools.insert(pools.end(), config.others.begin(), config.others.end());
  return pools;
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
        disaggregated_(disaggregated(config)),
        router_(std::move(router)),
        decode_router_(std::move(decode_router)),
        autoscaler_(make_autoscaler(config.autoscale)),
        fleet_(pools_, timers, autoscaler_ ? config.autoscale.most : 0, load_, rounds_->observer(),
               config.steps),
        links_(config.transfer, fleet_.size()),
        admission_(config_, load_, load.requests.size()) {
    result_.records.resize(load.requests.size());
  }

  SimulationResult run() {
    if (autoscaler_) events_.push(config_.autoscale.interval, EventKind::kScale, 0, 0);
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      failure_draws_.emplace_back(config_.seed, fmt::format("failures/{}", i));
      if (fleet_.status(i) == EngineStatus::kUp) expect_failure(i, {});
    }
    for (std::size_t k = 0; k < config_.failures.at.size(); ++k)
      events_.push(config_.failures.at[k], EventKind::kFailed, k, kGiven);
    count_engines();
    if (config_.router_refresh.ps > 0) fleet_.look();
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
    result_.engine_time = fleet_.engine_time(result_.end);
    result_.gpu_time = fleet_.gpu_time(result_.end);
    return std::move(result_);
  }

 private:
  bool working() const { return outstanding_ > 0 || !admission_.empty(); }

  // ---- requests ----

  void enter(SimTime now) {
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
        if (!fits(engines[i].config(), arrival.request)) continue;
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
    if (looking_) events_.push(now + config_.router_refresh, EventKind::kLook, 0, 0);
  }
  void look_again(SimTime now) {
    const std::int64_t every = config_.router_refresh.ps;
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
        transferred(event.id, event.time);
        break;
      case EventKind::kScale:
        scale(event.time);
        break;
      case EventKind::kLook:
        look(event.time);
        break;
      case EventKind::kFailed:
        if (event.life == kGiven) {
          const auto up = fleet_.places(Role::kServe);
          if (!up.empty()) fail(up[event.id % up.size()], event.time);
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
    push_end(i);
    // Prompts that it has computed continue on an engine that decodes.
    for (std::uint32_t request : prefilled_) {
      const std::size_t to = choose(*decode_router_, Role::kDecode, request, now);
      result_.records[request].replica = static_cast<std::int32_t>(to);
      act(to, now, [&](Engine& d) { d.expect(request, now); });
    }
    prefilled_.clear();
    if (fleet_.status(i) == EngineStatus::kDraining && e.outstanding() == 0)
      fleet_.set(i, EngineStatus::kOff, now);
  }

  void transferred(std::uint32_t request, SimTime now) {
    RequestRecord& record = result_.records[request];
    record.transfer = now - record.first_token;
    act(static_cast<std::size_t>(record.prefill_replica), now,
        [&](Engine& e) { e.release(request); });
    act(static_cast<std::size_t>(record.replica), now,
        [&](Engine& e) { e.continue_with(request); });
  }

  // ---- the fleet ----

  void come_up(std::size_t i, SimTime now) {
    fleet_.set(i, EngineStatus::kUp, now);
    expect_failure(i, now);
    std::deque<std::uint32_t> parked;
    parked.swap(parked_);
    for (std::uint32_t request : parked) send(request, now);
  }

  void expect_failure(std::size_t i, SimTime now) {
    const double mean = config_.failures.mean_time.value();
    if (mean <= 0) return;
    constexpr double kLatest = 105 * 86400.0;  // simulated time ends before the failures after
    const double after = failure_draws_[i].exponential() * mean;
    if (now.seconds() + after < kLatest)
      events_.push(now + sim_seconds(after), EventKind::kFailed, i, fleet_.life(i));
  }

  void fail(std::size_t i, SimTime now) {
    ++result_.failures;
    std::vector<std::uint32_t> lost;
    fleet_.at(i).list_requests(lost);
    fleet_.set(i, EngineStatus::kFailed, now);
    events_.push(now + config_.failures.restart, EventKind::kRestarted, i, 0);
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

  void scale(SimTime now) {
    events_.push(now + config_.autoscale.interval, EventKind::kScale, 0, 0);
    FleetLoad load;
    load.engines = present();
    load.outstanding = outstanding_;
    load.waiting = static_cast<std::int64_t>(parked_.size());
    const auto up = fleet_.up(Role::kServe);
    for (std::uint32_t i : fleet_.places(Role::kServe)) {
      load.waiting += fleet_.at(i).waiting();
      load.kv_use += fleet_.at(i).kv_use() / static_cast<double>(up.size());
    }
    const Autoscale& a = config_.autoscale;
    const std::int64_t wanted = std::clamp(autoscaler_->wanted(load), a.least, a.most);
    if (wanted > load.engines) {
      grow(wanted - load.engines, now);
    } else if (wanted < load.engines && (changed_ == SimTime{} || now - changed_ >= a.cool_down)) {
      shrink(load.engines - wanted, now);
    }
    count_engines();
  }

  void grow(std::int64_t by, SimTime now) {
    changed_ = now;
    for (; by > 0; --by) {
      const std::size_t draining = fleet_.first(EngineStatus::kDraining);
      if (draining < fleet_.size()) {
        fleet_.set(draining, EngineStatus::kUp, now);
        continue;
      }
      const std::size_t off = fleet_.first(EngineStatus::kOff);
      if (off == fleet_.size()) return;
      ++result_.starts;
      fleet_.set(off, EngineStatus::kStarting, now);
      events_.push(now + config_.autoscale.start_up, EventKind::kStarted, off, 0);
    }
  }

  void shrink(std::int64_t by, SimTime now) {
    for (; by > 0 && fleet_.count(EngineStatus::kUp) > 1; --by) {
      const std::size_t i = fleet_.last(EngineStatus::kUp);
      changed_ = now;
      fleet_.set(i, EngineStatus::kDraining, now);
      if (fleet_.at(i).outstanding() == 0) fleet_.set(i, EngineStatus::kOff, now);
    }
  }

  // Number of engines that serve, start or restart.
  std::int64_t present() const {
    return fleet_.count(EngineStatus::kUp) + fleet_.count(EngineStatus::kStarting) +
           fleet_.count(EngineStatus::kFailed);
  }
  void count_engines() { result_.most_engines = std::max(result_.most_engines, present()); }

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
  void tokens(const Replica&, std::int64_t sequences, SimTime now, SimTime before) override {
    result_.gaps.add(now - before, sequences);
  }
  void finished(std::uint32_t request, SimTime now) override {
    RequestRecord& record = result_.records[request];
    record.finished = now;
    record.outcome = Outcome::kDone;
    result_.end = std::max(result_.end, now);
    admission_.end(request, now);
    --outstanding_;
  }
  void prefilled(std::uint32_t request, SimTime) override { prefilled_.push_back(request); }
  void allocated(std::uint32_t request, SimTime now, std::int32_t tokens) override {
    const RequestRecord& r = result_.records[request];
    const KvLinks::Booking b =
        links_.book(static_cast<std::size_t>(r.prefill_replica),
                    static_cast<std::size_t>(r.replica), tokens, r.scheduled, r.first_token, now);
    ++result_.transfers;
    result_.transferred_tokens += tokens;
    result_.link_time += b.duration.time();
    events_.push(b.end, EventKind::kTransferred, request, 0);
  }

  std::unique_ptr<Rounds> make_rounds(const RequestLoad& load) {
    if (!config_.beams.on()) return single_rounds(load, *this);
    return beam_rounds(
        BeamSearch(load, config_.beams, config_.replica.limits.block_size, config_.seed),
        config_.beams.overhead, *this, [this](SimTime time, std::uint32_t beam) {
          events_.push(time, EventKind::kBeam, beam, 0);
        });
  }

  SimulationConfig config_;
  std::unique_ptr<Rounds> rounds_;
  const RequestLoad& load_;  // of rounds_
  std::vector<PoolConfig> pools_;
  bool disaggregated_;
  std::unique_ptr<Router> router_, decode_router_;
  std::unique_ptr<Autoscaler> autoscaler_;
  Fleet fleet_;
  KvLinks links_;
  std::vector<RandomStream> failure_draws_;
  EventQueue events_;
  Admission admission_;
  std::int64_t outstanding_ = 0;
  SimTime changed_;  // when the fleet last did
  std::vector<std::uint32_t> prefilled_;
  bool looking_ = false;              // a look is coming
  std::deque<std::uint32_t> parked_;  // while no engine takes requests
  std::vector<EngineView> fitting_;
  std::vector<std::uint32_t> fitting_places_;
  SimulationResult result_;
};

}  // namespace

SimulationResult simulate(const SimulationConfig& config, const RequestLoad& load,
                          std::span<StepTimer* const> timers) {
  if (timers.size() != config.pools()) throw std::logic_error("simulate: one timer for each pool");
  check(config, load);
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
