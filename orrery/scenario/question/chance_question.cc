#include "orrery/scenario/question/chance_question.h"

namespace orrery {

void declare(Fields& f, ChanceQuestion& q) {
  f.add("gpu_variability", q.variability.gpu,
        "deviation of the logarithm of a GPU's speed, for the whole run (0.02 to 0.05)")
      .range(0, 1);
  f.add("step_variability", q.variability.step, "the same of a rank from step to step").range(0, 1);
  f.add("failures_per_gpu_day", q.failures_per_gpu_day,
        "failures that stop the job (Llama 3 405B on 16,384 H100: 0.000474)")
      .range(0, 10);
  f.add("checkpoint_write", q.checkpoint_write, "what a checkpoint takes from the job");
  f.add("checkpoint_interval", q.checkpoint_interval, "work between checkpoints; 0 s: the best");
  f.add("restart", q.restart, "from a failure to the first step after it");
  f.add("degraded_links_per_gpu_day", q.degraded_links_per_gpu_day, "links that become slow")
      .range(0, 10);
  f.add("link_repair", q.link_repair, "until a degraded link is repaired");
  f.add("degraded_slowdown", q.degraded_slowdown, "of an iteration while a link is degraded")
      .range(1, 100);
  f.add("stalls_per_iteration", q.stalls_per_iteration, "chance that the loader is late")
      .range(0, 1);
  f.add("stall", q.stall, "mean time that a late loader costs");
  f.add("draws", q.draws, "of the Monte Carlo").range(10, 100'000);
}

}  // namespace orrery
