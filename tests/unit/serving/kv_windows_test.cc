// KV blocks outside of a sliding window, counted by hand. Blocks of 4 tokens; a group that sees
// everything and one with a window of 8, so that a row is two blocks; steps of at most 8 tokens.
#include <gtest/gtest.h>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/schedulers/scheduler.h"

namespace orrery {
namespace kv_windows_test {

// An engine whose steps are done at once.
class Engine {
 public:
  Engine(std::int64_t blocks, RequestLoad load)
      : load_(std::move(load)), state(profile_, blocks, load_, groups()) {
    scheduler_ = make_scheduler({profile_.scheduler});
  }
  static EngineProfile profile(const char* policy = "vllm") {
    EngineProfile e;
    e.memory.block_size = 4;
    e.scheduler.max_num_batched_tokens = 8;
    e.scheduler.policy = policy;
    return e;
  }
  static KvOptions groups() {
    KvOptions kv;
    kv.groups = {1, 1, 8};
    return kv;
  }

  // Blocks in use after a step was planned.
  std::int64_t step() {
    StepPlan plan;
    scheduler_->plan(state, plan);
    for (const Work& w : plan.work) {
      Sequence& s = state.at(w.slot);
      state.kv.compute(s, w.new_tokens);
      if (s.computed == s.tokens) ++s.tokens, ++s.made;
    }
    return state.kv.pool().size() - state.kv.pool().free();
  }
  void finish(Slot slot) {
    state.queues.running.clear();
    state.leave(slot, false);
  }

 private:
  const EngineProfile profile_ = profile();
  RequestLoad load_;

 public:
  EngineState state;

 private:
  std::unique_ptr<Scheduler> scheduler_;
};

// Prompts of the given numbers of tokens, with an id for each 4 tokens. The first `shared` ids are
// common to all.
RequestLoad prompts(std::vector<std::pair<std::int32_t, std::uint32_t>> tokens_and_shared) {
  RequestLoad load;
  load.id_tokens = 4;
  std::uint64_t fresh = 1000;
  for (const auto& [tokens, shared] : tokens_and_shared) {
    Request r;
    r.input = tokens;
    r.output = 10;
    r.first_id = static_cast<std::uint32_t>(load.ids.size());
    r.ids = static_cast<std::uint32_t>(tokens / 4);
    for (std::uint32_t i = 0; i < r.ids; ++i) load.ids.push_back(i < shared ? i + 1 : ++fresh);
    load.requests.push_back(r);
  }
  return load;
}

//   computed before  outside      rows then  blocks
//          0         0            2          4
//          8         1 token      4          8
//         16         9: 2 rows    5          10 - 2
//         20         13: 3 rows   6          12 - 3
//         21, 22     15: 3 rows   6          12 - 3
//         23         16: 4 rows   6          12 - 4
//         24         17: 4 rows   7          14 - 4
TEST(KvWindows, BlocksGoBackAsTheWindowMovesOn) {
  Engine e(40, prompts({{20, 0}}));
  e.state.enter(0, 10);
  for (std::int64_t used : {4, 8, 8, 9, 9, 9, 8, 10}) EXPECT_EQ(e.step(), used);
  e.finish(0);
  EXPECT_EQ(e.state.kv.pool().free(), 40);
}

// A prefix needs the rows of its last 7 tokens from the windowed group, all from the other.
TEST(KvWindows, APrefixNeedsItsLastWindowAlone) {
  Engine e(40, prompts({{20, 5}, {24, 5}, {24, 3}, {24, 2}}));
  e.state.enter(0, 10);
  for (int i = 0; i < 4; ++i) e.step();
  e.finish(0);
  EXPECT_EQ(e.state.kv.cached_prompt(1), 20);
  EXPECT_EQ(e.state.kv.cached_prompt(2), 12);  // given back, not forgotten yet
  const Slot slot = e.state.enter(1, 10);
  EXPECT_EQ(e.step(), 7 + 2);  // 5 rows of one group and 2 of the other, and a new row
  EXPECT_EQ(e.state.at(slot).found, 20);
}

// 12 blocks. The first prompt gives rows 1 and 0 back before it ends, so that they are taken first.
TEST(KvWindows, RowsGivenBackAreForgottenFirst) {
  Engine e(12, prompts({{20, 5}, {8, 0}, {24, 5}, {24, 3}, {24, 2}}));
  e.state.enter(0, 1);
  for (int i = 0; i < 3; ++i) e.step();
  e.finish(0);
  EXPECT_EQ(e.state.kv.cached_prompt(4), 8);
  e.state.enter(1, 1);
  EXPECT_EQ(e.step(), 4);                      // two unused blocks and these
  EXPECT_EQ(e.state.kv.cached_prompt(2), 20);  // rows 3 and 4 are there
  EXPECT_EQ(e.state.kv.cached_prompt(3), 0);   // row 2 is, row 1 is not
  EXPECT_EQ(e.state.kv.cached_prompt(4), 0);
}

class Milliseconds : public StepTimer {
 public:
  SimTime time(const StepShape&) override { return sim_seconds(1e-3); }
};

SimulationResult serve(const KvGroups& groups, std::int64_t blocks) {
  SimulationConfig c;
  c.replica.engine = Engine::profile();
  c.replica.kv.groups = groups;
  c.replica.kv_blocks = blocks;
  RequestLoad load;
  load.requests.resize(2);
  for (Request& r : load.requests) r.input = 100, r.output = 301;
  Milliseconds timer;
  return simulate(c, load, timer);
}

// 400 tokens are 100 rows. Windowed, 5 of them at most: 7 + 8 tokens are 4 rows, and one that a
// window begins in.
TEST(KvWindows, WhatFitsIsCountedAsItIsHeld) {
  EXPECT_EQ(serve({1, 1, 8}, 104).records[0].outcome, Outcome::kNeverFits);
  const SimulationResult alone = serve({1, 1, 8}, 105);
  EXPECT_EQ(alone.records[0].outcome, Outcome::kDone);
  EXPECT_EQ(alone.records[1].outcome, Outcome::kDone);
  EXPECT_EQ(serve({2, 0, 0}, 199).records[0].outcome, Outcome::kNeverFits);
  // While decoding, a sequence holds 3 rows of the windowed group, so that two sequences fit.
  const SimulationResult both = serve({1, 1, 8}, 208);
  EXPECT_EQ(both.records[0].evictions + both.records[1].evictions, 0);
  EXPECT_EQ(both.records[0].outcome, Outcome::kDone);
  EXPECT_GT(alone.records[0].evictions + alone.records[1].evictions, 0);
}

// SGLang: 100 blocks for the layers without a window, half as many for those with one.
TEST(KvWindows, APoolOfTheirOwn) {
  const KvGroups two{1, 1, 8, 0.5};
  const EngineProfile profile = Engine::profile("sglang");
  KvOptions kv;
  kv.groups = two;
  RequestLoad load = prompts({{20, 5}, {24, 5}, {24, 3}});
  EngineState state(profile, 40, load, kv);
  const auto scheduler = make_scheduler({profile.scheduler});
  const auto step = [&] {
    StepPlan plan;
    scheduler->plan(state, plan);
    for (const Work& w : plan.work) {
      Sequence& s = state.at(w.slot);
      state.kv.compute(s, w.new_tokens);
      if (s.computed == s.tokens) ++s.tokens, ++s.made;
    }
    return std::pair(state.kv.pool().size() - state.kv.pool().free(),
                     state.kv.window_pool()->size() - state.kv.window_pool()->free());
  };
  const auto used = [](int full, int windowed) {
    return std::pair(std::int64_t{full}, std::int64_t{windowed});
  };
  EXPECT_EQ(state.kv.window_pool()->size(), 20);
  state.enter(0, 20);
  EXPECT_EQ(step(), used(5, 2));  // its whole prompt, and the first chunk of 8
  EXPECT_EQ(step(), used(5, 4));  // 8 computed: token 8 sees 1 to 8
  EXPECT_EQ(step(), used(5, 3));  // 16: 9 outside, 2 rows
  EXPECT_EQ(step(), used(6, 4));  // 20: a third row is outside, but a window has not passed
  for (int computed = 21; computed < 24; ++computed) EXPECT_EQ(step(), used(6, 4));
  EXPECT_EQ(step(), used(7, 3));  // 24: 17 outside, 4 rows of 7
  for (int computed = 25; computed < 28; ++computed) EXPECT_EQ(step(), used(7, 3));
  EXPECT_EQ(step(), used(8, 4));
  state.queues.running.clear();
  state.leave(0, false);
  EXPECT_EQ(state.kv.pool().free(), 40);
  EXPECT_EQ(state.kv.window_pool()->free(), 20);
  EXPECT_EQ(state.kv.cached_prompt(1), 20);  // its last window is still there
}

SimulationResult serve_sglang(const KvGroups& groups, std::int64_t blocks, int requests) {
  SimulationConfig c;
  c.replica.engine = Engine::profile("sglang");
  c.replica.kv.groups = groups;
  c.replica.kv_blocks = blocks;
  RequestLoad load;
  load.requests.resize(static_cast<std::size_t>(requests));
  for (Request& r : load.requests) r.input = 6, r.output = 60;
  Milliseconds timer;
  return simulate(c, load, timer);
}

// Sequences of 65 tokens hold 17 rows of one pool and at most 5 of the other.
TEST(KvWindows, TheSmallerOfTwoPoolsDecides) {
  const auto evictions = [](const SimulationResult& r) {
    std::int64_t n = 0;
    for (const RequestRecord& q : r.records) {
      EXPECT_EQ(q.outcome, Outcome::kDone);
      n += q.evictions;
    }
    return n;
  };
  EXPECT_EQ(evictions(serve_sglang({1, 1, 8, 0.5}, 17 * 20, 20)), 0);
  // Room for all in the first, for four windows in the second: nobody is lost, nothing hangs.
  EXPECT_GT(evictions(serve_sglang({1, 1, 8, 0.06}, 17 * 20, 20)), 0);
  EXPECT_EQ(serve_sglang({1, 1, 8, 0.005}, 17 * 20, 1).records[0].outcome, Outcome::kNeverFits);
}

}  // namespace kv_windows_test
}  // namespace orrery
