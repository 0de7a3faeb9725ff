#include "orrery/validate/choices/training_choices.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <tuple>

namespace orrery {
namespace {

// A layout in words, every setting that a planner chooses.
std::string layout_of(const TrainingJob& job) {
  const TrainingPlan& p = job.plan;
  std::string out = fmt::format(
      "tp {}, pp {}, vp {}, dp {}, cp {}, ep {}, zero {} over {}, micro {}, recompute {}", p.tp,
      p.pp, p.vp, p.dp, p.cp, p.ep, p.zero, p.sharding(), job.micro_batch, to_text(job.recompute));
  if (job.recompute_layers > 0) out += fmt::format(" of {} layers", job.recompute_layers);
  if (!p.schedule.empty()) out += ", " + p.schedule;
  if (job.offload_optimizer) out += ", optimizer on the host";
  if (job.offload_activations) out += ", activations on the host";
  return out;
}

// The job without what a planner chooses.
TrainingJob settings_of(TrainingJob job) {
  job.plan = {};
  job.micro_batch = 1;
  job.recompute = Recompute::kNone, job.recompute_layers = 0, job.recompute_modules.clear();
  job.offload_optimizer = job.offload_activations = false;
  return job;
}

bool same_job(const TrainingRow& a, const TrainingRow& b) {
  const auto key = [](const TrainingRow& r) {
    return std::tie(r.source, r.version, r.model_id, r.gpu, r.gpus, r.job.seq, r.job.global_batch,
                    r.dtype);
  };
  return key(a) == key(b);
}

bool same_settings(const TrainingRow& a, const TrainingRow& b) {
  return same_job(a, b) && a.framework == b.framework && a.compiled == b.compiled &&
         settings_of(a.job) == settings_of(b.job);
}

struct Timed {
  const TrainingRow* row;
  double measured, predicted;  // s
};

double mean_score(const std::vector<const Timed*>& rows, double Timed::* time) {
  double sum = 0;
  for (const Timed* t : rows) sum += t->*time;
  return static_cast<double>(rows.size()) / sum;
}

TrainingChoice question_of(const std::vector<const Timed*>& rows) {
  const TrainingRow& first = *rows.front()->row;
  TrainingChoice q{fmt::format("{}:{}", first.table, first.line),
                   fmt::format("{} {} on {} {}, {} {} of {}, seq {}, global {}", first.model_id,
                               first.dtype, first.gpus, first.gpu_name, first.framework,
                               first.version, first.source, first.job.seq, first.job.global_batch),
                   first,
                   {}};
  std::map<std::string, std::vector<const Timed*>> layouts;
  for (const Timed* t : rows) layouts[layout_of(t->row->job)].push_back(t);
  for (const auto& [layout, own] : layouts)
    q.points.push_back({layout, mean_score(own, &Timed::measured), 0,
                        PredictedPoint{mean_score(own, &Timed::predicted), 0, 0}});
  return q;
}

using Alike = std::function<bool(const TrainingRow&, const TrainingRow&)>;

std::vector<TrainingChoice> sets_of(const std::vector<Timed>& rows, const Alike& alike) {
  std::vector<std::vector<const Timed*>> sets;
  for (const Timed& t : rows) {
    std::vector<const Timed*>* own = nullptr;
    for (auto& set : sets) {
      if (alike(*set.front()->row, *t.row)) own = &set;
    }
    if (!own) own = &sets.emplace_back();
    own->push_back(&t);
  }
  std::vector<TrainingChoice> out;
  for (const auto& set : sets) {
    TrainingChoice q = question_of(set);
    if (q.points.size() > 1) out.push_back(std::move(q));
  }
  return out;
}

}  // namespace

FittedTrainingRows::FittedTrainingRows(const std::filesystem::path& dir, const Bundle& bundle,
                                       ConstantsChoice constants,
                                       std::vector<RefusedRow>& refused) {
  std::vector<TrainingCase> cases = training_cases(dir, bundle, refused);
  if (constants == ConstantsChoice::kLeftOut) {
    folds_.emplace(std::move(cases));
  } else {
    cases_ = std::move(cases);
    committed_ = read_constant_table(bundle);
  }
}

double FittedTrainingRows::error(std::size_t i) const {
  return folds_ ? folds_->error(i) : cases_[i].error(constants_of(committed_, cases_[i]));
}

const ConstantTable& FittedTrainingRows::without(const std::string& source) const {
  return folds_ ? folds_->without(source) : committed_;
}

TrainingChoices training_choices(const FittedTrainingRows& training) {
  std::vector<Timed> rows;
  for (std::size_t i = 0; i < training.cases().size(); ++i) {
    const TrainingCase& c = training.cases()[i];
    if (!c.row.complete || c.row.table != "iteration.csv") continue;
    const double measured = c.row.iteration->value();
    rows.push_back({&c.row, measured, measured * std::exp(training.error(i))});
  }
  return {sets_of(rows, same_settings), sets_of(rows, same_job)};
}

}  // namespace orrery
