#include "orrery/training/chance/chance.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

void check(const ChanceQuestion& q) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const auto range = [](double value, double least, double most, std::string_view what) {
    if (value >= least && value <= most) return;
    throw InputError(fmt::format("{} of {} is not {}", what, value,
                                 most == 1 ? fmt::format("between {} and 1", least)
                                           : fmt::format("a number of at least {}", least)));
  };
  range(q.iteration.value(), 0, kMost, "an iteration's time");
  range(q.iterations, 1, kMost, "a number of iterations");
  range(static_cast<double>(q.gpus), 1, kMost, "a number of GPUs");
  range(q.variability.gpu, 0, 1, "variability between GPUs");
  range(q.variability.step, 0, 1, "variability between steps");
  range(q.failures_per_gpu_day, 0, kMost, "failures a GPU and day");
  range(q.checkpoint_write.value(), 0, kMost, "a checkpoint's write time");
  range(q.checkpoint_interval.value(), 0, kMost, "a checkpoint interval");
  range(q.restart.value(), 0, kMost, "a restart time");
  range(q.degraded_links_per_gpu_day, 0, kMost, "degraded links a GPU and day");
  range(q.link_repair.value(), 0, kMost, "a link's repair time");
  range(q.degraded_slowdown, 1, kMost, "slowdown by a degraded link");
  range(q.stalls_per_iteration, 0, 1, "stalls an iteration");
  range(q.stall.value(), 0, kMost, "a stall's time");
  range(q.draws, 1, kMost, "a number of draws");
}

SampleSummary summary(const std::vector<double>& sample) {
  const double mean =
      std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
  return {Seconds(mean), Seconds(quantile(sample, 0.05)), Seconds(quantile(sample, 0.5)),
          Seconds(quantile(sample, 0.95))};
}

// The interval between checkpoints; infinite: one checkpoint at the end.
Seconds interval_of(const ChanceQuestion& q, Hertz failures, Seconds iteration) {
  if (q.checkpoint_interval > Seconds(0)) return q.checkpoint_interval;
  if (failures == Hertz(0)) return Seconds(std::numeric_limits<double>::infinity());
  if (q.checkpoint_write == Seconds(0)) return iteration;
  return std::max(optimal_interval(q.checkpoint_write, failures), iteration);
}

// Moves a stream to the first number of a draw.
void begin(RandomStream& stream, std::size_t draw) { stream.seek(std::uint64_t{draw} << 32); }

// The results that follow without draws, and the checkpoints of a run.
struct Expected {
  ChanceResult result;
  CheckpointPlan plan;
  bool works = true;  // false: an iteration takes no time
};

Expected expected(const ChanceQuestion& q) {
  check(q);
  const double nominal = q.iteration.value();
  const double sigma = std::hypot(q.variability.gpu, q.variability.step);
  const double stall = q.stall.value(), late = q.stalls_per_iteration;

  Expected e;
  ChanceResult& out = e.result;
  out.slowest_rank = slowest_mean(q.gpus, sigma);
  const double ranks = static_cast<double>(q.gpus);
  const Hertz degraded_links = failure_rate(q.degraded_links_per_gpu_day, ranks);
  out.degraded_share = -std::expm1(-(degraded_links * q.link_repair));
  const double links = 1 + out.degraded_share * (q.degraded_slowdown - 1);
  const Seconds mean_iteration(nominal * out.slowest_rank * links + late * stall);
  const Seconds mean_work = mean_iteration * q.iterations;
  if (mean_work == Seconds(0)) return e.works = false, e;
  CheckpointPlan& plan = e.plan;
  plan.failures = failure_rate(q.failures_per_gpu_day, ranks);
  plan.write = q.checkpoint_write;
  plan.restart = q.restart;
  plan.interval = interval_of(q, plan.failures, mean_iteration);
  out.checkpoint_interval = std::min(plan.interval, mean_work);
  out.expected = expected_run(mean_work, plan);
  return e;
}

}  // namespace

ChanceResult expected_chance(const ChanceQuestion& q) { return expected(q).result; }

ChanceResult training_chance(const ChanceQuestion& q) {
  const Expected e = expected(q);
  ChanceResult out = e.result;
  if (!e.works) return out;
  const CheckpointPlan& plan = e.plan;
  const double nominal = q.iteration.value();
  const double sigma = std::hypot(q.variability.gpu, q.variability.step);
  const double stall = q.stall.value(), late = q.stalls_per_iteration;
  const double links = 1 + out.degraded_share * (q.degraded_slowdown - 1);

  const auto draws = static_cast<std::size_t>(q.draws);
  std::vector<double> iteration(draws), total(draws);
  tbb::parallel_for(std::size_t{0}, draws, [&](std::size_t k) {
    RandomStream gpus(q.seed, "gpus"), steps(q.seed, "steps"), link(q.seed, "links"),
        loader(q.seed, "loader"), failures(q.seed, "failures");
    for (RandomStream* s : {&gpus, &steps, &link, &loader, &failures}) begin(*s, k);

    // One iteration of one run.
    const double slowest = slowest_quantile(q.gpus, sigma, std::max(steps.uniform(), 0x1p-54));
    const double degraded = link.uniform() < out.degraded_share ? q.degraded_slowdown : 1;
    const double waits = loader.uniform() < late ? stall * loader.exponential() : 0;
    iteration[k] = nominal * slowest * degraded + waits;

    // All iterations of one run.
    const RunFactor run = random_run_factor(q.gpus, q.variability, gpus);
    const double one = nominal * run.mean * links + late * stall;
    const double spread =
        std::hypot(nominal * run.deviation * links, stall * std::sqrt(late * (2 - late)));
    const double work = q.iterations * one + std::sqrt(q.iterations) * spread * steps.normal();
    total[k] = random_run(Seconds(std::max(work, 0.0)), plan, failures).value();
  });
  out.iteration = summary(iteration);
  out.total = summary(total);
  return out;
}

}  // namespace orrery
