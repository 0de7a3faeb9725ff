#include "orrery/network/algorithms/host_launches.h"

#include <gtest/gtest.h>

#include "orrery/network/collectives/table_hosts.h"

namespace orrery {
namespace host_launches_test {

Estimate<Seconds> kernels(double us) {
  return {microseconds(us), 0.06, 0.05, Origin::kMeasured, Tails::kHeavy};
}

TEST(HostLaunches, TheUsualOnesAddNothing) {
  const Estimate<Seconds> t = launched(kernels(5), {});
  EXPECT_EQ(t.value, microseconds(5));
  EXPECT_EQ(t.sigma(), kernels(5).sigma());
  EXPECT_EQ(t.origin, Origin::kMeasured);
}

// Eight launches of 4 us in one thread; the kernels of 16 us wait, those of 300 us do not.
TEST(HostLaunches, OneThreadForEightGpusIsTheLongerStageOfShortKernels) {
  const HostLaunches one_thread{.graph = false, .gpus_per_thread = 8};
  const Estimate<Seconds> small = launched(kernels(16), one_thread);
  EXPECT_EQ(small.value, microseconds(32));
  EXPECT_GT(small.sigma(), 0.2);
  EXPECT_EQ(small.origin, Origin::kFitted);
  const Estimate<Seconds> large = launched(kernels(300), one_thread);
  EXPECT_EQ(large.value, microseconds(300));
  EXPECT_EQ(large.sigma(), kernels(300).sigma());
}

TEST(HostLaunches, MoreGpusAThreadAreNeverQuicker) {
  for (const double us : {3.0, 10.0, 50.0}) {
    Seconds last(0);
    for (int gpus = 1; gpus <= 16; ++gpus) {
      const Seconds t = launched(kernels(us), {.gpus_per_thread = gpus}).value;
      EXPECT_GE(t, last) << us << " " << gpus;
      last = t;
    }
  }
}

// The upper end of the interval is not below that of the kernels alone.
TEST(HostLaunches, TheUpperEndHoldsThatOfTheKernels) {
  Estimate<Seconds> unsure = kernels(30);
  unsure.own = 0.5;
  const HostLaunches one_thread{.graph = false, .gpus_per_thread = 8};
  EXPECT_GE(launched(unsure, one_thread).quantile(0.95), unsure.quantile(0.95) * 0.999);
}

// A graph saves at most a launch, and no measurement tells how much.
TEST(HostLaunches, AGraphReachesDownByALaunch) {
  const Estimate<Seconds> t = launched(kernels(20), {.graph = true});
  EXPECT_EQ(t.value, microseconds(20));
  EXPECT_LT(t.quantile(0.05), microseconds(16));
  EXPECT_NEAR(launched(kernels(2000), {.graph = true}).sigma(), kernels(2000).sigma(), 1e-4);
}

TEST(HostLaunches, AGraphIsWithoutTheHostsPart) {
  const Estimate<Seconds> t =
      launched(kernels(20), {.graph = true, .gpus_per_thread = 1, .in_tables = microseconds(3)});
  EXPECT_EQ(t.value, microseconds(17));
  EXPECT_GT(t.quantile(0.95), microseconds(17));
  EXPECT_LT(t.quantile(0.05), microseconds(13));
}

// By hand from the files of catalog/network: A100's ring of two starts 4.20 us later than H100's,
// its one-shot kernels 0.65, 1.19 and 2.73 us; B200's 3.91, 1.91 and 1.54 us.
TEST(HostLaunches, ThePartOfTheHostIsWhatKernelsOfAGraphDoNotHave) {
  const Catalog catalog;
  const auto part = [&](const char* fabric) {
    return host_part(Bundle(), catalog, catalog.fabric(fabric)) / microseconds(1);
  };
  EXPECT_NEAR(part("nvlink3-nvswitch"), 2.68, 0.05);
  EXPECT_NEAR(part("nvlink5-nvswitch"), 2.18, 0.05);
  EXPECT_EQ(part("nvlink4-nvswitch"), 0);
  EXPECT_EQ(part("nvlink3-bridge"), 0);  // no curves of its own
  EXPECT_EQ(part("pcie5"), 0);
}

}  // namespace host_launches_test
}  // namespace orrery
