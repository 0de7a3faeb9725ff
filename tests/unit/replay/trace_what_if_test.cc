// Do what-ifs apply their factors, and refuse questions that the trace cannot answer?
#include "orrery/replay/trace_what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/hardware/cluster.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/network/collectives/make_network.h"
#include "tests/refusal.h"
#include "tests/unit/replay/traced_machine.h"

namespace orrery {
namespace trace_what_if_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const Bundle kBundle;

TraceAnswer ask(const TracedMachine& m, const TraceWhatIf& w) {
  const KinetoTrace t = parse_kineto(m.json(), "t.json");
  return answer_trace(t, build_trace_graph(t, "t.json"), w, kBundle);
}

double busy(const ReplayBreakdown& b, OpClass c) {
  return b.classes[static_cast<std::size_t>(c)].busy.value() * 1e6;
}

// One product, one add, one all-reduce of 16 MiB over 8 ranks, one after the other.
TracedMachine one_of_each(const std::string& collective = "allreduce", int ranks = 8) {
  TracedMachine m;
  m.inside(1, "cpu_op", "aten::mm",
           R"("Input Dims": [[4096, 1024], [1024, 4096]], "Input type": ["c10::BFloat16"])",
           [&] { m.launch(1, 7, "nvjet_hsh", 100); });
  m.launch(1, 7, "void at::native::vectorized_elementwise_kernel<4>", 50);
  m.launch(1, 7, "void at::native::multi_tensor_apply_kernel<Adam>", 80);
  m.launch(1, 7, "ncclDevKernel_Sum", 1000,
           fmt::format(R"("Collective name": "{}", "In msg nelems": 8388608, )"
                       R"("Out msg nelems": 8388608, "Group size": {}, "dtype": "BFloat16")",
                       collective, ranks));
  return m;
}

TEST(WhatIf, NothingAskedIsTheReplay) {
  const TraceAnswer a = ask(one_of_each(), {});
  EXPECT_FALSE(a.changed);
  EXPECT_EQ(a.time.value, a.replayed.total);
  EXPECT_NEAR(a.difference, 0, 1e-3);
  EXPECT_THAT(a.notes, Contains(HasSubstr("The trace marks no steps")));
}

TEST(WhatIf, ScalesMultiply) {
  TraceWhatIf w;
  add_scale(w, "gemm=0.5");
  add_scale(w, "gemm=0.5");
  add_scale(w, "cpu=3");
  add_scale(w, "communication=2");
  EXPECT_EQ(w.cpu, 3);
  const TraceAnswer a = ask(one_of_each(), w);
  EXPECT_NEAR(busy(a.what_if, OpClass::kGemm), 25, 1e-6);
  EXPECT_NEAR(busy(a.what_if, OpClass::kElementwise), 50, 1e-6);
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 2000, 1e-6);
  // Only the user's own factors: the error is that of the replay.
  EXPECT_NEAR(a.time.sigma(), 0.033, 1e-9);
}

TEST(WhatIf, ReplicasByTheBusFactor) {
  TraceWhatIf w;
  w.dp = 64;
  const TraceAnswer a = ask(one_of_each(), w);
  // 2 * 63/64 over 2 * 7/8 is 1.125.
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 1125, 1e-3);
  EXPECT_NEAR(busy(a.what_if, OpClass::kOptimizer), 80, 1e-6);
  EXPECT_GT(a.time.sigma(), 0.1);
  w.dp = 1;
  EXPECT_EQ(busy(ask(one_of_each(), w).what_if, OpClass::kCommunication), 0);
}

TEST(WhatIf, ShardedOptimizersAreDividedByTheReplicas) {
  TraceWhatIf w;
  w.dp = 16;
  const TraceAnswer a = ask(one_of_each("_reduce_scatter_base"), w);
  // 15/16 over 7/8
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 1000 * 15.0 / 14, 1e-3);
  EXPECT_NEAR(busy(a.what_if, OpClass::kOptimizer), 40, 1e-6);
  EXPECT_THAT(a.notes, Contains(HasSubstr("the optimizer's work is divided")));
}

TEST(WhatIf, ReplicasByTheNetworkRoom) {
  TraceWhatIf w;
  w.dp = 64, w.node = "hgx-h100";
  const TraceAnswer a = ask(one_of_each(), w);
  const Catalog catalog;
  const auto time = [&](int ranks) {
    const Cluster cluster(catalog, catalog.gpu("h100-sxm"), ranks, "hgx-h100");
    ParallelPlan plan;
    plan.dp = ranks;
    Collective c;
    c.kind = Collective::Kind::kAllReduce, c.group = Collective::Group::kData, c.ranks = ranks;
    c.bytes = Bytes(2 * 8388608.0);
    return make_network_model(cluster, plan, "nccl", kBundle)->predict(c).time.value;
  };
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 1000 * (time(64) / time(8)), 0.1);
  EXPECT_EQ(a.time.origin, Origin::kTransferred);
}

TEST(WhatIf, AnotherGpu) {
  TraceWhatIf w;
  w.from_gpu = "a100-80g-sxm", w.gpu = "h100-sxm";
  const TraceAnswer a = ask(one_of_each(), w);
  const Catalog catalog;
  KernelClasses classes;
  classes.rows = "pytorch";
  Gemm g;
  g.m = 4096, g.k = 1024, g.n = 4096;
  const auto time = [&](const char* gpu) {
    return make_kernel_model(catalog.gpu(gpu), classes, kBundle)->predict(g).time.value;
  };
  EXPECT_NEAR(busy(a.what_if, OpClass::kGemm), 100 * (time("h100-sxm") / time("a100-80g-sxm")),
              1e-2);
  // 2.039 TB/s and 3.35 TB/s
  EXPECT_NEAR(busy(a.what_if, OpClass::kElementwise), 50 * 2.039 / 3.35, 0.1);
  EXPECT_LT(busy(a.what_if, OpClass::kCommunication), 1000);  // NVLink 3 to 4
  EXPECT_THAT(a.notes,
              Contains("h100-sxm instead of a100-80g-sxm; the times of the host do not change."));
  EXPECT_LT(a.time.quantile(0.05), a.time.value);
  EXPECT_GT(a.time.sigma(), 0.033);
}

TEST(WhatIf, TheSameGpuIsTheSameTime) {
  TraceWhatIf w;
  w.from_gpu = w.gpu = "h100-sxm";
  const TraceAnswer a = ask(one_of_each(), w);
  EXPECT_EQ(a.what_if.total, a.replayed.total);
}

// Half the tensor-parallel ranks: twice the work of each, the same activations over four ranks.
TEST(WhatIf, TensorDegree) {
  TraceWhatIf w;
  w.degrees.from_tp = 8, w.degrees.tp = 4;
  const TraceAnswer a = ask(one_of_each(), w);
  EXPECT_NEAR(busy(a.what_if, OpClass::kGemm), 200, 1e-6);
  EXPECT_NEAR(busy(a.what_if, OpClass::kOptimizer), 160, 1e-6);
  // 2 * 3/4 over 2 * 7/8
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 1000 * 6.0 / 7, 1e-3);
  w.degrees.tp = 1;
  EXPECT_EQ(busy(ask(one_of_each(), w).what_if, OpClass::kCommunication), 0);
  w.degrees.tp = 8;
  EXPECT_EQ(ask(one_of_each(), w).what_if.total, a.replayed.total);
}

// Twice the stages: half the layers, of which half the gradients are reduced; idle time goes from
// 1/2 to 3/4 of a stage's work per micro-batch and stage.
TEST(WhatIf, PipelineStages) {
  TracedMachine m = one_of_each();
  m.launch(1, 7, "ncclDevKernel_SendRecv", 60);
  TraceWhatIf w;
  w.degrees.from_pp = 2, w.degrees.pp = 4;
  const TraceAnswer a = ask(m, w);
  EXPECT_NEAR(busy(a.what_if, OpClass::kGemm), 50, 1e-6);
  EXPECT_NEAR(busy(a.what_if, OpClass::kElementwise), 25, 1e-6);
  EXPECT_NEAR(busy(a.what_if, OpClass::kCommunication), 500 + 60 * 1.5, 1e-3);
  w.degrees.pp = 1;
  EXPECT_NEAR(busy(ask(m, w).what_if, OpClass::kCommunication), 2000, 1e-3);
}

std::string refusal(const TracedMachine& m, const TraceWhatIf& w) {
  return refusal_of([&] { ask(m, w); });
}

TEST(WhatIfRefuses, QuestionsThatTheTraceCannotAnswer) {
  TraceWhatIf w;
  w.gpu = "h100-sxm";
  EXPECT_THAT(refusal(one_of_each(), w),
              HasSubstr("needs --from-gpu, the GPU that was traced ('NVIDIA H100"));
  w.from_gpu = "h1000";
  EXPECT_THAT(refusal(one_of_each(), w), HasSubstr("h1000"));
  TraceWhatIf dp;
  dp.dp = 4;
  TracedMachine alone;
  alone.launch(1, 7, "nvjet", 10);
  EXPECT_THAT(refusal(alone, dp), HasSubstr("--dp: the trace has no collective"));
  TracedMachine two = one_of_each("allreduce", 8);
  two.launch(1, 7, "ncclDevKernel_AllReduce", 10,
             R"("Collective name": "allreduce", "Group size": 2)");
  EXPECT_THAT(refusal(two, dp), HasSubstr("the trace has collectives of 2, 8 ranks"));
  dp.from_dp = 3;
  EXPECT_THAT(refusal(two, dp), HasSubstr("--from-dp 3: the trace has collectives of 2, 8 ranks"));
  TraceWhatIf degrees;
  degrees.degrees.tp = 4, degrees.degrees.from_tp = 16;
  EXPECT_THAT(refusal(two, degrees), HasSubstr("--tp 4: the trace has no collective of 16 ranks"));
  degrees.degrees = {.tp = 0, .from_tp = 0, .pp = 4, .from_pp = 1};
  EXPECT_THAT(refusal(two, degrees),
              HasSubstr("--pp 4 needs --from-pp, the number of traced stages"));
  dp.from_dp = 8;
  EXPECT_EQ(refusal(two, dp), "");
  dp.dp = 1 << 30;
  EXPECT_THAT(refusal(two, dp), HasSubstr("--dp 1073741824: expected 1 to"));
}

TEST(WhatIfRefuses, Scales) {
  const auto message = [](const char* text) {
    TraceWhatIf w;
    return refusal_of([&] { add_scale(w, text); });
  };
  EXPECT_THAT(message("gem=0.5"), HasSubstr("did you mean 'gemm'?"));
  EXPECT_THAT(message("gemm"), HasSubstr("expected CLASS=FACTOR"));
  EXPECT_THAT(message("gemm=-1"), HasSubstr("expected a factor from 0 to 1000"));
  EXPECT_THAT(message("gemm=fast"), HasSubstr("expected a factor"));
  EXPECT_THAT(message("gemm=nan"), HasSubstr("expected a factor"));
}

// 34 GFLOP in 10 us are 3.4 PFLOP/s, 3.5 times the dense bf16 peak of an H100.
TEST(WhatIf, KernelsAboveThePeakAreNamedAndLessCertain) {
  TracedMachine m;
  m.inside(1, "cpu_op", "aten::mm",
           R"("Input Dims": [[4096, 1024], [1024, 4096]], "Input type": ["c10::BFloat16"])",
           [&] { m.launch(1, 7, "nvjet_hsh", 10); });
  TraceWhatIf w;
  w.from_gpu = "h100-sxm", w.gpu = "h200-sxm";
  const TraceAnswer fast = ask(m, w);
  EXPECT_THAT(fast.notes, Contains(HasSubstr("faster than the peak of h100-sxm, aten::mm by 3.5")));
  const TraceAnswer possible = ask(one_of_each(), w);
  EXPECT_THAT(possible.notes, Not(Contains(HasSubstr("faster than the peak"))));
  // The product is about half of the iteration, whose rest is the launch: log 3.5 times its share.
  EXPECT_GT(fast.time.sigma(), 0.3);
}

TEST(WhatIf, CollectivesWithoutSizesAreCountedAndLessCertain) {
  TracedMachine m;
  m.launch(1, 7, "ncclDevKernel_Sum", 1000, R"("Collective name": "allreduce", "Group size": 8)");
  TraceWhatIf w;
  w.dp = 16, w.from_gpu = "h100-sxm", w.gpu = "h100-sxm";
  const TraceAnswer a = ask(m, w);
  EXPECT_THAT(a.notes, Contains(HasSubstr("1 collectives have no sizes in the trace")));
  EXPECT_GT(a.time.sigma(), 0.15);
  TracedMachine unknown;
  unknown.launch(1, 7, "ncclDevKernel_Generic", 1000);
  w.dp = 0;
  const TraceAnswer b = ask(unknown, w);
  EXPECT_THAT(b.notes, Contains(HasSubstr("1 collectives have no kind or no number of ranks")));
  EXPECT_GT(b.time.sigma(), 0.4);
}

}  // namespace trace_what_if_test
}  // namespace orrery
