// Properties of training memory on arbitrary jobs.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/memory/training_fixture.h"

namespace orrery {
namespace training_memory_properties_test {

using namespace training_fixture;

struct Case {
  Architecture model;
  TrainingJob job;
};

Case arbitrary_case() {
  const int heads = 1 << *rc::gen::inRange(3, 6);
  Case c{gpt(8 * *rc::gen::inRange(1, 5), 64 * heads, heads, 32000), {}};
  TrainingJob& j = c.job;
  j.plan.tp = 1 << *rc::gen::inRange(0, 4);
  j.plan.pp = 1 << *rc::gen::inRange(0, 3);
  j.plan.dp = 1 << *rc::gen::inRange(0, 4);
  j.plan.zero = *rc::gen::inRange(0, 4);
  j.plan.sequence_parallel = *rc::gen::arbitrary<bool>();
  j.seq = 256 * *rc::gen::inRange<std::int64_t>(1, 20);
  j.micro_batch = *rc::gen::inRange(1, 5);
  j.global_batch = j.micro_batch * j.plan.dp * *rc::gen::inRange(1, 20);
  j.flash = *rc::gen::arbitrary<bool>();
  j.dropout = *rc::gen::arbitrary<bool>();
  j.fused_cross_entropy = *rc::gen::arbitrary<bool>();
  j.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 3));
  return c;
}

const std::vector<TrainingMemoryConstants>& stacks() {
  static const auto all = load_training_memory(Bundle());
  return all;
}

RC_GTEST_PROP(TrainingMemoryLaw, PartsAddUpAndNoneIsNegative, ()) {
  const Case c = arbitrary_case();
  for (const TrainingMemoryConstants& s : stacks()) {
    const TrainingMemory m = training_memory(c.model, c.job, s, gpu());
    for (const MemoryItem& i : m.items()) RC_ASSERT(i.size >= Bytes(0));
    // Every member is in the totals, and only context and fragmentation are no tensors.
    const Bytes tensors =
        m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.buckets + m.workspace;
    RC_ASSERT(std::abs(m.allocated() / tensors - 1) < 1e-12);
    RC_ASSERT(std::abs(m.reserved() / (tensors + m.fragmentation) - 1) < 1e-12);
    RC_ASSERT(std::abs(m.total() / (tensors + m.fragmentation + m.context) - 1) < 1e-12);
  }
}

RC_GTEST_PROP(TrainingMemoryLaw, TheWholeJobIsItsFullestStage, ()) {
  Case c = arbitrary_case();
  c.job.plan.pp = 8;
  const char* const schedules[] = {"1f1b", "gpipe", "zb-h1", "zb-h2", "dualpipe"};
  c.job.plan.schedule = schedules[*rc::gen::inRange(0, 5)];
  Bytes most;
  for (int s = 0; s < 8; ++s)
    most =
        std::max(most, training_memory(c.model, c.job, {}, gpu(), classic_load(c.job, s)).total());
  RC_ASSERT(training_memory(c.model, c.job, {}, gpu()).total() == most);
}

RC_GTEST_PROP(TrainingMemoryLaw, MoreOfAnythingTakesMore, ()) {
  const Case c = arbitrary_case();
  const TrainingMemoryConstants& s = stacks()[static_cast<std::size_t>(
      *rc::gen::inRange<int>(0, static_cast<int>(stacks().size())))];
  const auto total = [&](const Architecture& m, const TrainingJob& j) {
    return training_memory(m, j, s, gpu()).total();
  };
  const Bytes base = total(c.model, c.job);
  TrainingJob more = c.job;
  // The peak may lie in the optimizer's step, where no activations are.
  more.seq += 256;
  RC_ASSERT(total(c.model, more) >= base);
  more = c.job;
  more.micro_batch *= 2, more.global_batch *= 2;
  RC_ASSERT(total(c.model, more) >= base);
  RC_ASSERT(chunk_activations(c.model, more, s, 0) > chunk_activations(c.model, c.job, s, 0));
  Architecture deeper = c.model;
  deeper.layers.append(c.model.layers.at(0), c.job.plan.pp);
  RC_ASSERT(total(deeper, c.job) > base);
}

RC_GTEST_PROP(TrainingMemoryLaw, ShardingAndRecomputationOnlySave, ()) {
  Case c = arbitrary_case();
  // Only states are compared, because communication between ranks needs buffers.
  const auto states = [&](const TrainingJob& j) {
    const TrainingMemory m = training_memory(c.model, j, {}, gpu());
    return (m.weights + m.gradients + m.optimizer).value();
  };
  double last = INFINITY;
  for (int zero = 0; zero < 4; ++zero) {
    c.job.plan.zero = zero;
    RC_ASSERT(states(c.job) <= last);
    last = states(c.job);
  }
  last = INFINITY;
  for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
    c.job.recompute = r;
    const double now = chunk_activations(c.model, c.job, {}, 0).value();
    RC_ASSERT(now <= last);
    last = now;
  }
  c.job.plan.tp = 1;
  c.job.plan.sequence_parallel = true;
  const double one = layer_bytes(c.model, c.job);
  c.job.plan.tp = 4;
  RC_ASSERT(std::abs(one / layer_bytes(c.model, c.job) - 4) < 1e-9);
  c.job.plan.sequence_parallel = false;
  RC_ASSERT(layer_bytes(c.model, c.job) > one / 4);
}

}  // namespace training_memory_properties_test
}  // namespace orrery
