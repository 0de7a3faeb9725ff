// Activations in flight as the memory room has them in closed form, against the event level of the
// pipeline: on equal chunks no stage holds more, and the fullest stage holds exactly that.
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/memory/training_memory.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/training/events/pipeline.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace training_memory_law_test {

TEST(TrainingMemoryLaw, InFlightIsTheEventLevelsPeak) {
  int shapes = 0;
  for (const PipelineScheduleKind& kind : pipeline_schedule_kinds()) {
    for (const int stages : {2, 3, 4, 8}) {
      for (const int rounds : {1, 2, 5}) {
        TrainingJob job;
        job.plan.schedule = kind.name;
        job.plan.pp = stages;
        job.plan.vp = pipeline_schedule(kind.name).least_chunks();
        job.global_batch = stages * rounds;
        const PipelineShape shape = shape_of(job);
        try {
          pipeline_schedule(kind.name).check(shape);
        } catch (const Infeasible&) {
          continue;
        }
        PipelineQuestion question;
        question.shape = shape;
        ScheduledChunk equal;
        equal.forward = equal.backward_input = equal.backward_weight = Seconds(1);
        question.chunks.assign(static_cast<std::size_t>(shape.virtual_stages()), equal);
        const PipelineResult result = run_pipeline(pipeline_schedule(kind.name), question);
        double fullest = 0, most = 0;
        for (int s = 0; s < stages; ++s) {
          const StageLoad load = classic_load(job, s);
          EXPECT_EQ(load.chunks, chunks_of_stage(job, s)) << kind.name << " stage " << s;
          const double held = load.in_flight * static_cast<double>(load.chunks.size());
          const double peak = result.peak_activations[static_cast<std::size_t>(s)];
          EXPECT_LE(peak, held + 1e-9)
              << kind.name << " p " << stages << " m " << job.global_batch << " stage " << s;
          fullest = std::max(fullest, peak);
          most = std::max(most, held);
        }
        EXPECT_NEAR(fullest, most, 1e-9) << kind.name << " p " << stages << " rounds " << rounds;
        ++shapes;
      }
    }
  }
  EXPECT_GT(shapes, 60);
}

// Twice as many data-parallel ranks share the states: no rank holds more, at any ZeRO stage.
TEST(TrainingMemoryLaw, MoreShardsNeverAddMemory) {
  const Bundle bundle;
  const Gpu gpu = Catalog(bundle).gpu("h100-sxm");
  for (const char* model : {"llama-3-8b", "mixtral-8x7b"}) {
    const Architecture m = load_model(model, bundle);
    for (const char* stack : {"megatron", "fsdp", "deepspeed", "hf"}) {
      const TrainingMemoryConstants constants = load_training_memory(stack, bundle);
      for (int zero = 0; zero <= 3; ++zero) {
        Bytes before(1e18);
        for (int dp = 2; dp <= 256; dp *= 2) {
          TrainingJob job;
          job.plan.zero = zero, job.plan.dp = dp;
          job.global_batch = 4 * dp;
          const Bytes now = training_memory(m, job, constants, gpu).total();
          EXPECT_LE(now, before) << model << " " << stack << " zero " << zero << " dp " << dp;
          if (zero > 0) {
            EXPECT_LT(now, before);
          }
          before = now;
        }
      }
    }
  }
}

}  // namespace training_memory_law_test
}  // namespace orrery
