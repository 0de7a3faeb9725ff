#include "orrery/scenario/question/chance_question.h"

namespace orrery {

void declare(Fields& f, ChanceQuestion& q) {
  f.add("gpu_variability", q.variability.gpu,
        "standard deviation of the logarithm of the GPUs' speeds, constant during the run (usually "
        "0.02 to 0.05)")
      .range(0, 1);
  f.add("step_variability", q.variability.step,
        "standard deviation of the logarithm of a rank's speed from step to step")
      .range(0, 1);
  f.add("failures_per_gpu_day", q.failures_per_gpu_day,
        "failures per GPU and day that stop the job (Llama 3 405B on 16,384 H100: 0.000474)")
      .range(0, 10);
  f.add("checkpoint_write", q.checkpoint_write, "time that the job loses by a checkpoint");
  f.add("checkpoint_interval", q.checkpoint_interval,
        "time between checkpoints; 0 s: the best interval is chosen");
  f.add("restart", q.restart, "time from a failure to the next step");
  f.add("degraded_links_per_gpu_day", q.degraded_links_per_gpu_day,
        "links per GPU and day that become slow")
      .range(0, 10);
  f.add("link_repair", q.link_repair, "time until a slow link is repaired");
  f.add("degraded_slowdown", q.degraded_slowdown,
        "factor on the time of an iteration while a link is slow")
      .range(1, 100);
  f.add("stalls_per_iteration", q.stalls_per_iteration,
        "probability that the data loader is late in an iteration")
      .range(0, 1);
  f.add("stall", q.stall, "mean time that a late data loader costs");
  f.add("draws", q.draws, "number of random runs that are simulated").range(10, 100'000);
}

}  // namespace orrery
