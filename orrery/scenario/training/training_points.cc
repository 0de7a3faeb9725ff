#include "orrery/scenario/training/training_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/scenario/bounds/physical_bounds.h"
#include "orrery/scenario/training/training_answer.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// The job with what is not swept.
TrainingJob declared(const TrainingQuestion& q) {
  TrainingJob job = q.job;
  if (q.split != Sweep{0}) job.plan.split = q.split;
  const TrainingStackKind& stack = stack_of(q);
  job.plan.zero = q.zero.value_or(stack.zero);
  job.plan.sequence_parallel = q.sequence_parallel.value_or(stack.sequence_parallel);
  if (q.dispatcher == "allgather") job.plan.dispatcher = ExpertDispatcher::kAllGather;
  if (q.dispatcher == "flex") job.plan.dispatcher = ExpertDispatcher::kFlex;
  if (q.recompute == "selective") job.recompute = Recompute::kSelective;
  if (q.recompute == "full") job.recompute = Recompute::kFull;
  return job;
}

// The points of the sweep in order; what is wrong with a layout is said later.
template <class Visit>
void each_layout(const TrainingQuestion& q, Visit visit) {
  for (const auto gpus : q.gpus)
    for (const auto tp : q.tp)
      for (const auto cp : q.cp)
        for (const auto pp : q.pp)
          for (const auto vp : q.vp)
            for (const auto ep : q.ep)
              for (const auto seq : q.seq)
                for (const auto micro : q.micro_batch) {
                  TrainingJob job = declared(q);
                  job.plan.tp = static_cast<int>(tp), job.plan.cp = static_cast<int>(cp);
                  job.plan.pp = static_cast<int>(pp), job.plan.vp = static_cast<int>(vp);
                  job.plan.ep = static_cast<int>(ep);
                  if (tp == 1) job.plan.sequence_parallel = false;
                  job.seq = seq, job.micro_batch = micro;
                  job.plan.dp = static_cast<int>(std::max<std::int64_t>(1, gpus / (tp * cp * pp)));
                  if (!q.zero && job.plan.data_ranks() == 1) job.plan.zero = 0;
                  for (const auto global : q.global_batch) {
                    job.global_batch = global > 0 ? global : micro * job.plan.dp;
                    visit(job, gpus);
                  }
                }
}

void check_devices(const TrainingJob& job, std::int64_t gpus) {
  const TrainingPlan& p = job.plan;
  if (p.devices() == gpus) return;
  throw Infeasible(fmt::format("{} GPUs do not divide by tp {} x cp {} x pp {} = {}", gpus, p.tp,
                               p.cp, p.pp, std::int64_t{p.tp} * p.cp * p.pp));
}

nlohmann::ordered_json place_of(const TrainingQuestion& q, const TrainingSetting& s,
                                const TrainingJob& job, std::int64_t gpus) {
  const TrainingPlan& p = job.plan;
  nlohmann::ordered_json at = {{"model", s.model.id},
                               {"gpu", s.gpu.id},
                               {"gpus", gpus},
                               {"tp", p.tp},
                               {"cp", p.cp},
                               {"pp", p.pp},
                               {"vp", p.vp},
                               {"dp", p.dp},
                               {"ep", p.ep},
                               {"seq", job.seq},
                               {"micro_batch", job.micro_batch},
                               {"global_batch", job.global_batch}};
  // A size that is 1 at every point is left out.
  const auto drop = [&](const char* key, const Sweep& sweep) {
    if (sweep.size() == 1 && sweep[0] == 1) at.erase(key);
  };
  drop("cp", q.cp), drop("pp", q.pp), drop("vp", q.vp), drop("ep", q.ep);
  return at;
}

}  // namespace

TrainingJob only_layout(const TrainingQuestion& q) {
  std::vector<TrainingJob> jobs;
  each_layout(q, [&](const TrainingJob& job, std::int64_t gpus) {
    check_devices(job, gpus);
    jobs.push_back(job);
  });
  if (jobs.size() != 1)
    throw InputError(fmt::format("one layout expected, got {}: say each swept size", jobs.size()));
  return std::move(jobs[0]);
}

std::vector<Undeclared> undeclared(const TrainingQuestion& q, const TrainingJob& job) {
  std::vector<Undeclared> out;
  if (q.stack.empty()) out.push_back({"stack", "megatron", 0.15});
  if (q.recompute.empty()) out.push_back({"recompute", "none", 0.08});
  if (!q.zero && job.plan.data_ranks() > 1)
    out.push_back({"zero", std::to_string(job.plan.zero), 0.03});
  if (!q.sequence_parallel && job.plan.tp > 1)
    out.push_back({"sequence_parallel", job.plan.sequence_parallel ? "true" : "false", 0.02});
  if (q.dispatcher.empty() && job.plan.ep > 1) out.push_back({"dispatcher", "alltoall", 0.05});
  return out;
}

std::optional<double> run_steps(const TrainingQuestion& q, const TrainingJob& job) {
  if (int{q.tokens.has_value()} + int{q.samples.has_value()} + int{q.iterations.has_value()} > 1)
    throw InputError("training: one of tokens, samples and iterations says how long the run is");
  const double batch = static_cast<double>(job.global_batch);
  if (q.tokens) return std::ceil(*q.tokens / (batch * static_cast<double>(job.seq)));
  if (q.samples) return std::ceil(*q.samples / batch);
  if (q.iterations) return static_cast<double>(*q.iterations);
  return std::nullopt;
}

std::vector<Point> answer_training(const TrainingQuestion& q, const TrainingSetting& s) {
  double count = 1;
  for (const Sweep* sweep :
       {&q.gpus, &q.tp, &q.cp, &q.pp, &q.vp, &q.ep, &q.seq, &q.micro_batch, &q.global_batch})
    count *= static_cast<double>(sweep->size());

  const Catalog catalog(s.bundle);
  TrainingAnswerer answerer(q, s, catalog);
  std::vector<Point> points;
  each_layout(q, [&](TrainingJob job, std::int64_t gpus) {
    Point p;
    p.at = place_of(q, s, job, gpus);
    try {
      check_devices(job, gpus);
      check_job(s.model, job);
      if (job.plan.pp > 1) schedule_of(job.plan).check(shape_of(job));
      answerer.answer(job, p);
      if (s.bounds) {
        job.micro_batch = p.at["micro_batch"], job.global_batch = p.at["global_batch"];
        const double tokens = static_cast<double>(job.global_batch * job.seq);
        bound_training(s.model, s.gpu, job, run_steps(q, job).value_or(0) * tokens, p);
      }
    } catch (const Infeasible& e) {
      if (count == 1) throw;
      p.feasibility = {false, e.what()};
    }
    points.push_back(std::move(p));
  });
  answerer.compare(points);
  if (s.bounds) {
    for (Point& p : points) bound_below(p, "scaling_efficiency", 0, "not negative");
  }
  return points;
}

}  // namespace orrery
