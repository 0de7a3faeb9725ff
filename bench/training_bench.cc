// The cost of a search over training layouts: one iteration from kernels and collectives to a time,
// and layouts a second with those that break a rule counted.
#include <benchmark/benchmark.h>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/network/collectives/make_network.h"
#include "orrery/training/events/iteration_events.h"

namespace {

using namespace orrery;

// Megatron's 1T model on 4,096 A100.
struct Setting {
  Bundle bundle;
  Architecture model = load_model("megatron-1t", bundle);
  Catalog catalog{bundle};
  Gpu gpu = catalog.gpu("a100-80g-sxm");
  Cluster cluster{catalog, gpu, 4096};
  std::unique_ptr<KernelModel> kernels = make_kernel_model(gpu, {}, bundle);
  std::unique_ptr<NetworkModel> network = make_network_model(cluster, {}, "nccl", bundle);
  ConstantTable table = read_constant_table(bundle);
  IterationModel iterations{model, cluster, *kernels, *network};

  Seconds time(const TrainingJob& job) const {
    const TrainingConstants k = training_constants(table, "megatron", gpu, job.precision);
    return iteration_time(iterations.parts(job, {true}), k, job).total;
  }
};

TrainingJob job_1t() {
  TrainingJob job;
  job.plan.tp = 8, job.plan.pp = 64, job.plan.dp = 8, job.plan.sequence_parallel = true;
  job.plan.zero = 1;
  job.recompute = Recompute::kSelective;
  job.global_batch = 512;  // 64 micro-batches
  return job;
}

void BM_Iteration1T(benchmark::State& state) {
  const Setting s;
  const TrainingJob job = job_1t();
  check_job(s.model, job);
  for (auto _ : state) benchmark::DoNotOptimize(s.time(job));
}
BENCHMARK(BM_Iteration1T)->Unit(benchmark::kMicrosecond);

void BM_IterationEvents1T(benchmark::State& state) {
  const Setting s;
  const TrainingJob job = job_1t();
  const TrainingConstants k = training_constants(s.table, "megatron", s.gpu, job.precision);
  for (auto _ : state)
    benchmark::DoNotOptimize(iteration_events(s.iterations.parts(job, {true}), k, job).total);
}
BENCHMARK(BM_IterationEvents1T)->Unit(benchmark::kMicrosecond);

// Every tp, pp, vp, micro-batch, sequence parallelism, sharding and recomputation of 4,096 GPUs.
void BM_Layouts1T(benchmark::State& state) {
  const Setting s;
  std::int64_t layouts = 0, answered = 0;
  for (auto _ : state) {
    for (int tp = 1; tp <= 16; tp *= 2)
      for (int pp = 1; pp <= 128; pp *= 2)
        for (int vp = 1; vp <= 8; vp *= 2)
          for (int micro = 1; micro <= 8; micro *= 2)
            for (int variant = 0; variant < 12; ++variant) {
              ++layouts;
              TrainingJob job;
              job.plan.tp = tp, job.plan.pp = pp, job.plan.vp = vp;
              job.plan.dp = 4096 / (tp * pp);
              job.micro_batch = micro, job.global_batch = 4096;
              job.plan.sequence_parallel = variant % 2 == 1;
              job.plan.zero = variant / 2 % 2;
              job.recompute = static_cast<Recompute>(variant / 4);
              if (job.plan.dp < 1) continue;
              try {
                check_job(s.model, job);
              } catch (const Infeasible&) {
                continue;
              }
              benchmark::DoNotOptimize(s.time(job));
              ++answered;
            }
  }
  state.SetItemsProcessed(layouts);
  state.counters["answered"] =
      static_cast<double>(answered) / static_cast<double>(std::max<std::int64_t>(1, layouts));
}
BENCHMARK(BM_Layouts1T)->Unit(benchmark::kMillisecond);

}  // namespace
