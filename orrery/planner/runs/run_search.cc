#include "orrery/planner/runs/run_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/planner/question/plan_question.h"
#include "orrery/planner/runs/run_bound.h"
#include "orrery/planner/runs/run_launch.h"
#include "orrery/planner/runs/run_parts.h"
#include "orrery/planner/runs/run_space.h"
#include "orrery/planner/space/board_settings.h"
#include "orrery/scenario/kinds/training/training_layout.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/training/schedules/job_schedule.h"

namespace orrery {
namespace {

// The layouts of a type and a number of GPUs.
class Layouts {
 public:
  Layouts(const Scenario& question, const GpuStock& stock, const TrainingEvaluator& run,
          const std::vector<RunLaunch>& launches, RunSearch& out)
      : choice_(planned(question).choice),
        training_(*planned(question).training),
        stock_(stock),
        run_(run),
        launches_(launches),
        space_(run_space(planned(question), run.model(), run.gpus_of_node())),
        out_(out) {
    monotone_ = stack_of(training_).memory.gradient_buffer;
    if (!slower_boards_win(choice_.objective, run_.electricity())) return;
    for (const PowerKnobs& boards : board_settings(choice_, run_.gpu()))
      if (boards.any() && run_.takes(boards)) boards_.push_back(boards);
  }
  // The same layouts, of which others are counted in another search.
  Layouts(const Layouts& same, RunSearch& out)
      : choice_(same.choice_),
        training_(same.training_),
        stock_(same.stock_),
        run_(same.run_),
        launches_(same.launches_),
        space_(same.space_),
        out_(out),
        monotone_(same.monotone_),
        boards_(same.boards_) {}

  // The best of them. `others`: the best that are known already, of other numbers of GPUs.
  std::vector<RatedRun> best(std::int64_t gpus, const std::vector<RatedRun>& others,
                             SearchContext& context, QuestionKeys& keys) {
    best_.clear();
    if (!choice_.exhaustive) {
      if (const char* why = beaten(gpus, others); *why != 0) {
        const std::int64_t all = of_space();
        out_.layouts += all;
        out_.reject(why, all);
        return {};
      }
    }
    std::vector<RunLayout> parts;
    RunLayout l;
    l.gpus = gpus;
    for (const Dtype format : space_.formats) {
      l.format = format;
      if (run_.gpu().compute_dtype(format) != format) {
        const std::int64_t all = of_space() / static_cast<std::int64_t>(space_.formats.size());
        out_.layouts += all;
        out_.reject("the GPU does not multiply in the format", all);
        continue;
      }
      for (const std::int64_t tp : space_.tp)
        for (const std::int64_t cp : space_.cp)
          for (const std::int64_t pp : space_.pp) {
            l.tp = static_cast<int>(tp), l.cp = static_cast<int>(cp), l.pp = static_cast<int>(pp);
            parts.push_back(l);
          }
    }
    const auto ahead = [&](std::size_t i, double) { known(parts[i], context, keys); };
    context.together(fmt::format("layouts on {} {}", gpus, stock_.gpu), parts.size(), ahead, [&] {
      try {
        for (std::size_t i = 0; i < parts.size(); ++i) {
          context.reach(i);
          add(known(parts[i], context, keys));
          context.tell(out_.evaluated, best_.empty() ? "" : best_.front().plan.name());
        }
      } catch (const Stopped&) {
      }
    });
    return std::move(best_);
  }

 private:
  // The layouts with the format, tp, cp and pp of `l`.
  RunSearch known(const RunLayout& l, SearchContext& context, QuestionKeys& keys) const {
    RunSearch part;
    const std::string bytes = context.value([&] { return part_key(keys, stock_, l); },
                                            [&] {
                                              Layouts own(*this, part);
                                              own.add_stages(l);
                                              part.best.push_back(std::move(own.best_));
                                              return part_bytes(part);
                                            });
    return read_part(bytes, stock_);
  }

  void add(const RunSearch& part) {
    add_part(part, out_);
    if (part.nearest && (!out_.nearest || part.nearest_share < out_.nearest_share)) {
      out_.nearest = part.nearest, out_.nearest_share = part.nearest_share;
      out_.nearest_memory = run_.memory(job_of(part.nearest->layout.asked(training_)));
    }
    for (const RatedRun& r : part.best.front()) insert(r);
  }

  // Why no layout on so many GPUs can be among the best; "": one could.
  const char* beaten(std::int64_t gpus, const std::vector<RatedRun>& others) const {
    RunLayout any;
    any.gpus = gpus;
    RatedRun least{{stock_, any}, {}, 1};
    for (const Dtype format : space_.formats) {
      any.format = format;
      const TrainingJob job = job_of(any.asked(training_));
      const Seconds one = least_iteration(run_.model(), run_.gpu(), job, gpus);
      const Seconds all = one * run_steps(training_, job).value_or(1);
      if (least.run.total > Seconds(0) && all >= least.run.total) continue;
      least.run.iteration = one, least.run.total = all;
    }
    least.run.usd = static_cast<double>(gpus) * run_.hour() * least.run.total.value() / 3600;
    if (choice_.by > Seconds(0) && least.run.total > choice_.by)
      return "would end after plan.by even at the arithmetic peak";
    if (choice_.budget > 0 && least.run.usd > choice_.budget)
      return "would cost more than plan.budget even at the arithmetic peak";
    if (choice_.objective == PlanObjective::kPareto ||
        others.size() < static_cast<std::size_t>(choice_.top))
      return "";
    return least.value(choice_.objective) > others.back().ranked(choice_.objective)
               ? "even at the arithmetic peak worse than the plans"
               : "";
  }

  // All layouts with these tp, cp and pp.
  void add_stages(RunLayout l) {
    const auto per_grid =
        static_cast<std::int64_t>(space_.vp.size() * space_.ep.size() * of_grid());
    if (l.gpus % (std::int64_t{l.tp} * l.cp * l.pp) != 0) {
      out_.layouts += per_grid;
      return out_.reject("the GPUs do not divide by tp, cp and pp", per_grid);
    }
    const std::int64_t layers = run_.model().layers.size();
    for (const std::int64_t vp : space_.vp) {
      l.vp = static_cast<int>(vp);
      for (const std::int64_t ep : space_.ep) {
        l.ep = static_cast<int>(ep);
        out_.layouts += of_grid();
        if (l.pp == 1 && vp > 1) {
          out_.reject("model chunks need a pipeline", of_grid());
        } else if (layers % (l.pp * vp) != 0) {
          out_.reject("the layers do not divide by pp and vp", of_grid());
        } else {
          add_grid(l);
        }
      }
    }
  }

  // All layouts on a number of GPUs.
  std::int64_t of_space() const {
    return static_cast<std::int64_t>(space_.formats.size() * space_.tp.size() * space_.cp.size() *
                                     space_.pp.size() * space_.vp.size() * space_.ep.size()) *
           of_grid();
  }

  // Layouts that share tp, cp, pp, vp and ep.
  std::int64_t of_grid() const {
    return static_cast<std::int64_t>(space_.micro_batch.size() * space_.zero.size() *
                                     space_.recompute.size());
  }

  void add_grid(RunLayout l) {
    const std::int64_t batch = training_.global_batch.value();
    std::vector<std::int64_t> micro;
    for (const std::int64_t n : space_.micro_batch)
      if (batch % (n * l.dp()) == 0) micro.push_back(n);
    const auto of_micro = static_cast<std::int64_t>(space_.zero.size() * space_.recompute.size());
    const auto left = static_cast<std::int64_t>(space_.micro_batch.size() - micro.size());
    if (left > 0)
      out_.reject("the global batch does not divide by the micro-batch and dp", left * of_micro);
    if (micro.empty()) return;
    l.micro_batch = micro.front();
    l.zero = static_cast<int>(space_.zero.front());
    const auto layouts = static_cast<std::int64_t>(micro.size()) * of_micro;
    if (const std::string broken = rule(l); !broken.empty()) {
      RunSearch::Reason& reason = out_.rejected["the model or the stack has no such layout"];
      reason.layouts += layouts;
      if (reason.example.empty()) reason.example = broken;
      return;
    }
    bool first = true;
    for (const std::int64_t zero : space_.zero) {
      l.zero = static_cast<int>(zero);
      const bool alone = l.dp() * l.cp == 1;
      if (alone && !std::exchange(first, false)) {
        out_.reject("nothing to shard: the same as another layout",
                    layouts / static_cast<std::int64_t>(space_.zero.size()));
        continue;
      }
      for (const Recompute recompute : space_.recompute) {
        l.recompute = recompute;
        add_row(l, micro);
      }
    }
  }

  // The rule that the layout breaks, whatever its micro-batch and sharding are; empty: none.
  std::string rule(const RunLayout& l) const {
    const TrainingJob job = job_of(l.asked(training_));
    try {
      check_job(run_.model(), job);
      if (job.plan.pp > 1) schedule_of(job.plan).check(shape_of(job));
    } catch (const Infeasible& e) {
      return e.what();
    }
    return "";
  }

  // Layouts that differ in their micro-batch.
  void add_row(RunLayout l, std::vector<std::int64_t> micro) {
    TrainingJob job = job_of(l.asked(training_));
    std::erase_if(micro, [&](std::int64_t n) {
      l.micro_batch = n;
      const std::string why = refusal(launches_, l, job);
      if (!why.empty()) out_.reject(why);
      return !why.empty();
    });
    const auto fits = [&](std::size_t i) -> std::optional<double> {
      job.micro_batch = l.micro_batch = micro[i];
      const TrainingMemory memory = run_.memory(job);
      const double chance = run_.fits(memory);
      if (chance >= choice_.confidence / 100) return chance;
      miss(l, memory);
      return std::nullopt;
    };
    std::vector<std::optional<double>> chance(micro.size());
    if (choice_.exhaustive || !monotone_) {
      for (std::size_t i = 0; i < micro.size(); ++i) chance[i] = fits(i);
    } else {
      std::size_t fitting = 0, too_large = micro.size();  // [0, fitting) fits
      while (fitting < too_large) {
        const std::size_t middle = (fitting + too_large) / 2;
        chance[middle] = fits(middle);
        chance[middle] ? fitting = middle + 1 : too_large = middle;
      }
      for (std::size_t i = 0; i < fitting; ++i)
        if (!chance[i]) chance[i] = fits(i);
    }
    for (std::size_t i = 0; i < micro.size(); ++i) {
      if (!chance[i]) {
        out_.reject("does not fit in memory");
        continue;
      }
      job.micro_batch = l.micro_batch = micro[i];
      ++out_.evaluated;
      keep(l, job, *chance[i]);
    }
  }

  // Remembers a layout that does not fit, if it is the closest to fitting.
  void miss(const RunLayout& l, const TrainingMemory& memory) {
    const double share = memory.total() / memory.capacity;
    if (out_.nearest && share >= out_.nearest_share) return;
    out_.nearest = {stock_, l};
    out_.nearest_share = share, out_.nearest_memory = memory;
  }

  // Keeps the layout at the best setting of its boards that keeps the limits.
  void keep(const RunLayout& l, const TrainingJob& job, double fits) {
    const RatedRun own{{stock_, l}, run_.run(job), fits};
    if (choice_.objective == PlanObjective::kEnergy && own.run.joules <= 0)
      return out_.reject("the power of the GPU is not known");
    const char* const reason = missed_limit(own);
    std::optional<RatedRun> best;
    if (*reason == 0) best = own;
    if ((choice_.by == Seconds(0) || own.run.total <= choice_.by) && may_save(own, job)) {
      for (const PowerKnobs& boards : boards_) {
        RatedRun r{{stock_, l, boards}, {}, fits};
        try {
          r.run = run_.run(job, boards);
        } catch (const Infeasible&) {
          continue;  // more than the limit at the lowest clock
        }
        if (*missed_limit(r) != 0) continue;
        if (!best || better(choice_.objective, r, *best)) best = r;
      }
    }
    if (!best) return out_.reject(reason);
    insert(*std::move(best));
  }

  // Whether a slower board could bring the layout among the best.
  bool may_save(const RatedRun& own, const TrainingJob& job) const {
    if (boards_.empty()) return false;
    if (choice_.exhaustive || best_.size() < static_cast<std::size_t>(choice_.top)) return true;
    RatedRun least = own;
    const double share = run_.least_energy(job);
    least.run.usd *= share, least.run.joules *= share;
    return least.ranked(choice_.objective) <= best_.back().ranked(choice_.objective);
  }

  // The limit of the plan that the run does not keep; "": none. Remembers extremes.
  const char* missed_limit(const RatedRun& r) {
    if (!out_.fastest || lower(PlanObjective::kTime, r, *out_.fastest)) out_.fastest = r;
    if (!out_.cheapest || lower(PlanObjective::kCost, r, *out_.cheapest)) out_.cheapest = r;
    if (choice_.by > Seconds(0) && r.run.total > choice_.by) return "ends after plan.by";
    if (choice_.budget > 0 && r.run.usd > choice_.budget) return "costs more than plan.budget";
    return "";
  }

  void insert(RatedRun r) {
    if (best_.size() == static_cast<std::size_t>(choice_.top) &&
        !better(choice_.objective, r, best_.back()))
      return;
    best_.push_back(std::move(r));
    std::sort(best_.begin(), best_.end(), [this](const RatedRun& a, const RatedRun& b) {
      return better(choice_.objective, a, b);
    });
    if (best_.size() > static_cast<std::size_t>(choice_.top)) best_.pop_back();
  }

  const PlanChoice& choice_;
  const TrainingQuestion& training_;
  const GpuStock& stock_;
  const TrainingEvaluator& run_;
  const std::vector<RunLaunch>& launches_;  // of the stack
  RunSpace space_;
  RunSearch& out_;
  bool monotone_ = false;
  std::vector<PowerKnobs> boards_;  // to be tried beside the boards' own limit and clock
  std::vector<RatedRun> best_;
};

}  // namespace

void RunSearch::reject(const std::string& reason, std::int64_t n) { rejected[reason].layouts += n; }

namespace {

RunSearch search(Runner& runner, const Scenario& question, SearchContext& context) {
  const auto& q = planned(question);
  const std::vector<RunLaunch> launches = run_launches(runner.bundle(), stack_of(*q.training).name);
  check_board_settings(q.choice, runner.catalog());
  RunSearch out;
  std::vector<RatedRun> all;  // the best so far
  QuestionKeys keys(question);
  for (const std::string& text : q.choice.gpu) {
    GpuStock stock = GpuStock::parse(text);
    RunPlan any{stock, {}};
    const TrainingEvaluator run(runner.facts(), any.asked(question));
    if (stock.gpu.find('/') == std::string::npos) stock.gpu = run.gpu().id;
    out.electricity = out.electricity || run.electricity();
    Layouts layouts(question, stock, run, launches, out);
    for (const std::int64_t gpus : gpu_counts(q, stock)) {
      std::vector<RatedRun> best = layouts.best(gpus, all, context, keys);
      if (context.stopped() && best.empty()) return out;
      if (best.empty()) continue;
      all.insert(all.end(), best.begin(), best.end());
      std::sort(all.begin(), all.end(), [&q](const RatedRun& a, const RatedRun& b) {
        return better(q.choice.objective, a, b);
      });
      if (all.size() > static_cast<std::size_t>(q.choice.top))
        all.erase(all.begin() + q.choice.top, all.end());
      out.best.push_back(std::move(best));
      if (context.stopped()) return out;
    }
  }
  return out;
}

}  // namespace

RunSearch search_runs(Runner& runner, const Scenario& question, SearchContext& context) {
  RunSearch out = search(runner, question, context);
  const bool all_known = planned(question).choice.exhaustive || context.stopped();
  if (!out.best.empty() || all_known) return out;
  Scenario all = question;
  planned(all).choice.exhaustive = true;
  return search(runner, all, context);
}

}  // namespace orrery
