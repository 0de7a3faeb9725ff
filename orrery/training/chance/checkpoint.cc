#include "orrery/training/chance/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// The number of whole segments, and the work of the last, shorter segment (0: there is none).
struct Segments {
  double whole = 0, rest = 0;
};
Segments segments_of(double work, double interval) {
  if (interval >= work) return {0, work};
  Segments s;
  s.whole = std::floor(work / interval);
  s.rest = work - s.whole * interval;
  if (s.rest < 1e-9 * interval) s.rest = 0;
  return s;
}

}  // namespace

Hertz failure_rate(double per_gpu_day, double gpus) { return Hertz(per_gpu_day * gpus / 86400); }

Seconds young_interval(Seconds write, Hertz failures) {
  return Seconds(std::sqrt(2 * write.value() / failures.value()));
}

Seconds daly_interval(Seconds write, Hertz failures) {
  const double x = write * failures / 2;
  if (x >= 1) return 1 / failures.value() * Seconds(1);
  return young_interval(write, failures) * (1 + std::sqrt(x) / 3 + x / 9) - write;
}

Seconds optimal_interval(Seconds write, Hertz failures) {
  const double d = write * failures;
  // The result is the root of log(1 - x) + x + d. This function is concave and falls, so Newton's
  // steps from the right of the root stay on the right.
  double x = std::min(std::sqrt(2 * d), -std::expm1(-1 - d));
  for (int i = 0; i < 50 && x > 0 && x < 1; ++i) {
    const double step = (std::log1p(-x) + x + d) * (1 - x) / x;
    x += step;
    if (std::abs(step) <= 1e-14 * x) break;
  }
  return Seconds(x / failures.value());
}

FailingRun expected_run(Seconds work, const CheckpointPlan& plan) {
  const double r = plan.failures.value(), write = plan.write.value();
  const Segments segments = segments_of(work.value(), plan.interval.value());
  FailingRun run;
  run.work = work;
  run.checkpoints = Seconds((segments.whole + (segments.rest > 0 ? 1 : 0)) * write);
  if (r == 0) {
    run.total = run.work + run.checkpoints;
    return run;
  }
  double attempts = 0;
  if (segments.whole > 0) {
    attempts += segments.whole * std::expm1(r * (plan.interval.value() + write));
  }
  if (segments.rest > 0) attempts += std::expm1(r * (segments.rest + write));
  run.restarts = Seconds(attempts * std::expm1(r * plan.restart.value()) / r);
  run.total = Seconds(attempts / r) + run.restarts;
  run.failures = plan.failures * run.total;
  run.rework = run.total - run.work - run.checkpoints - run.restarts;
  if (!std::isfinite(run.total.value()) || run.goodput() < 0.01) {
    throw Infeasible(fmt::format(
        "the job makes no progress: with a failure every {}, a checkpoint of {} after every {} of "
        "work and {} to restart, less than 1 % of the time is work",
        to_text(Seconds(1 / r)), to_text(plan.write), to_text(plan.interval),
        to_text(plan.restart)));
  }
  return run;
}

Seconds random_run(Seconds work, const CheckpointPlan& plan, RandomStream& random) {
  const double r = plan.failures.value(), write = plan.write.value();
  const double segment = plan.interval.value() + write;
  auto [whole, rest] = segments_of(work.value(), plan.interval.value());
  const auto left = [&] {
    return (whole > 0 ? whole * segment : 0) + (rest > 0 ? rest + write : 0);
  };
  if (r == 0) return Seconds(left());
  double wall = 0;
  double failure = random.exponential() / r;  // time to the next failure
  while (failure < left()) {
    whole -= std::min(whole, std::floor(failure / segment));
    wall += failure;
    // Failures also interrupt restarts. The rest of an exponential time is exponential again.
    failure = random.exponential() / r;
    while (failure < plan.restart.value()) {
      wall += failure;
      failure = random.exponential() / r;
    }
    wall += plan.restart.value();
    failure -= plan.restart.value();
  }
  return Seconds(wall + left());
}

}  // namespace orrery
