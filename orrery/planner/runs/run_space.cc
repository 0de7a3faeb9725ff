#include "orrery/planner/runs/run_space.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/scenario/kinds/training/training_question.h"

namespace orrery {
namespace {

// Where nothing else limits the number of GPUs: the size of the largest runs that are published
// (Llama 3 405B had 16,384 GPUs).
constexpr std::int64_t kMostGpus = 16384;
constexpr std::int64_t kWidestContext = 8, kLargestMicroBatch = 16;

std::vector<std::int64_t> powers(std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// The divisors of n, ascending.
std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= n; ++d)
    if (n % d == 0) out.push_back(d);
  return out;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

// The degrees of expert parallelism: 1, and powers of two that divide all numbers of experts.
std::vector<std::int64_t> expert_degrees(const Architecture& model) {
  std::int64_t experts = 0;
  for (const LayerSpec& s : model.layers.specs())
    if (const auto* m = std::get_if<MoeMlp>(&s.mlp))
      experts = experts == 0 ? m->experts : std::min<std::int64_t>(experts, m->experts);
  std::vector<std::int64_t> out = {1};
  for (std::int64_t n = 2; n <= experts && experts % n == 0; n *= 2) out.push_back(n);
  return out;
}

Recompute recompute_of(const std::string& name) {
  for (const Recompute r : {Recompute::kNone, Recompute::kSelective, Recompute::kFull})
    if (to_text(r) == name) return r;
  throw InputError(fmt::format("plan.recompute: no such choice '{}'", name));
}

}  // namespace

RunSpace run_space(const PlanQuestion& question, const Architecture& model, std::int64_t node) {
  const PlanChoice& plan = question.choice;
  const TrainingQuestion& run = *question.training;
  const auto chosen = [](const std::vector<std::int64_t>& wanted, std::vector<std::int64_t> all) {
    return sorted(wanted.empty() ? std::move(all) : wanted);
  };
  RunSpace out;
  for (const std::string& name : plan.formats) {
    const auto format = name == "checkpoint" ? run.job.precision.compute : parse_dtype(name);
    if (!format)
      throw InputError(fmt::format("plan.formats: '{}' is no number format, as bf16 or fp8", name));
    if (std::find(out.formats.begin(), out.formats.end(), *format) == out.formats.end())
      out.formats.push_back(*format);
  }
  const std::vector<std::int64_t> of_layers = divisors(model.layers.size());
  out.tp = chosen(plan.tp, powers(node));
  out.cp = chosen(plan.cp, powers(kWidestContext));
  out.pp = chosen(plan.pp, of_layers);
  out.vp = chosen(plan.vp, of_layers);
  out.ep = chosen(plan.ep, expert_degrees(model));
  out.micro_batch = chosen(plan.micro_batch, powers(kLargestMicroBatch));
  out.zero = chosen(plan.zero, {stack_of(run).zero, 3});
  for (const std::string& name : plan.recompute) out.recompute.push_back(recompute_of(name));
  return out;
}

std::vector<std::int64_t> gpu_counts(const PlanQuestion& question, const GpuStock& stock) {
  const PlanChoice& plan = question.choice;
  std::int64_t most = kMostGpus;
  if (stock.gpus > 0) most = stock.gpus;
  if (plan.gpus > 0) most = stock.gpus > 0 ? std::min(most, plan.gpus) : plan.gpus;
  std::vector<std::int64_t> all = plan.gpu_counts;
  if (all.empty()) {
    all = powers(most);
    all.push_back(most);
  }
  all = sorted(std::move(all));
  std::erase_if(all, [most](std::int64_t n) { return n > most; });
  if (all.empty())
    throw InputError(fmt::format("plan.gpu_counts: all are above the {} GPUs of {} that there are",
                                 most, stock.gpu));
  return all;
}

}  // namespace orrery
