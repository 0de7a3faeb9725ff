// LoRA adapters: their assignment to requests, those on the GPU, and the time to wait for them.
#include "orrery/serving/state/adapters.h"

#include <gtest/gtest.h>

#include <map>

#include "orrery/serving/cluster/simulation.h"

namespace orrery {
namespace adapters_test {

RequestLoad requests(std::size_t n, std::int32_t input, std::int32_t output) {
  RequestLoad load;
  load.requests.resize(n);
  for (Request& r : load.requests) r.input = input, r.output = output;
  return load;
}

std::map<std::int32_t, double> shares(std::int64_t adapters, double alpha) {
  RequestLoad load = requests(20000, 1, 1);
  assign_adapters(load, adapters, alpha, 7);
  std::map<std::int32_t, double> n;
  for (const Request& r : load.requests) n[r.adapter] += 1.0 / 20000;
  return n;
}

TEST(AssignAdapters, UniformAndByPowerLaw) {
  const auto uniform = shares(4, 0);
  EXPECT_EQ(uniform.size(), 4u);
  for (const auto& [adapter, share] : uniform) EXPECT_NEAR(share, 0.25, 0.013) << adapter;
  // 1, 1/2, 1/3 of 11/6.
  const auto zipf = shares(3, 1);
  EXPECT_NEAR(zipf.at(0), 6.0 / 11, 0.014);
  EXPECT_NEAR(zipf.at(1), 3.0 / 11, 0.013);
  EXPECT_NEAR(zipf.at(2), 2.0 / 11, 0.011);
}

AdapterSet set(std::initializer_list<std::int32_t> ids) {
  AdapterSet s;
  for (std::int32_t id : ids) s.add(id);
  return s;
}

TEST(AdapterSet, HoldsEachOnceAndNeverTheBaseModel) {
  const AdapterSet s = set({3, -1, 3, 5});
  EXPECT_EQ(s.size(), 2);
  EXPECT_TRUE(s.has(5));
  EXPECT_FALSE(s.has(-1));
}

TEST(AdapterSlots, TheOneUsedLongestAgoMakesRoom) {
  AdapterSlots slots(2);
  EXPECT_EQ(slots.bring_in(set({1, 2})), 2);
  EXPECT_EQ(slots.bring_in(set({1})), 0);
  EXPECT_EQ(slots.bring_in(set({3})), 1);  // in place of 2
  EXPECT_EQ(slots.bring_in(set({1})), 0);
  EXPECT_EQ(slots.bring_in(set({2, 1})), 1);  // in place of 3, not of 1, which the step uses
  EXPECT_EQ(slots.bring_in(set({1, 2})), 0);
}

// A step takes a millisecond.
class Milliseconds : public StepTimer {
 public:
  SimTime time(const StepShape& step) override {
    most_adapters = std::max(most_adapters, step.adapters);
    return sim_seconds(1e-3);
  }
  std::int64_t most_adapters = 0;
};

SimulationConfig engine(std::int64_t max_loras) {
  SimulationConfig c;
  c.replica.kv_blocks = 1000;
  c.replica.kv.adapter_slots = max_loras;
  c.replica.adapter_load = sim_seconds(5e-3);
  return c;
}

TEST(Lora, AStepWaitsForTheAdapterThatItLoads) {
  RequestLoad load = requests(2, 10, 3);
  load.requests[0].adapter = load.requests[1].adapter = 4;
  load.requests[1].arrival = sim_seconds(1);
  Milliseconds timer;
  const SimulationResult r = simulate(engine(1), load, timer);
  EXPECT_EQ(r.records[0].first_token, sim_seconds(6e-3));
  EXPECT_EQ(r.records[1].first_token, sim_seconds(1.001));  // still there
  EXPECT_EQ(r.total().adapter_loads, 1);
}

TEST(Lora, NoMoreAdaptersRunTogetherThanSlots) {
  RequestLoad load = requests(4, 10, 5);
  for (std::size_t i = 0; i < 4; ++i) load.requests[i].adapter = static_cast<std::int32_t>(i / 2);
  Milliseconds timer;
  const SimulationResult r = simulate(engine(1), load, timer);
  EXPECT_EQ(timer.most_adapters, 1);
  // The first two run in one batch; the others wait until both have ended.
  EXPECT_LT(r.records[1].scheduled, r.records[0].finished);
  EXPECT_GE(r.records[2].scheduled, r.records[1].finished - sim_seconds(2e-3));
  EXPECT_EQ(r.total().adapter_loads, 2);
}

TEST(Lora, ThoseWhoseAdapterRunsPassOthersInTheQueue) {
  RequestLoad load = requests(3, 10, 5);
  load.requests[0].adapter = load.requests[2].adapter = 0;
  load.requests[1].adapter = 1;
  Milliseconds timer;
  const SimulationResult r = simulate(engine(1), load, timer);
  EXPECT_LT(r.records[2].scheduled, r.records[1].scheduled);
  EXPECT_LT(r.records[2].finished, r.records[1].first_token);
}

// LightLLM's scheduler, 5 blocks an adapter in a pool of 14. Two adapters leave 4 blocks, 64
// tokens: two sequences that hold 10 tokens, make 4 more that are cached, and may waste 15, need 2
// * (10 + 4 + 15) = 58. A third adapter fits when both have ended.
TEST(Lora, AdaptersInThePoolTakeTheRoomOfSequences) {
  RequestLoad load = requests(3, 10, 5);
  for (std::int32_t i = 0; i < 3; ++i) load.requests[static_cast<std::size_t>(i)].adapter = i;
  SimulationConfig c = engine(0);
  c.replica.engine.scheduler.policy = "lightllm";
  c.replica.kv_blocks = 14;
  c.replica.kv.adapter_blocks = 5;
  c.replica.engine.scheduler.async_scheduling = false;
  Milliseconds timer;
  // All at once: the first is alone in its step, the next are looked at when nothing runs.
  const SimulationResult three = simulate(c, load, timer);
  EXPECT_EQ(three.records[1].scheduled, three.records[0].finished);
  EXPECT_EQ(three.records[2].scheduled, three.records[0].finished);
  EXPECT_EQ(three.total().adapter_loads, 3);
  EXPECT_EQ(three.records[0].first_token, sim_seconds(6e-3));  // a step, and an adapter to load
  EXPECT_EQ(three.records[1].first_token - three.records[1].scheduled, sim_seconds(11e-3));

  c.replica.kv_blocks = 13;  // 48 tokens beside two adapters
  const SimulationResult two = simulate(c, load, timer);
  EXPECT_EQ(two.records[1].scheduled, two.records[0].finished);
  EXPECT_EQ(two.records[2].scheduled, two.records[1].finished);

  c.replica.kv_blocks = 5;  // an adapter and no token
  for (const RequestRecord& q : simulate(c, load, timer).records)
    EXPECT_EQ(q.outcome, Outcome::kNeverFits);
}

TEST(Lora, AnAdapterInThePoolIsThereForAllThatUseIt) {
  RequestLoad load = requests(4, 10, 5);
  for (Request& q : load.requests) q.adapter = 7;
  SimulationConfig c = engine(0);
  c.replica.engine.scheduler.policy = "lightllm";
  c.replica.kv_blocks = 14;
  c.replica.kv.adapter_blocks = 5;
  Milliseconds timer;
  const SimulationResult r = simulate(c, load, timer);
  EXPECT_EQ(r.records[1].scheduled, r.records[3].scheduled);  // three together: 87 of 144 tokens
  EXPECT_EQ(r.total().adapter_loads, 2);                      // of the first alone, of the others
}

TEST(Lora, PrefixesAreNotSharedBetweenAdapters) {
  RequestLoad load = requests(3, 64, 2);
  load.ids = {1, 2, 3, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    load.requests[i].ids = 4;
    load.requests[i].arrival = sim_seconds(static_cast<double>(i));
    load.requests[i].adapter = i == 1 ? 1 : 0;
  }
  Milliseconds timer;
  const SimulationResult r = simulate(engine(2), load, timer);
  EXPECT_EQ(r.records[1].cached, 0);
  EXPECT_EQ(r.records[2].cached, 48);
}

}  // namespace adapters_test
}  // namespace orrery
