#include "orrery/scenario/fleet/service_power.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "orrery/scenario/setup/board_governor.h"
#include "orrery/serving/steps/step_work.h"

namespace orrery {
namespace {

// Mean number of prompt tokens of a prompt's part in one step, at least one.
SequenceGroup mean_prompt(const ReplicaCounts& sum, double requests, double steps) {
  const double tokens = real(sum.prompt_tokens) / steps;
  const double prompts = std::clamp(requests / steps, 1.0, std::max(1.0, tokens));
  return {std::llround(prompts), std::max<std::int64_t>(1, std::llround(tokens / prompts)), 0};
}

}  // namespace

void ServicePower::add_pool(const ServedModel& served) { pools_.push_back(&served); }

ClockedSteps ServicePower::work_of_pool(std::size_t pool, const ReplicaCounts& sum,
                                        const PoolConfig& config, double requests) const {
  const ServedModel& served = *pools_[pool];
  const StepModel& steps = *pools_[pool]->steps;
  const double sequences = real(sum.sequence_steps) / real(sum.steps);
  const double held =
      sum.used_block_seconds * real(config.replica.limits.block_size) - sum.slack_token_seconds;
  const double context = held / std::max(sum.busy.value(), 1e-12) * real(config.replica.ranks) /
                         std::max(sequences, 1.0);
  const SequenceGroup decode{std::max<std::int64_t>(1, std::llround(sequences)), 1,
                             std::max(1.0, context)};
  std::vector<ClockedSteps> kinds;
  if (sum.decode_steps > 0)
    kinds.push_back(clocked_steps(steps.time({{decode}}), real(sum.decode_steps)));
  const double prompt_steps = real(sum.steps - sum.decode_steps);
  if (prompt_steps > 0 && sum.prompt_tokens > 0) {
    Batch batch{{mean_prompt(sum, requests, prompt_steps)}};
    if (sum.decode_steps > 0) batch.groups.push_back(decode);
    kinds.push_back(clocked_steps(steps.time(batch), prompt_steps));
  }
  ClockedSteps all;
  Seconds time;
  for (const ClockedSteps& k : kinds) all.reference += k.reference, time += k.time;
  const double slowed = all.reference.time > Seconds(0) ? time / all.reference.time : 1;
  all.reference = all.reference.stretched(sum.busy / slowed, 1);
  all.time = sum.busy;
  if (!steps.governed()) return all;
  const Deployment& d = served.deployment;
  all.power = power_left(*constants_, d.gpu, d.engine.id, kinds), all.clock = mean_clock(kinds);
  return all;
}

void ServicePower::add_metrics(const SimulationConfig& config, const SimulationResult& result,
                               std::vector<Metric>& metrics) const {
  if (constants_ == nullptr || pools_.empty() || result.engine_time() <= Seconds(0)) return;
  const double done =
      real(std::count_if(result.records.begin(), result.records.end(),
                         [](const RequestRecord& q) { return q.outcome == Outcome::kDone; }));
  const double prompt_tokens = std::max(1.0, real(result.total().prompt_tokens));
  Joules energy;
  Hertz clocks;  // times busy_gpus
  Seconds gpu_time, busy_gpus;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const ServedModel& served = *pools_[p];
    const Gpu& gpu = served.deployment.gpu;
    if (!gpu.power) return;
    const double gpus = served.plan.devices();
    const ReplicaCounts sum = result.of_pool(p);
    const Seconds present = result.engine_times[p], busy = std::min(sum.busy, present);
    const StepPowerConstants::Board board = constants_->board(gpu.id);
    energy += *gpu.power * board.awake * ((present - busy) * gpus);
    if (busy > Seconds(0) && sum.steps > 0) {
      const PoolConfig& of_pool = p == 0 ? config : config.others[p - 1];
      const ClockedSteps work =
          work_of_pool(p, sum, of_pool, done * real(sum.prompt_tokens) / prompt_tokens);
      energy += clocked_step_power(*constants_, gpu, served.deployment.engine.id, served.knobs,
                                   std::span(&work, 1))
                    .value *
                (busy * gpus);
      if (served.steps->governed())
        clocks += *gpu.boost_clock * work.clock * (busy * gpus).value(), busy_gpus += busy * gpus;
    }
    gpu_time += present * gpus;
  }
  const auto put = [&](const char* name, const char* unit, double value) {
    metrics.push_back(exact_metric(name, unit, value));
  };
  put("power", "W", (energy / gpu_time).value());
  if (busy_gpus > Seconds(0)) put("clock", "MHz", clocks.value() / busy_gpus.value() / 1e6);
  put("energy", "kJ", energy.value() / 1e3);
  const double tokens = real(result.total().output_tokens);
  if (tokens > 0) put("energy_per_token", "J", energy.value() / tokens);
  if (done > 0) put("energy_per_request", "J", energy.value() / done);
}

bool ServicePower::states(const Metric& metric) {
  return metric.name == "power" || metric.name.starts_with("energy");
}

void ServicePower::widen(Metric& metric) const {
  double error = 0, most = 0;
  for (const ServedModel* served : pools_) {
    const Estimate<Watts> power =
        step_power(*constants_, served->deployment.gpu, served->deployment.engine.id,
                   {seconds(1), seconds(1), {}, {}, {}});
    error = std::max(error, std::hypot(power.shared, power.own));
    most = std::max(most, served->knobs.limit.value_or(*served->deployment.gpu.power).value());
    metric.origin = std::max(metric.origin, power.origin);
  }
  orrery::widen(metric, error);
  if (metric.name != "power") return;
  metric.high50 = std::min(metric.high50, most), metric.high90 = std::min(metric.high90, most);
}

}  // namespace orrery
