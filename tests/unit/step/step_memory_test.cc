// Memories of steps are handed on from one user to the next.
#include "orrery/step/step_memory.h"

#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"

namespace orrery {
namespace step_memory_test {

TEST(StepMemories, AreUsedAgainAndNeverByTwo) {
  const auto model = make_kernel_model(Catalog().gpu("h100-sxm"), KernelClasses{}, Bundle());
  StepMemories memories;
  auto first = memories.take(*model), second = memories.take(*model);
  const StepMemory* a = first.get();
  EXPECT_NE(a, second.get());
  memories.give_back(std::move(first));
  EXPECT_EQ(memories.take(*model).get(), a);
}

}  // namespace step_memory_test
}  // namespace orrery
