// Laws of engines with techniques (drafts, contiguous memory, a host tier, pipeline stages), on
// small random services.
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/serving/schedulers/scheduler.h"
#include "tests/law/serving_run.h"

namespace orrery::serving_run {
namespace {

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
  if (c.config.prefix_caching) {
    c.config.kv.host_blocks = draw(1) * draw(40);
    c.config.kv.disk_blocks = draw(1) * draw(40);
    c.config.disk_block_read = {3000}, c.config.disk_block_write = {2000};
    c.config.host_block_copy = {1000};
  } else if (draw(1) == 0 && c.scheduler == "vllm") {
    c.config.kv.reserve = KvOptions::Reserve::kRequest;
  }
  if (c.scheduler == "lightllm") {
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
        << "seed " << seed << ", " << c.scheduler;
    ASSERT_EQ(r.free_blocks, c.config.kv_blocks) << "seed " << seed << ", " << c.scheduler;
  }
}

}  // namespace
}  // namespace orrery::serving_run
