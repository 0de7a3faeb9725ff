#include "orrery/serving/cluster/independent_engines.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "orrery/serving/cluster/admission.h"

namespace orrery {
namespace {

struct Entry {
  SimTime time;
  std::uint32_t request;
};

struct IndependentEngine {
  const PoolConfig* pool = nullptr;
  std::size_t pool_index = 0;
  std::vector<Entry> entries;
  ReplicaCounts counts;
};

// Observes all engines that one worker simulates.
struct alignas(64) Tally : ReplicaObserver {
  Tally(std::vector<RequestRecord>& all, std::vector<StepWindows> none, WorkMeter* meter)
      : records(all), windows(std::move(none)), entered(meter) {}

  void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) override {
    records[request].scheduled = now;
    records[request].cached = cached;
  }
  void evicted(std::uint32_t request) override { ++records[request].evictions; }
  void stalled(std::uint32_t request) override { ++records[request].stalls; }
  void token(std::uint32_t request, SimTime now, SimTime before, bool first) override {
    if (first) {
      records[request].first_token = now;
    } else {
      gaps.add(now - before);
    }
  }
  void tokens_in_turn(const Replica&, const TokensInTurn& all) override { gaps.add(all); }
  void tokens(const Replica&, std::int64_t sequences, SimTime now, SimTime before) override {
    gaps.add(now - before, sequences);
  }
  void tokens_of(const Replica&, std::int64_t sequences, SimTime now, SimTime before,
                 const TokenGaps& between) override {
    gaps.add(now - before, sequences);
    gaps.add(between, sequences);
  }
  void finished(std::uint32_t request, SimTime now) override {
    records[request].finished = now;
    records[request].outcome = Outcome::kDone;
    end = std::max(end, now);
  }
  void prefilled(std::uint32_t, SimTime) override {}
  void allocated(std::uint32_t, SimTime, std::int32_t) override {}

  std::vector<RequestRecord>& records;
  GapHistogram gaps;
  SimTime end;
  std::vector<StepWindows> windows;  // of each pool, if they are asked for
  WorkMeter::Requests entered;
};

void run(IndependentEngine& one, std::uint32_t place, const RequestLoad& load, StepTimer& timer,
         Tally& tally) {
  Engine engine(one.pool->replica, load, timer, tally);
  if (!tally.windows.empty()) engine.count_in(&tally.windows[one.pool_index]);
  auto next = one.entries.begin();
  while (next != one.entries.end() || engine.next() != kNever) {
    if (next != one.entries.end() && next->time <= engine.next()) {
      tally.records[next->request].replica = static_cast<std::int32_t>(place);
      engine.enter(next->request);
      tally.entered.count();
      engine.dispatch(next->time);
      ++next;
    } else {
      const SimTime now = engine.next();
      engine.end_step();
      engine.dispatch(now);
      engine.go_on(next != one.entries.end() ? next->time : kNever);
    }
  }
  if (engine.outstanding() > 0)
    throw std::logic_error("simulation: requests wait and nothing runs");
  one.counts = engine.counts();
  one.entries = {};
}

// Deals all requests to engines, in the order of admission.
void deal(const SimulationConfig& config, const RequestLoad& load, BlindRouter& router,
          std::vector<IndependentEngine>& engines, std::vector<RequestRecord>& records) {
  std::vector<KvRoom> rooms;  // of the pools
  for (std::size_t p = 0; p < config.pools(); ++p) rooms.emplace_back(config.pool(p).replica);
  std::vector<std::uint32_t> fitting(engines.size());
  for (std::size_t i = 0; i < engines.size(); ++i) fitting[i] = static_cast<std::uint32_t>(i);
  Admission admission(config, load, load.requests.size());
  while (!admission.empty()) {
    const std::size_t i = admission.next();
    const SimTime now = admission.time();
    if (!admission.enter(records[i])) continue;
    const Request& r = load.requests[i];
    const auto request = static_cast<std::uint32_t>(i);
    if (!config.others.empty()) {
      fitting.clear();
      for (std::size_t k = 0; k < engines.size(); ++k) {
        if (rooms[engines[k].pool_index].takes(r)) fitting.push_back(static_cast<std::uint32_t>(k));
      }
    }
    engines[fitting[router.pick({r, request, now}, fitting.size())]].entries.push_back(
        {now, request});
  }
}

}  // namespace

BlindRouter* independent_router(const SimulationConfig& c, const RequestLoad& load, Router& router,
                                std::span<StepTimer* const> timers) {
  const auto serves = [](const PoolConfig& p) { return p.replica.role == Role::kServe; };
  std::int64_t engines = c.replicas;
  for (const PoolConfig& p : c.others) engines += p.replicas;
  if (engines < 2 || !serves(c) || !std::all_of(c.others.begin(), c.others.end(), serves) ||
      c.autoscale.on() || c.failures.any() || c.beams.on() || c.max_concurrency > 0 || c.steps ||
      !load.follow_ups.empty() || !std::all_of(timers.begin(), timers.end(), [](StepTimer* t) {
        return t->for_thread(0) != nullptr;
      }))
    return nullptr;
  return router.blind();
}

SimulationResult simulate_independently(const SimulationConfig& config, const RequestLoad& load,
                                        std::span<StepTimer* const> timers, BlindRouter& router) {
  SimulationResult result;
  result.records.resize(load.requests.size());
  std::vector<IndependentEngine> engines;
  for (std::size_t p = 0; p < config.pools(); ++p) {
    const PoolConfig& pool = config.pool(p);
    for (std::int64_t i = 0; i < pool.replicas; ++i) engines.push_back({&pool, p, {}, {}});
  }
  deal(config, load, router, engines, result.records);

  // Each worker has timers of its own and takes the next engine when it is done with one.
  const auto cores = static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
  const std::size_t workers = std::min(cores, engines.size());
  const std::vector<StepWindows> none(config.window.ps > 0 ? config.pools() : 0,
                                      StepWindows(config.window));
  std::vector<Tally> tallies(workers, Tally(result.records, none, config.meter));
  std::vector<std::vector<StepTimer*>> own(workers, {timers.begin(), timers.end()});
  for (std::size_t w = 1; w < workers; ++w) {
    for (StepTimer*& t : own[w]) t = t->for_thread(w - 1);
  }
  std::atomic<std::size_t> next = 0;
  // Isolated, so that a worker that waits for the others starts no other task meanwhile.
  tbb::this_task_arena::isolate([&] {
    tbb::parallel_for(std::size_t{0}, workers, [&](std::size_t w) {
      for (std::size_t i; (i = next++) < engines.size();) {
        run(engines[i], static_cast<std::uint32_t>(i), load, *own[w][engines[i].pool_index],
            tallies[w]);
      }
    });
  });

  result.windows = none;
  for (const Tally& t : tallies) {
    for (std::size_t p = 0; p < none.size(); ++p) result.windows[p].add(t.windows[p]);
    result.gaps.add(t.gaps);
    result.end = std::max(result.end, t.end);
  }
  for (const IndependentEngine& one : engines) {
    result.replicas.push_back(one.counts);
    result.pool_of.push_back(one.pool_index);
    result.engine_times.resize(std::max(result.engine_times.size(), one.pool_index + 1));
    result.engine_times[one.pool_index] += result.end.time();
    if (!none.empty()) result.windows[one.pool_index].add_present({}, result.end);
    result.gpu_time += result.end.time() * one.pool->replica.plan.devices();
  }
  result.most_engines = static_cast<std::int64_t>(engines.size());
  return result;
}

}  // namespace orrery
