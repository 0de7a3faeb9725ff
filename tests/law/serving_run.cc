#include "tests/law/serving_run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "orrery/serving/schedulers/scheduler.h"
#include "tests/scheduler_keys.h"

namespace orrery::serving_run {
namespace {

class Timer : public StepTimer {
 public:
  explicit Timer(EngineRun& run) : run_(run) {}
  SimTime time(const StepShape& step) override {
    run_.steps.push_back(text_of(step));
    return {step_ps(step)};
  }

 private:
  EngineRun& run_;
};

class Observer : public ReplicaObserver {
 public:
  explicit Observer(EngineRun& run) : run_(run) {}
  void scheduled(std::uint32_t request, SimTime now, std::int32_t cached) override {
    run_.admitted.push_back(request);
    run_.requests[request].scheduled = now;
    run_.requests[request].cached = cached;
  }
  void evicted(std::uint32_t request) override {
    run_.evicted.push_back(request);
    ++run_.requests[request].evictions;
  }
  void stalled(std::uint32_t request) override { ++run_.requests[request].stalls; }
  void token(std::uint32_t request, SimTime now, SimTime before, bool first) override {
    auto& tokens = run_.requests[request].tokens;
    if (first != tokens.empty() || (!first && before != tokens.back()))
      throw std::logic_error("a token out of order");
    tokens.push_back(now);
  }
  void tokens(const Replica& from, std::int64_t sequences, SimTime now, SimTime before) override {
    std::vector<std::uint32_t> requests;
    from.state().decode_group.list_ending(from.state(), requests);
    if (static_cast<std::int64_t>(requests.size()) != sequences)
      throw std::logic_error("other sequences than counted");
    for (std::uint32_t r : requests) token(r, now, before, false);
  }
  void finished(std::uint32_t request, SimTime now) override {
    run_.requests[request].finished = true;
    run_.end = now;
  }
  void prefilled(std::uint32_t, SimTime) override {}
  void allocated(std::uint32_t, SimTime, std::int32_t) override {}

 private:
  EngineRun& run_;
};

}  // namespace

std::string text_of(const StepShape& s) {
  std::string text = fmt::format("{} decodes of {}", s.decodes, s.decode_past);
  for (const PromptChunk& c : s.chunks)
    text += fmt::format(", {} after {}{}", c.new_tokens, c.past, c.sampled ? "" : " ..");
  return text;
}

Case random_case(std::mt19937_64& random, const std::string& scheduler) {
  const auto draw = [&](int least, int most) {
    return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  Case c;
  c.config.engine.scheduler.policy = scheduler;
  EngineProfile::Scheduler& l = c.config.engine.scheduler;
  const int block = draw(1, 6);
  c.config.engine.memory.block_size = block;
  l.max_num_batched_tokens = draw(4, 50);
  l.max_num_seqs = draw(1, 8);
  c.threshold = draw(0, 3) == 0 ? draw(1, 20) : 0;
  set_keys(l, fmt::format("long_prefill_token_threshold: {}", c.threshold));
  l.chunked_prefill = draw(0, 3) > 0;
  const int order = draw(0, 3);
  l.order = order == 0 ? QueueOrder::kPriority : order == 1 ? QueueOrder::kSjf : QueueOrder::kFcfs;
  c.config.engine.scheduler.async_scheduling = draw(0, 1) == 1;
  c.config.engine.scheduler.prefix_caching = draw(0, 1) == 1;

  // Prompts are paths in a small tree, so that they share beginnings.
  const int requests = draw(1, 14), spread = draw(1, 400'000);
  c.load.id_tokens = draw(1, 5);
  std::int64_t now = 0, most = 0;
  for (int i = 0; i < requests; ++i) {
    Request r;
    now += draw(0, 2) == 0 ? 0 : draw(0, spread);
    r.arrival = {now};
    r.input = draw(0, 4) == 0 ? draw(1, 90) : draw(1, 25);
    r.output = draw(1, 25);
    r.priority = draw(0, 2);
    r.first_id = static_cast<std::uint32_t>(c.load.ids.size());
    r.ids = static_cast<std::uint32_t>(draw(0, r.input / c.load.id_tokens));
    std::uint64_t node = 1;
    for (std::uint32_t k = 0; k < r.ids; ++k) {
      node = node * 8 + static_cast<std::uint64_t>(draw(0, 3) == 0);
      c.load.ids.push_back(node);
    }
    most = std::max<std::int64_t>(most, r.input + r.output - 1);
    c.load.requests.push_back(r);
  }
  // Just enough for the longest, up to several times as much.
  c.config.kv_blocks = (most + block - 1) / block + draw(0, draw(0, 60));
  return c;
}

EngineRun run(const Case& c) {
  EngineRun out;
  out.requests.resize(c.load.requests.size());
  Timer timer(out);
  Observer observer(out);
  Engine engine(c.config, c.load, timer, observer);
  std::uint32_t next = 0;
  while (next < c.load.requests.size() || engine.next() != kNever) {
    const SimTime arrival = next < c.load.requests.size() ? c.load.requests[next].arrival : kNever;
    SimTime now = engine.next();
    if (arrival <= now) {
      now = arrival;
      engine.enter(next++);
    } else {
      engine.end_step();
    }
    engine.dispatch(now);
  }
  out.busy = sim_time(engine.counts().busy).ps;
  out.prompt_tokens = engine.counts().prompt_tokens;
  out.free_blocks = engine.ranks().front().state().kv.pool().free();
  return out;
}

Service random_service(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int least, int most) {
    return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  const auto scheduler = [&] {
    const auto& kinds = scheduler_kinds();
    return std::string(kinds[static_cast<std::size_t>(draw(0, 100)) % kinds.size()].name);
  };
  Service s;
  Case c = random_case(random, scheduler());
  const int requests = draw(1, 120), spread = draw(1, 400'000);
  std::int64_t now = c.load.requests.back().arrival.ps;
  for (int i = 0; i < requests; ++i) {
    Request r;
    r.arrival = {now += draw(0, 2) == 0 ? 0 : draw(0, spread)};
    r.input = draw(1, 90);
    r.output = draw(1, 40);
    r.session = draw(-1, 9);
    c.load.requests.push_back(r);
  }
  s.load = c.load;
  s.config.replica = c.config;
  s.config.replicas = draw(1, 5);
  s.config.replica.plan.tp = draw(1, 4);
  s.config.seed = seed;
  constexpr const char* kBlind[] = {"round-robin", "random", "session"};
  s.config.router = kBlind[draw(0, 2)];
  s.config.router_refresh = picoseconds(draw(0, 1) * 1'000'000);
  s.config.window = {1 + 10 * static_cast<std::int64_t>(seed)};
  s.config.replica.engine.execution.frontend_per_request =
      picoseconds(draw(0, 1) * draw(0, 100'000));
  s.config.replica.engine.execution.request_overhead = picoseconds(draw(0, 1) * draw(0, 1'000'000));
  s.config.replica.engine.execution.overhead_per_prompt_token =
      picoseconds(draw(0, 1) * draw(0, 10'000));
  if (draw(0, 3) == 0) s.config.replica.kv.max_model_len = 100;
  if (draw(0, 2) == 0) {
    s.config.replica.engine.scheduler.async_scheduling = false;
    s.config.replica.plan.pp = 2;
  } else if (draw(0, 2) == 0) {
    s.config.replica.plan.dp = draw(2, 3);
  } else if (draw(0, 2) == 0) {
    s.config.replica.speculation.drafts = draw(1, 4);
  }
  const int pools = draw(0, 3) == 0 ? draw(1, 2) : 0;
  for (int i = 0; i < pools; ++i) {
    PoolConfig other = s.config;
    other.replica.engine.scheduler.policy = scheduler();
    other.replicas = draw(1, 3);
    other.replica.kv_blocks += draw(-20, 20);
    other.replica.kv_blocks = std::max<std::int64_t>(other.replica.kv_blocks, 1);
    s.config.others.push_back(other);
  }
  return s;
}

void expect_same(const SimulationResult& a, const SimulationResult& b, std::uint64_t seed) {
  ASSERT_EQ(a.records.size(), b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i)
    ASSERT_TRUE(a.records[i] == b.records[i]) << "seed " << seed << ", request " << i;
  ASSERT_EQ(a.replicas.size(), b.replicas.size());
  for (std::size_t i = 0; i < a.replicas.size(); ++i)
    ASSERT_TRUE(a.replicas[i] == b.replicas[i]) << "seed " << seed << ", engine " << i;
  ASSERT_TRUE(a.gaps == b.gaps) << "seed " << seed;
  ASSERT_EQ(a.end, b.end) << "seed " << seed;
  ASSERT_EQ(a.engine_time(), b.engine_time()) << "seed " << seed;
  ASSERT_EQ(a.gpu_time, b.gpu_time) << "seed " << seed;
  ASSERT_EQ(a.most_engines, b.most_engines) << "seed " << seed;
  ASSERT_TRUE(a.windows == b.windows) << "seed " << seed;
}

}  // namespace orrery::serving_run
