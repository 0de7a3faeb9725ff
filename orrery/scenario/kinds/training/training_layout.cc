#include "orrery/scenario/kinds/training/training_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// The job with the settings that the question leaves open, without its data-parallel ranks.
TrainingJob declared(const TrainingQuestion& q) {
  TrainingJob job = q.job;
  const TrainingStackProfile& stack = stack_of(q);
  job.plan.zero = q.zero.value_or(stack.zero);
  job.plan.sequence_parallel = q.sequence_parallel.value_or(stack.sequence_parallel);
  job.plan.dispatcher = q.dispatcher.value_or(ExpertDispatcher::kAllToAll);
  job.recompute = q.recompute.value_or(Recompute::kNone);
  set_stack_defaults(job, stack.memory);
  return job;
}

}  // namespace

TrainingJob job_of(const TrainingQuestion& q) {
  TrainingJob job = declared(q);
  TrainingPlan& plan = job.plan;
  if (plan.split.empty() && !plan.rule.given() && !q.best_split)
    plan.rule.balanced = stack_of(q).balanced_split && plan.pp > 1 && plan.vp == 1;
  if (plan.tp == 1) plan.sequence_parallel = false;
  const std::int64_t of_a_copy = std::int64_t{plan.tp} * plan.cp * plan.pp;
  plan.dp = static_cast<int>(std::max<std::int64_t>(1, q.gpus / of_a_copy));
  if (!q.zero && plan.data_ranks() == 1) plan.zero = 0;
  job.global_batch = q.global_batch.value_or(job.micro_batch * plan.dp);
  return job;
}

void check_devices(const TrainingJob& job, std::int64_t gpus) {
  const TrainingPlan& p = job.plan;
  if (p.devices() == gpus) return;
  throw Infeasible(fmt::format("{} GPUs do not divide by tp {} x cp {} x pp {} = {}", gpus, p.tp,
                               p.cp, p.pp, std::int64_t{p.tp} * p.cp * p.pp));
}

TrainingJob layout_of(const TrainingQuestion& q) {
  if (q.best_split)
    throw InputError("split auto is an answer to a question: give the layers of each stage");
  const TrainingJob job = job_of(q);
  check_devices(job, q.gpus);
  return job;
}

std::vector<Undeclared> undeclared(const TrainingQuestion& q, const TrainingJob& job) {
  std::vector<Undeclared> out;
  if (q.stack.empty()) out.push_back({"stack", "megatron", 0.15});
  if (!q.recompute) out.push_back({"recompute", "none", 0.08});
  if (!q.zero && job.plan.data_ranks() > 1)
    out.push_back({"zero", std::to_string(job.plan.zero), 0.03});
  if (!q.sequence_parallel && job.plan.tp > 1)
    out.push_back({"sequence_parallel", job.plan.sequence_parallel ? "true" : "false", 0.02});
  if (!q.dispatcher && job.plan.ep > 1) out.push_back({"dispatcher", "alltoall", 0.05});
  return out;
}

std::optional<double> run_steps(const TrainingQuestion& q, const TrainingJob& job) {
  if (int{q.tokens.has_value()} + int{q.samples.has_value()} + int{q.iterations.has_value()} > 1)
    throw InputError("training: expected one of tokens, samples and iterations");
  const double batch = static_cast<double>(job.global_batch);
  if (q.tokens) return std::ceil(*q.tokens / (batch * static_cast<double>(job.seq)));
  if (q.samples) return std::ceil(*q.samples / batch);
  if (q.iterations) return static_cast<double>(*q.iterations);
  return std::nullopt;
}

}  // namespace orrery
