// KV memory other than the paged pool: contiguous extents, fragmentation, the host tier.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "orrery/serving/cluster/simulation.h"
#include "orrery/serving/schedulers/scheduler.h"
#include "orrery/serving/state/cache_tiers.h"
#include "orrery/serving/state/engine_state.h"
#include "orrery/serving/state/extents.h"

namespace orrery {
namespace kv_memory_test {

// Blocks of 4 tokens; the state of a sequence takes 3 blocks with its first tokens and gives them
// back with its last.
// Blocks of four tokens.
EngineProfile profile() {
  EngineProfile e;
  e.memory.block_size = 4;
  return e;
}

TEST(KvMemory, TheStateOfASequenceStaysOfOneSize) {
  EngineProfile engine = profile();
  engine.scheduler.prefix_caching = false;
  RequestLoad load;
  KvOptions options;
  options.state_blocks = 3;
  KvMemory kv(engine, 10, load, options);
  EXPECT_EQ(kv.blocks_for(5), 3 + 2);
  Sequence s;
  ASSERT_TRUE(kv.reserve(s, 5));
  EXPECT_EQ(kv.pool().free(), 5);
  EXPECT_EQ(s.room, 8);
  ASSERT_TRUE(kv.reserve(s, 20));
  EXPECT_EQ(kv.pool().free(), 2);
  EXPECT_EQ(kv.blocks_of(s), 8);
  EXPECT_EQ(kv.slack(0), 5 * 4);  // of the rows alone
  Sequence other;
  EXPECT_FALSE(kv.reserve(other, 1));  // 4 blocks
  EXPECT_TRUE(other.state.empty());
  kv.release(s, false);
  EXPECT_EQ(kv.pool().free(), 10);
  EXPECT_TRUE(kv.reserve(other, 1));
}

// Counted blocks are as many as numbered ones, and get numbers when a sequence looks for its own.
TEST(KvMemory, CountedBlocksGetNumbersWhenOneLosesThem) {
  const EngineProfile engine = profile();
  RequestLoad load;
  load.requests.resize(3);
  for (Request& r : load.requests) r.input = 17, r.output = 3;
  EngineState counted(engine, 20, load), numbered(engine, 20, load);
  counted.kv.count_blocks();
  const auto both = [&](const auto& act) { act(counted), act(numbered); };
  std::vector<Slot> slots;
  for (std::uint32_t i = 0; i < 3; ++i) {
    both([&](EngineState& e) {
      const Slot slot = e.enter(i, 3);
      EXPECT_EQ(e.kv.cached_prefix(e.at(slot)), 0);
      EXPECT_EQ(e.admit(17), slot);
      e.kv.compute(e.at(slot), 17);
      if (slots.size() <= i) slots.push_back(slot);
    });
    EXPECT_EQ(counted.kv.pool().free(), numbered.kv.pool().free());
  }
  EXPECT_EQ(counted.kv.pool().free(), 5);
  both([&](EngineState& e) { e.leave(slots[0], false); });
  EXPECT_TRUE(counted.kv.counting());
  std::vector<Slot> evicted;
  both([&](EngineState& e) {
    e.queues.running.erase(e.queues.running.begin());
    e.evict_running(1, evicted);
    EXPECT_EQ(e.kv.cached_prompt(2), 16);
    EXPECT_EQ(e.kv.cached_prompt(1), 0);
    EXPECT_EQ(e.kv.blocks_of(e.at(slots[1])), 5);
    EXPECT_EQ(e.kv.slack(0), 3);
  });
  EXPECT_FALSE(counted.kv.counting());
  EXPECT_EQ(counted.kv.pool().free(), 15);
  // Blocks of nobody are taken before those that may be found.
  both([&](EngineState& e) {
    EXPECT_TRUE(e.kv.grow(e.at(slots[1]), 40));
    EXPECT_EQ(e.kv.cached_prompt(2), 16);
  });
}

// Once a sequence that lost its blocks has computed its tokens again, blocks need no numbers. They
// do if the cache still holds a row of it: of 16 tokens the last row is computed again.
TEST(KvMemory, BlocksAreCountedAgainWhenNobodyLooksForThem) {
  const EngineProfile engine = profile();
  for (const std::int32_t tokens : {17, 16}) {
    RequestLoad load;
    load.requests.resize(2);
    for (Request& r : load.requests) r.input = tokens, r.output = 3;
    EngineState e(engine, 20, load);
    e.kv.count_blocks();
    const auto admit = [&](std::int32_t found) {
      const Slot slot = e.queues.waiting.front();
      EXPECT_EQ(e.kv.cached_prefix(e.at(slot)), found);
      e.admit(tokens - found);
      e.kv.compute(e.at(slot), tokens - found);
      return slot;
    };
    for (std::uint32_t i = 0; i < 2; ++i) e.enter(i, 3), admit(0);
    const std::int64_t free = e.kv.pool().free(), each = (20 - free) / 2;
    std::vector<Slot> slots;
    const Slot lost = e.evict_running(1, slots);
    for (int step = 0; step < 100; ++step) e.decode_group.plan(e, slots);
    e.count_blocks_again();
    EXPECT_FALSE(e.kv.counting());
    EXPECT_EQ(admit(tokens == 17 ? 16 : 12), lost);
    e.recovered(e.at(lost));
    e.count_blocks_again();
    EXPECT_EQ(e.kv.counting(), tokens == 17);
    EXPECT_EQ(e.kv.pool().free(), free);
    EXPECT_EQ(e.kv.blocks_of(e.at(lost)), each);
    e.evict_running(0, slots);
    EXPECT_FALSE(e.kv.counting());
    EXPECT_EQ(e.kv.pool().free(), free + each);
    EXPECT_EQ(e.kv.cached_prompt(0), tokens == 17 ? 16 : 12);
    e.leave(lost, false);
    EXPECT_EQ(e.kv.pool().free(), 20);
  }
}

// Blocks that ids do not identify are found by their own request, if it lost them before its end.
TEST(KvMemory, BlocksOfARequestAloneAreFoundWhenItReturns) {
  const EngineProfile engine = profile();
  RequestLoad load;
  load.id_tokens = 4;
  load.ids = {7};
  load.requests.resize(2);
  for (Request& r : load.requests) r.input = 17, r.ids = 1;
  KvMemory kv(engine, 10, load, {});
  const auto compute = [&] {
    Sequence s;
    s.prompt = s.tokens = 17;
    s.target = 20;
    EXPECT_TRUE(kv.grow(s, 17));
    kv.compute(s, 17);
    return s;
  };
  Sequence s = compute();
  EXPECT_EQ(s.published, 4);
  EXPECT_EQ(kv.cached_prompt(0), 4);  // while it runs, what others may have
  kv.release(s, true);
  EXPECT_EQ(kv.cached_prompt(0), 16);
  EXPECT_EQ(kv.cached_prompt(1), 4);
  // Five blocks were never taken. The last of the other five, which have no hash, comes after them.
  s = compute();
  kv.release(s, false);
  EXPECT_EQ(kv.cached_prompt(0), 16);
  EXPECT_EQ(kv.pool().free(), 10);
}

TEST(Extents, FirstFitAndHolesGrowTogether) {
  Extents e(100);
  EXPECT_EQ(e.take(30), 0);
  EXPECT_EQ(e.take(30), 30);
  EXPECT_EQ(e.take(30), 60);
  EXPECT_EQ(e.take(20), -1);
  e.release(0, 30);
  e.release(60, 30);  // joins the rest behind it
  EXPECT_EQ(e.free(), 70);
  EXPECT_EQ(e.largest(), 40);
  EXPECT_EQ(e.take(50), -1);  // external fragmentation
  EXPECT_EQ(e.take(10), 0);
  e.release(30, 30);
  EXPECT_EQ(e.largest(), 90);
}

// Against a map of single blocks.
RC_GTEST_PROP(Extents, NeverOverlapAndNeverLoseABlock, ()) {
  constexpr std::int64_t kSize = 60;
  Extents e(kSize);
  std::vector<bool> taken(kSize);
  std::vector<std::pair<std::int64_t, std::int64_t>> held;
  const auto steps = *rc::gen::inRange(1, 80);
  for (int i = 0; i < steps; ++i) {
    if (held.empty() || *rc::gen::inRange(0, 2) == 0) {
      const std::int64_t n = *rc::gen::inRange(1, 25);
      const std::int64_t start = e.take(n);
      std::int64_t hole = 0, most = 0;
      for (bool b : taken) most = std::max(most, hole = b ? 0 : hole + 1);
      RC_ASSERT((start >= 0) == (most >= n));
      if (start < 0) continue;
      for (std::int64_t b = start; b < start + n; ++b) {
        RC_ASSERT(!taken[static_cast<std::size_t>(b)]);
        taken[static_cast<std::size_t>(b)] = true;
      }
      held.emplace_back(start, n);
    } else {
      const auto at = *rc::gen::inRange<std::size_t>(0, held.size());
      const auto [start, n] = held[at];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      e.release(start, n);
      for (std::int64_t b = start; b < start + n; ++b) taken[static_cast<std::size_t>(b)] = false;
    }
    RC_ASSERT(e.free() == std::count(taken.begin(), taken.end(), false));
  }
}

TEST(CacheTier, DropsTheBlockThatWasUsedLongestAgo) {
  CacheTier host(2);
  host.keep(11);
  host.keep(12);
  host.touch(11);
  host.keep(13);
  EXPECT_TRUE(host.has(11));
  EXPECT_FALSE(host.has(12));
  EXPECT_TRUE(host.has(13));
  host.keep(13);  // known already: no copy
  EXPECT_EQ(host.kept(), 3);
}

TEST(CacheTiers, WhatTheHostDropsGoesToTheDisk) {
  CacheTiers tiers(2, 2);
  for (std::uint64_t hash = 11; hash <= 13; ++hash) tiers.keep(hash);
  EXPECT_EQ(tiers.find(11), CacheTiers::kDisk);
  EXPECT_EQ(tiers.find(13), CacheTiers::kHost);
  EXPECT_EQ(tiers.find(14), CacheTiers::kTiers);
  for (std::uint64_t hash = 14; hash <= 15; ++hash) tiers.keep(hash);
  EXPECT_EQ(tiers.find(11), CacheTiers::kTiers);  // two newer ones are on the disk
  CacheTiers disk_alone(0, 1);
  disk_alone.keep(11);
  EXPECT_EQ(disk_alone.find(11), CacheTiers::kDisk);
}

TEST(DiskQueue, ReadsWaitForTheWritesBeforeThem) {
  DiskQueue disk({10}, {4});
  EXPECT_EQ(disk.ask({100}, 0, 3), SimTime{0});    // busy until 112
  EXPECT_EQ(disk.ask({105}, 2, 1), SimTime{27});   // reads until 132, a write until 136
  EXPECT_EQ(disk.ask({130}, 1, 0), SimTime{16});   // until 146
  EXPECT_EQ(disk.ask({1000}, 1, 0), SimTime{10});  // idle since
}

class Milliseconds : public StepTimer {
 public:
  SimTime time(const StepShape& step) override {
    most = std::max(most, step.decodes);
    return sim_seconds(1e-3);
  }
  std::int64_t most = 0;
};

RequestLoad requests(std::size_t n, std::int32_t input, std::int32_t output) {
  RequestLoad load;
  load.requests.resize(n);
  for (Request& r : load.requests) r.input = input, r.output = output;
  return load;
}

TEST(Contiguous, AnExtentOfMaxModelLenForEach) {
  SimulationConfig c;
  c.replica.kv_blocks = 32;  // 512 tokens: two of 256
  c.replica.kv.max_model_len = 256;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.kv.reserve = KvOptions::Reserve::kMaxModelLen;
  Milliseconds timer;
  const SimulationResult r = simulate(c, requests(5, 16, 17), timer);
  EXPECT_EQ(timer.most, 2);
  EXPECT_EQ(r.total().evictions, 0);
  // A sequence has computed 16 tokens in its first step, 32 in its last: 24 of 256 on average.
  const double reserved = r.total().used_block_seconds * 16;
  EXPECT_NEAR(r.total().slack_token_seconds / reserved, 1 - 24.0 / 256, 1e-9);
}

TEST(Contiguous, AnExtentForTheRequest) {
  SimulationConfig c;
  c.replica.kv_blocks = 32;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.kv.reserve = KvOptions::Reserve::kRequest;
  Milliseconds timer;
  const SimulationResult r = simulate(c, requests(40, 16, 17), timer);
  EXPECT_EQ(timer.most, 16);  // 2 blocks each
  EXPECT_EQ(r.total().output_tokens, 40 * 17);
}

TEST(Contiguous, HolesTooSmallForTheNextAreStranded) {
  // Four of 8 blocks fill the pool; the first and third end early and leave 16 blocks in two holes.
  RequestLoad load = requests(5, 112, 17);
  load.requests[1].output = load.requests[3].output = 17;
  load.requests[0].input = load.requests[2].input = 126;
  load.requests[0].output = load.requests[2].output = 3;
  load.requests[4].input = 200;
  load.requests[4].output = 40;  // 15 blocks
  SimulationConfig c;
  c.replica.kv_blocks = 32;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.kv.reserve = KvOptions::Reserve::kRequest;
  Milliseconds timer;
  const SimulationResult r = simulate(c, load, timer);
  EXPECT_GT(r.total().stranded_block_seconds, 0);
  // In blocks it would have been admitted when the first two ended.
  c.replica.kv.reserve = KvOptions::Reserve::kNothing;
  const SimulationResult paged = simulate(c, load, timer);
  EXPECT_LT(paged.records[4].scheduled, r.records[4].scheduled);
  EXPECT_EQ(paged.total().stranded_block_seconds, 0);
}

TEST(Contiguous, DraftsStayWithinTheExtent) {
  // 16 + 17 tokens in an extent of 2 blocks. Every draft is right: of 4 proposed after 17, 22 and
  // 27 tokens all are computed; after the 32nd none has room, and none is needed.
  SimulationConfig c;
  c.replica.kv_blocks = 32;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.kv.reserve = KvOptions::Reserve::kRequest;
  c.replica.speculation.drafts = 4;
  c.replica.speculation.acceptance = {1};
  Milliseconds timer;
  const SimulationResult r = simulate(c, requests(40, 16, 17), timer);
  EXPECT_EQ(r.total().output_tokens, 40 * 17);
  EXPECT_EQ(r.total().verifications, 40 * 3);
  EXPECT_EQ(r.total().drafts, 40 * 12);
  EXPECT_EQ(r.total().evictions, 0);
  for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kDone);
}

TEST(Contiguous, AModelLengthThatNeverFitsIsCounted) {
  SimulationConfig c;
  c.replica.kv_blocks = 8;
  c.replica.kv.max_model_len = 256;
  c.replica.engine.scheduler.prefix_caching = false;
  c.replica.kv.reserve = KvOptions::Reserve::kMaxModelLen;
  Milliseconds timer;
  const SimulationResult r = simulate(c, requests(2, 16, 17), timer);
  for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kNeverFits);
}

TEST(Paged, WasteIsTheRestOfTheLastBlock) {
  // One sequence of 17 to 32 tokens in two blocks, then alone at its end: mean of 15, 14, ..., 0.
  SimulationConfig c;
  c.replica.kv_blocks = 100;
  Milliseconds timer;
  const SimulationResult r = simulate(c, requests(1, 17, 16), timer);
  EXPECT_NEAR(r.total().slack_token_seconds / (r.total().used_block_seconds * 16), 7.5 / 32, 1e-9);
}

TEST(Host, PrefixesThatTheGpuForgotComeBackByCopy) {
  // Two conversations of 10 blocks in a pool of 12: each forgets the other.
  RequestLoad load = requests(3, 160, 2);
  for (std::uint64_t i = 0; i < 20; ++i) load.ids.push_back(i + 1);
  for (std::size_t i = 0; i < 3; ++i) {
    load.requests[i].ids = 10;
    load.requests[i].first_id = i == 1 ? 10 : 0;
    load.requests[i].arrival = sim_seconds(static_cast<double>(i));
  }
  SimulationConfig c;
  c.replica.kv_blocks = 12;
  Milliseconds timer;
  const SimulationResult cold = simulate(c, load, timer);
  EXPECT_LT(cold.records[2].cached, 48);  // the two blocks that were never taken, at most

  c.replica.kv.host_blocks = 100;
  c.replica.host_block_copy = sim_seconds(1e-4);
  const SimulationResult warm = simulate(c, load, timer);
  EXPECT_EQ(warm.records[2].cached, 144);  // one token at least is computed: 9 of 10 blocks
  const std::int64_t fetched = warm.total().host_fetches;
  EXPECT_GE(fetched, 7);
  EXPECT_LE(fetched, 9);
  EXPECT_EQ(warm.records[2].first_token - load.requests[2].arrival,
            sim_seconds(1e-3 + 1e-4 * static_cast<double>(fetched)));
  EXPECT_GE(warm.total().host_keeps, fetched);
}

// As above with a host tier of two blocks and a disk: returning blocks are read from the disk,
// after the blocks of the second conversation have been written.
TEST(Disk, PrefixesThatTheHostDroppedComeBackBySlowerCopies) {
  RequestLoad load = requests(3, 160, 2);
  for (std::uint64_t i = 0; i < 20; ++i) load.ids.push_back(i + 1);
  for (std::size_t i = 0; i < 3; ++i) {
    load.requests[i].ids = 10;
    load.requests[i].first_id = i == 1 ? 10 : 0;
    load.requests[i].arrival = sim_seconds(static_cast<double>(i));
  }
  SimulationConfig c;
  c.replica.kv_blocks = 12;
  c.replica.kv.host_blocks = 2;
  c.replica.kv.disk_blocks = 100;
  c.replica.host_block_copy = sim_seconds(1e-4);
  c.replica.disk_block_read = c.replica.disk_block_write = sim_seconds(5e-4);
  Milliseconds timer;
  const SimulationResult r = simulate(c, load, timer);
  const ReplicaCounts sum = r.total();
  EXPECT_EQ(r.records[2].cached, 144);
  EXPECT_GE(sum.disk_fetches, 5);
  EXPECT_LE(sum.host_fetches, 2);
  EXPECT_EQ(r.records[2].first_token - load.requests[2].arrival,
            sim_seconds(1e-3 + 1e-4 * static_cast<double>(sum.host_fetches) +
                        5e-4 * static_cast<double>(sum.disk_fetches)));
  EXPECT_DOUBLE_EQ(sum.disk_waits.value(), 5e-4 * static_cast<double>(sum.disk_fetches));
  EXPECT_EQ(sum.disk_keeps, sum.host_keeps - 2);  // the host holds two
}

// A prefix in host memory needs blocks as new as those of a prompt that nobody knows: 9 of 10
// blocks of the first conversation wait on the host while another fills 6 of 12.
TEST(Host, BlocksThatComeBackNeedRoom) {
  for (const SchedulerKind& scheduler : scheduler_kinds()) {
    RequestLoad load = requests(4, 160, 2);
    for (std::uint64_t i = 0; i < 40; ++i) load.ids.push_back(i + 1);
    for (std::uint32_t i = 0; i < 4; ++i) {
      load.requests[i].ids = 10;
      load.requests[i].first_id = i == 3 ? 0 : 10 * i;
      load.requests[i].arrival = sim_seconds(0.1 * i);
    }
    load.requests[2].input = 80;
    load.requests[2].ids = 5;
    load.requests[2].output = 16;
    load.requests[3].arrival = load.requests[2].arrival + sim_seconds(2e-3);
    SimulationConfig c;
    c.replica.engine.scheduler.policy = scheduler.name;
    c.replica.kv_blocks = 12;
    c.replica.kv.host_blocks = 100;
    Milliseconds timer;
    const SimulationResult r = simulate(c, load, timer);
    EXPECT_EQ(r.total().output_tokens, 3 * 2 + 16) << scheduler.name;
    // It comes when the other has ended.
    EXPECT_GE(r.records[3].first_token, r.records[2].finished) << scheduler.name;
    EXPECT_GT(r.total().host_fetches, 0) << scheduler.name;
  }
}

TEST(Host, RandomPressureLosesNoRequest) {
  RequestLoad load = requests(200, 1, 1);
  for (std::uint64_t i = 0; i < 64; ++i) load.ids.push_back(i + 1);
  for (std::size_t i = 0; i < load.requests.size(); ++i) {
    Request& r = load.requests[i];
    r.first_id = static_cast<std::uint32_t>(i * 7 % 8) * 8;
    r.ids = 8;
    r.input = 130 + static_cast<std::int32_t>(i * 31 % 60);
    r.output = 1 + static_cast<std::int32_t>(i * 17 % 50);
  }
  SimulationConfig c;
  c.replica.kv_blocks = 40;
  c.replica.kv.host_blocks = 30;
  c.replica.host_block_copy = sim_seconds(1e-5);
  Milliseconds timer;
  const SimulationResult r = simulate(c, load, timer);
  for (const RequestRecord& q : r.records) EXPECT_EQ(q.outcome, Outcome::kDone);
  EXPECT_GT(r.total().host_fetches, 0);
}

}  // namespace kv_memory_test
}  // namespace orrery
