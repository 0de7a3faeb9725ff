// Laws of a simulated engine, on small random services, also with techniques: drafts, contiguous
// memory, a host tier, pipeline stages.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "orrery/serving/schedulers/scheduler.h"
#include "tests/law/reference_simulator.h"
#include "tests/law/serving_run.h"
#include "tests/scheduler_keys.h"

namespace orrery::serving_run {
namespace serving_law_test {

std::string describe(const Case& c) {
  const EngineProfile::Scheduler& l = c.config.engine.scheduler;
  std::string text = fmt::format(
      "{}: budget {}, seqs {}, threshold {}, chunked {}, order {}, async {}, caching {}, {} blocks "
      "of {}\n",
      l.policy, l.max_num_batched_tokens, l.max_num_seqs, c.threshold, l.chunked_prefill,
      to_text(l.order), l.async_scheduling, l.prefix_caching, c.config.kv_blocks,
      c.config.engine.memory.block_size);
  for (const Request& r : c.load.requests)
    text += fmt::format("  at {}: {} -> {}, priority {}, {} ids\n", r.arrival.ps, r.input, r.output,
                        r.priority, r.ids);
  return text;
}

// The first thing in which two runs differ.
std::string difference(const EngineRun& a, const EngineRun& b) {
  for (std::size_t i = 0; i < std::max(a.steps.size(), b.steps.size()); ++i) {
    const std::string x = i < a.steps.size() ? a.steps[i] : "none";
    const std::string y = i < b.steps.size() ? b.steps[i] : "none";
    if (x != y) return fmt::format("step {}: {} | {}", i, x, y);
  }
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    const History &x = a.requests[i], &y = b.requests[i];
    if (x == y) continue;
    return fmt::format(
        "request {}: scheduled {} | {}, cached {} | {}, evictions {} | {}, stalls {} "
        "| {}, tokens {} | {}",
        i, x.scheduled.ps, y.scheduled.ps, x.cached, y.cached, x.evictions, y.evictions, x.stalls,
        y.stalls, x.tokens.size(), y.tokens.size());
  }
  return a == b ? "" : "order of admission or eviction, or sums";
}

class AgreesWithReference : public testing::TestWithParam<const char*> {};

TEST_P(AgreesWithReference, OnAThousandSmallServices) {
  int evictions = 0, hits = 0, stalls = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    std::mt19937_64 random(seed);
    const Case c = random_case(random, GetParam());
    const EngineRun fast = run(c), slow = reference_run(c);
    ASSERT_EQ(difference(fast, slow), "") << "seed " << seed << ", " << describe(c);
    for (const History& h : slow.requests) {
      evictions += h.evictions;
      hits += h.cached > 0;
      stalls += h.stalls;
    }
  }
  // The cases must contain the situations that the test is for.
  const std::string name = GetParam();
  EXPECT_GT(hits, 100);
  EXPECT_EQ(evictions > 100, name != "static");
  EXPECT_EQ(stalls > 100, name == "vllm-v0" || name == "static");
}

INSTANTIATE_TEST_SUITE_P(Serving, AgreesWithReference,
                         testing::Values("vllm", "vllm-v0", "sarathi", "static"),
                         [](const auto& p) {
                           std::string name = p.param;
                           std::erase(name, '-');
                           return name;
                         });

Case any_case() {
  std::vector<std::string> names;
  for (const SchedulerKind& k : scheduler_kinds()) names.emplace_back(k.name);
  const std::string name = *rc::gen::elementOf(names);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  Case c = random_case(random, name);
  set_keys(c.config.engine.scheduler, fmt::format("mixed_chunk: {}", *rc::gen::arbitrary<bool>()));
  return c;
}

RC_GTEST_PROP(Serving, EveryRequestGetsAllItsTokensOnceAndInOrder, ()) {
  const Case c = any_case();
  const EngineRun r = run(c);
  RC_LOG() << describe(c);
  std::vector<bool> admitted(r.requests.size());
  for (std::uint32_t i : r.admitted) {
    RC_ASSERT(!admitted[i]);
    admitted[i] = true;
  }
  for (std::size_t i = 0; i < r.requests.size(); ++i) {
    const Request& q = c.load.requests[i];
    const History& h = r.requests[i];
    RC_ASSERT(h.finished);
    RC_ASSERT(h.tokens.size() == static_cast<std::size_t>(q.output));
    RC_ASSERT(h.scheduled >= q.arrival);
    RC_ASSERT(h.tokens.front() > h.scheduled);
    for (std::size_t t = 1; t < h.tokens.size(); ++t) RC_ASSERT(h.tokens[t] > h.tokens[t - 1]);
    RC_ASSERT(h.cached < q.input);
  }
}

RC_GTEST_PROP(Serving, BlocksAllComeBack, ()) {
  const Case c = any_case();
  RC_LOG() << describe(c);
  RC_ASSERT(run(c).free_blocks == c.config.kv_blocks);
}

// Without evictions and a cache every prompt token is computed once.
RC_GTEST_PROP(Serving, PromptTokensAreConserved, ()) {
  const Case c = any_case();
  RC_LOG() << describe(c);
  const EngineRun r = run(c);
  std::int64_t prompts = 0, cached = 0;
  for (std::size_t i = 0; i < r.requests.size(); ++i) {
    prompts += c.load.requests[i].input;
    cached += r.requests[i].cached;
  }
  if (r.evicted.empty()) {
    RC_ASSERT(r.prompt_tokens == prompts - cached);
  } else {
    RC_ASSERT(r.prompt_tokens >= prompts - cached);
  }
  if (!c.config.engine.scheduler.prefix_caching) RC_ASSERT(cached == 0);
}

// Steps follow each other without a gap while there is work: an engine that all requests reach at
// once is busy from then until its end.
RC_GTEST_PROP(Serving, WorkIsConserved, ()) {
  Case c = any_case();
  for (Request& q : c.load.requests) q.arrival = {1000};
  RC_LOG() << describe(c);
  const EngineRun r = run(c);
  RC_ASSERT(r.busy == r.end.ps - 1000);
}

RC_GTEST_PROP(Serving, TheSameInputGivesTheSameRun, ()) {
  const Case c = any_case();
  RC_ASSERT(run(c) == run(c));
}

// A case whose layers have windows, with just enough blocks for the longest, up
// to several times as many.
void add_windows(Case& c, std::mt19937_64& random) {
  const auto draw = [&](int least, int most) {
    return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  const EngineProfile::Scheduler& l = c.config.engine.scheduler;
  const std::int64_t block = c.config.engine.memory.block_size;
  KvGroups& g = c.config.kv.groups;
  g = {draw(0, 2), draw(1, 3), draw(4, 30)};
  std::int64_t needed = 0;
  for (const Request& r : c.load.requests) {
    const std::int64_t tokens = r.input + r.output - 1;
    const bool chunks = l.chunked_prefill && l.policy == "vllm";
    needed = std::max(needed, g.enough(tokens, chunks ? l.max_num_batched_tokens : tokens, block));
  }
  c.config.kv_blocks = needed + draw(0, draw(0, 60) * g.count());
}

// Advancing decoding sequences as a group gives the same history as advancing each by itself:
// engines with adapters advance sequences one by one, and here no request has an adapter.
RC_GTEST_PROP(Serving, DecodingTogetherChangesNothing, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto draw = [&](int least, int most) {
    return least + static_cast<std::int32_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  Case c = random_case(random, "vllm");
  const int requests = draw(10, 60), longest = draw(2, 120), spread = draw(1, 400'000);
  std::int64_t now = 0;
  for (int i = 0; i < requests; ++i) {
    Request r;
    r.arrival = {now += draw(0, 2) == 0 ? 0 : draw(0, spread)};
    r.input = draw(1, draw(1, 90));
    r.output = draw(1, longest);
    r.priority = draw(0, 2);
    c.load.requests.push_back(r);
  }
  std::sort(c.load.requests.begin(), c.load.requests.end(),
            [](const Request& a, const Request& b) { return a.arrival < b.arrival; });
  EngineProfile::Scheduler& l = c.config.engine.scheduler;
  l.max_num_seqs = draw(1, 60);
  l.max_num_batched_tokens = draw(8, 200);
  c.config.kv_blocks += (90 + longest) / c.config.engine.memory.block_size + draw(0, draw(0, 1000));
  RC_LOG() << describe(c);
  if (*rc::gen::arbitrary<bool>()) add_windows(c, random);
  Case alone = c;
  alone.config.kv.adapter_slots = 1;
  RC_ASSERT(difference(run(c), run(alone)) == "");
}

RC_GTEST_PROP(Serving, WindowsLoseNeitherTokensNorBlocks, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const std::string scheduler =
      *rc::gen::element<std::string>("vllm", "vllm", "trtllm", "trtllm-max-utilization");
  Case c = random_case(random, scheduler);
  add_windows(c, random);
  RC_LOG() << describe(c);
  const EngineRun r = run(c);
  std::int64_t prompts = 0;
  for (std::size_t i = 0; i < r.requests.size(); ++i) {
    const Request& q = c.load.requests[i];
    const History& h = r.requests[i];
    RC_ASSERT(h.finished);
    RC_ASSERT(h.tokens.size() == static_cast<std::size_t>(q.output));
    for (std::size_t t = 1; t < h.tokens.size(); ++t) RC_ASSERT(h.tokens[t] > h.tokens[t - 1]);
    RC_ASSERT(h.cached < q.input);
    prompts += q.input - h.cached;
  }
  RC_ASSERT(r.free_blocks == c.config.kv_blocks);
  if (r.evicted.empty()) RC_ASSERT(r.prompt_tokens == prompts);
  if (scheduler == "trtllm") RC_ASSERT(r.evicted.empty());
}

// A window that is longer than every context changes the number of blocks only. (With a prefix
// cache the history changes too: blocks of a group follow each other in the queue of free blocks,
// so that the ends of prefixes are evicted at another rate.)
RC_GTEST_PROP(Serving, AWindowBeyondAllContextsIsNone, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  Case c = random_case(random,
                       *rc::gen::element<std::string>("vllm", "trtllm", "trtllm-max-utilization"));
  c.config.engine.scheduler.prefix_caching = false;
  RC_LOG() << describe(c);
  Case windows = c;
  windows.config.kv.groups = {1, 2, 1000};
  windows.config.kv_blocks *= 3;
  EngineRun with = run(windows), without = run(c);
  RC_ASSERT(with.free_blocks == 3 * without.free_blocks);
  RC_ASSERT(difference(with, without) == "order of admission or eviction, or sums");
  with.free_blocks = without.free_blocks;
  RC_ASSERT(with == without);
}

// One request alone: its first token needs its prompt, every other one a step.
RC_GTEST_PROP(Serving, OneRequestAloneIsNeverEvicted, ()) {
  Case c = any_case();
  c.load.requests.resize(1);
  RC_LOG() << describe(c);
  const EngineRun r = run(c);
  const Request& q = c.load.requests[0];
  RC_ASSERT(r.evicted.empty());
  RC_ASSERT(r.requests[0].scheduled == q.arrival);
  const auto steps = static_cast<std::int64_t>(r.steps.size());
  RC_ASSERT(steps >= q.output);
  if (q.input <= c.config.engine.scheduler.max_num_batched_tokens && c.threshold == 0)
    RC_ASSERT(steps == q.output);
}

// With all memory that could be asked for and no cache nothing is evicted.
RC_GTEST_PROP(Serving, EnoughMemoryMeansNoEvictions, ()) {
  Case c = any_case();
  c.config.kv_blocks = 10'000;
  c.config.engine.scheduler.prefix_caching = false;
  RC_LOG() << describe(c);
  RC_ASSERT(run(c).evicted.empty());
}

// Techniques in any combination that can be: all memory is either extents or blocks.
Case technique_case(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto draw = [&](int most) {
    return static_cast<std::int32_t>(random() % (static_cast<unsigned>(most) + 1));
  };
  const auto& kinds = scheduler_kinds();
  const auto scheduler = static_cast<std::size_t>(draw(static_cast<int>(kinds.size()) - 1));
  Case c = random_case(random, std::string(kinds[scheduler].name));
  c.config.speculation.drafts = draw(1) * draw(4);
  if (c.config.engine.scheduler.prefix_caching) {
    c.config.kv.host_blocks = draw(1) * draw(40);
    c.config.kv.disk_blocks = draw(1) * draw(40);
    c.config.disk_block_read = {3000}, c.config.disk_block_write = {2000};
    c.config.host_block_copy = {1000};
  } else if (draw(1) == 0 && c.config.engine.scheduler.policy == "vllm") {
    c.config.kv.reserve = KvOptions::Reserve::kRequest;
  }
  if (c.config.engine.scheduler.policy == "lightllm") {
    c.config.kv.adapter_blocks = draw(5);
    c.config.kv_blocks += c.config.kv.adapter_blocks;
    c.config.adapter_load = {5000};
    for (Request& r : c.load.requests) r.adapter = draw(3) - 1;
  }
  return c;
}

TEST(Techniques, EveryRequestEndsAndBlocksAllComeBack) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const Case c = technique_case(seed);
    const EngineRun r = run(c);
    const auto ended = std::count_if(r.requests.begin(), r.requests.end(),
                                     [](const History& h) { return h.finished; });
    ASSERT_EQ(ended, static_cast<std::int64_t>(r.requests.size()))
        << "seed " << seed << ", " << c.config.engine.scheduler.policy;
    ASSERT_EQ(r.free_blocks, c.config.kv_blocks)
        << "seed " << seed << ", " << c.config.engine.scheduler.policy;
  }
}

}  // namespace serving_law_test
}  // namespace orrery::serving_run
