// Collectives are predicted for every step of a search: warm, without allocation.
#include <benchmark/benchmark.h>

#include "orrery/network/collectives/make_network.h"

namespace {

using namespace orrery;

void BM_Collective(benchmark::State& state, const char* gpu, ParallelPlan plan, Collective c) {
  const Catalog catalog;
  const auto model = make_network_model(Cluster(catalog, catalog.gpu(gpu), plan.devices()), plan,
                                        "vllm", Bundle());
  double size = 1e6;
  for (auto _ : state) {
    c.bytes = Bytes(size);
    size = size > 1e9 ? 1e6 : size * 1.01;
    benchmark::DoNotOptimize(model->predict(c));
  }
}
using K = Collective::Kind;
using G = Collective::Group;
BENCHMARK_CAPTURE(BM_Collective, all_reduce_8, "h100-sxm", {.tp = 8},
                  {K::kAllReduce, G::kTensor, 8, Bytes(1)});
BENCHMARK_CAPTURE(BM_Collective, all_reduce_1024, "h100-sxm", {.tp = 8, .dp = 128},
                  {K::kAllReduce, G::kExpert, 1024, Bytes(1)});
BENCHMARK_CAPTURE(BM_Collective, all_gather_strided, "h100-sxm", {.tp = 8, .dp = 128},
                  {K::kAllGather, G::kData, 128, Bytes(1)});
BENCHMARK_CAPTURE(BM_Collective, all_to_all_64, "h100-sxm", {.tp = 1, .dp = 64, .ep = 64},
                  {K::kAllToAll, G::kExpert, 64, Bytes(1)});

}  // namespace
