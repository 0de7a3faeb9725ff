#include "orrery/workload/plan/by_memory.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace by_memory_test {

Bytes gib(double n) { return Bytes(n * 1024 * 1024 * 1024); }

// SGLang's largest captured batch (sglang/srt/server_args.py): RTX 5090, L40S, H100 and B200.
TEST(ByMemory, TakesTheFirstLimitAboveTheMemory) {
  constexpr const char* kSglang = "35 GiB: 24/80, 60 GiB: 32/160, 160 GiB: 256/512, 512";
  EXPECT_EQ(by_memory(kSglang, gib(31.8), 1), 24);
  EXPECT_EQ(by_memory(kSglang, gib(45), 2), 32);
  EXPECT_EQ(by_memory(kSglang, gib(79.6), 2), 256);
  EXPECT_EQ(by_memory(kSglang, gib(79.6), 4), 512);
  EXPECT_EQ(by_memory(kSglang, gib(179), 1), 512);
  EXPECT_EQ(by_memory(kSglang, gib(35), 1), 32);  // a limit is not below itself
  EXPECT_EQ(by_memory("7", gib(1), 1), 7);
}

TEST(ByMemory, RefusesOtherTexts) {
  for (const char* bad :
       {"", "35 GiB: 24", "24, 32", "35 GiB: 24/, 32", "35: 24, 32", "0", "1 2"}) {
    EXPECT_THROW(by_memory(bad, gib(80), 8), InputError) << bad;
  }
}

}  // namespace by_memory_test
}  // namespace orrery
