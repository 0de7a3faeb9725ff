// Engine steps: a batch that only decodes, and the life of short requests.
#include <benchmark/benchmark.h>

#include "orrery/serving/cluster/simulation.h"

namespace {

using namespace orrery;

// Step times as a table gives them: a few loads and a sum.
class TableTimer : public StepTimer {
 public:
  SimTime time(const StepShape& step) override {
    SimTime t{10'000'000 + 20'000 * step.decodes + 3 * step.decode_past};
    for (const PromptChunk& c : step.chunks) t += SimTime{60'000 * c.new_tokens};
    return t;
  }
};

void run(benchmark::State& state, const RequestLoad& load, std::int64_t requests) {
  SimulationConfig config;
  config.replica.kv_blocks = 70'000;
  config.replica.engine.scheduler.max_num_seqs = 1024;
  TableTimer timer;
  std::int64_t steps = 0;
  for (auto _ : state) steps += simulate(config, load, timer).total().steps;
  state.counters["steps"] =
      benchmark::Counter(static_cast<double>(steps), benchmark::Counter::kIsRate);
  state.counters["requests"] = benchmark::Counter(static_cast<double>(requests),
                                                  benchmark::Counter::kIsIterationInvariantRate);
}

void BM_SteadyDecode(benchmark::State& state) {
  RequestLoad load;
  load.requests.resize(static_cast<std::size_t>(state.range(0)));
  for (Request& r : load.requests) r.input = 128, r.output = 4000;
  run(state, load, state.range(0));
}
BENCHMARK(BM_SteadyDecode)->Arg(32)->Arg(128)->Arg(256)->Unit(benchmark::kMillisecond);

// Requests that come and go all the time: about 30 at once.
void BM_ShortRequests(benchmark::State& state) {
  RequestLoad load;
  load.requests.resize(20'000);
  std::int64_t now = 0;
  for (Request& r : load.requests) {
    r.input = 256, r.output = 128;
    r.arrival = {now += 50'000'000};
  }
  run(state, load, 20'000);
}
BENCHMARK(BM_ShortRequests)->Unit(benchmark::kMillisecond);

// The same with blocks of 16 tokens and of one token, as SGLang has them, in a prefix cache.
void BM_Blocks(benchmark::State& state) {
  RequestLoad load;
  load.requests.resize(5'000);
  std::int64_t now = 0;
  for (Request& r : load.requests) {
    r.input = 512, r.output = 128;
    r.arrival = {now += 500'000'000};
  }
  SimulationConfig config;
  config.replica.engine.memory.block_size = static_cast<std::int32_t>(state.range(0));
  config.replica.kv_blocks = 116'000 / state.range(0);
  TableTimer timer;
  for (auto _ : state) benchmark::DoNotOptimize(simulate(config, load, timer).end);
}
BENCHMARK(BM_Blocks)->Arg(1)->Arg(16)->Unit(benchmark::kMillisecond);

}  // namespace
