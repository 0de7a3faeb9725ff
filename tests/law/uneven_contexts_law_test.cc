// Laws of decode steps over contexts that differ.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/serving/steps/step_clock.h"
#include "orrery/step/uneven_contexts.h"

namespace orrery {
namespace {

struct Contexts {
  UnevenContexts kernel;
  std::vector<std::int64_t> all;  // falling
  std::int64_t sum = 0;
  double idle = 0;
};

Contexts any_contexts() {
  Contexts c;
  c.kernel = {*rc::gen::inRange(1, 200) * 1.0, *rc::gen::inRange(20, 200),
              *rc::gen::element(1, 2, 4, 8, 32)};
  c.all = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 20'000)));
  std::sort(c.all.begin(), c.all.end(), std::greater<>());
  c.sum = std::accumulate(c.all.begin(), c.all.end(), std::int64_t{0});
  const auto n = static_cast<std::int64_t>(c.all.size());
  const double mean = static_cast<double>(c.sum) / static_cast<double>(n);
  c.idle = c.kernel.idle(n, mean, {c.all.data(), std::min(c.all.size(), c.kernel.most())});
  return c;
}

RC_GTEST_PROP(UnevenContexts, LieBetweenTheMeanAndTheLongest, ()) {
  const Contexts c = any_contexts();
  const double n = static_cast<double>(c.all.size()), sum = static_cast<double>(c.sum);
  RC_ASSERT(c.idle >= 0);
  RC_ASSERT(sum + c.idle <= n * static_cast<double>(c.all[0]) * (1 + 1e-12));
  if (c.all.front() == c.all.back()) RC_ASSERT(c.idle == 0);
  // The longest alone: its keys, over as many blocks as it has, at a block's speed.
  const double m = c.kernel.longest(static_cast<std::int64_t>(c.all.size()), sum / n);
  RC_ASSERT(sum + c.idle >= std::min(m, n) * static_cast<double>(c.all[0]) * (1 - 1e-12));
}

// One more key in the longest never makes a step shorter.
RC_GTEST_PROP(UnevenContexts, LongerTakesLonger, ()) {
  Contexts c = any_contexts();
  const auto n = static_cast<std::int64_t>(c.all.size());
  const double context = 1000;  // of the splits
  const auto keys = [&] {
    return static_cast<double>(std::accumulate(c.all.begin(), c.all.end(), std::int64_t{0})) +
           c.kernel.idle(n, context, {c.all.data(), std::min(c.all.size(), c.kernel.most())});
  };
  const double before = keys();
  ++c.all[0];
  RC_ASSERT(keys() >= before + 1 - 1e-6);
}

TEST(UnevenContexts, StepsTakeAsLongAsTheContextsThatTheyStandFor) {
  const Architecture model = load_model("llama-3-8b", Bundle());
  const ParallelPlan plan;
  const Precision precision = native_precision(model);
  const EngineProfile engine = load_engine("vllm", Bundle());
  const Gpu gpu = Catalog().gpu("rtx-4090");
  const auto kernels = make_kernel_model(gpu, {}, Bundle());
  const auto network = make_network_model(Cluster(Catalog(), gpu, 1, ""), plan, "vllm", Bundle());
  const StepModel steps(model, plan, precision, engine, *kernels, *network);
  StepClock clock(steps);
  StepShape shape;
  shape.decodes = 32;
  shape.decode_past = 32 * 4480;
  const SimTime even = clock.time(shape);
  std::vector<std::int64_t> contexts(7, 4096);
  contexts[0] = 16384;
  shape.decode_idle = std::llround(UnevenContexts{52, 128, 8}.idle(32, 4480, contexts));
  const SimTime uneven = clock.time(shape);
  const double exact = steps.time({{{32, 1, 4480 + static_cast<double>(shape.decode_idle) / 32}}})
                           .total.value.value();
  EXPECT_NEAR(uneven.seconds() / exact, 1, 0.005);
  EXPECT_GT(uneven, even);
  shape.decode_idle = 0;
  shape.decode_past = 32 * 16384;
  EXPECT_LT(uneven, clock.time(shape));
}

}  // namespace
}  // namespace orrery
