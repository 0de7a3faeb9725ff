// One iteration of a pipeline, event by event: the slow path of a training prediction.
#include <benchmark/benchmark.h>

#include "orrery/training/events/pipeline.h"

namespace {

using namespace orrery;

void BM_Pipeline(benchmark::State& state, const char* name, PipelineShape shape) {
  const PipelineSchedule& schedule = pipeline_schedule(name);
  PipelineQuestion q;
  q.shape = shape;
  for (int v = 0; v < shape.virtual_stages(); ++v) {
    ScheduledChunk c;
    c.forward = milliseconds(10 + v % 3);
    c.backward_input = milliseconds(11 + v % 2);
    c.backward_weight = milliseconds(9);
    c.parameter_gather = c.gradient_reduce = milliseconds(20);
    q.chunks.push_back(c);
  }
  q.send = milliseconds(0.5);
  q.overlap_slowdown = 1.1;
  for (auto _ : state) benchmark::DoNotOptimize(run_pipeline(schedule, q));
}
BENCHMARK_CAPTURE(BM_Pipeline, one_f_one_b_16_64, "1f1b", {16, 1, 64});
BENCHMARK_CAPTURE(BM_Pipeline, interleaved_16x4_64, "interleaved", {16, 4, 64});
BENCHMARK_CAPTURE(BM_Pipeline, zb_v_16_64, "zb-v", {16, 2, 64});
BENCHMARK_CAPTURE(BM_Pipeline, dualpipe_16_64, "dualpipe", {16, 1, 64});

}  // namespace
