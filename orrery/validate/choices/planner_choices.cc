#include "orrery/validate/choices/planner_choices.h"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <map>
#include <optional>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/validate/choices/published_cases.h"
#include "orrery/validate/choices/regret.h"
#include "orrery/validate/choices/serving_choices.h"
#include "orrery/validate/choices/training_choices.h"
#include "orrery/validate/report/seen_groups.h"

namespace orrery {
namespace {

constexpr const char* kPeer = "AIConfigurator";

class Validation {
 public:
  Validation(const std::filesystem::path& dir, const Bundle& bundle, ConstantsChoice constants)
      : dir_(dir), bundle_(bundle), constants_(constants) {
    out_.report.area = "planner";
    if (constants == ConstantsChoice::kCommitted) out_.report.note = kInSample;
  }

  void serving() {
    if (!has_table(dir_ / "inference" / "serving_steady.csv", out_.report)) return;
    for (const ServingChoice& q :
         serving_choices(dir_ / "inference", bundle_, constants_, out_.report.refused)) {
      for (const double limit : kTpotLimits) ask(q, limit);
    }
  }

  void training() {
    if (!has_table(dir_ / "training" / "iteration.csv", out_.report)) return;
    const TrainingChoices questions = training_choices(fitted());
    for (const TrainingChoice& q : questions.alike) ask("training", q);
    for (const TrainingChoice& q : questions.all) ask("training, mixed", q);
  }

  void cases() {
    const std::vector<PublishedCase> cases = read_published_cases(bundle_);
    const bool fits = std::filesystem::exists(dir_ / "training" / "iteration.csv");
    std::map<std::string, Bundle> bundles = {{"", bundle_}};
    for (const PublishedCase& c : cases) {
      if (!fits || bundles.contains(c.without)) continue;
      bundles.emplace(c.without,
                      with_training_constants(bundle_, to_yaml(fitted().without(c.without))));
    }
    struct Answered {
      std::optional<PublishedAnswer> answer;
      std::string refused;
    };
    std::vector<Answered> answers(cases.size());
    tbb::parallel_for(std::size_t{0}, cases.size(), [&](std::size_t i) {
      try {
        const auto bundle = bundles.find(cases[i].without);
        if (bundle == bundles.end())
          throw NoData(
              fmt::format("no rows from which constants are fitted without {}", cases[i].without));
        answers[i].answer = answer_of(cases[i], bundle->second);
      } catch (const std::runtime_error& e) {
        answers[i].refused = e.what();
      }
    });
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (answers[i].answer) {
        ask(cases[i], *answers[i].answer);
      } else {
        out_.report.refused.push_back({"case " + cases[i].id, answers[i].refused});
      }
    }
  }

  PlannerValidation result() {
    for (const auto& [key, regrets] : regrets_)
      out_.remarks.push_back(fmt::format(
          "{}: mean regret {:.1f} % of {} questions; within {:.0f} % of the best in {:.1f} %, a "
          "tie (below {:.0f} %) with it in {:.1f} %.",
          key, regrets.mean(), regrets.questions(), 100 * kNear, regrets.within(kNear), 100 * kTie,
          regrets.within(kTie)));
    return std::move(out_);
  }

 private:
  // Adds the row of a question to the report. The regret is counted under `who` and the row's table
  // and metric.
  ValidationRow& add(std::map<std::string, std::string> by, const std::string& row,
                     const LayoutChoice& choice, double score) {
    ValidationRow v;
    v.by = std::move(by);
    v.row = row;
    v.measured = choice.best;
    v.predicted = v.low50 = v.high50 = v.low90 = v.high90 = score;
    v.origin = Origin::kFitted;
    v.what = fmt::format("{}: chosen {}; the best is {}", row, choice.layout, choice.best_layout);
    regrets_[name_of(v)].add(1 - score / choice.best);
    out_.report.rows.push_back(std::move(v));
    return out_.report.rows.back();
  }

  static std::string name_of(const ValidationRow& row) {
    return row.by.at("table") + ", " + row.by.at("metric");
  }

  void ask(const ServingChoice& q, double limit) {
    const auto by = [&](const char* table, const char* metric) {
      return std::map<std::string, std::string>{{"table", table},
                                                {"metric", metric},
                                                {"limit", fmt::format("{:.0f} ms", limit)},
                                                {"system", q.like.system},
                                                {"engine", q.like.engine},
                                                {"family", q.like.family},
                                                {"seen", seen_group(q.like.group) ? "yes" : "no"}};
    };
    const std::string row = fmt::format("{} {}, TPOT {:.0f} ms", q.row, q.name, limit);
    if (const auto choice = choose_layout(q.points, limit)) {
      add(by("serving", "layout"), row, *choice, choice->of_layout);
      add(by("serving", "point"), row, *choice, choice->of_point);
    }
    const auto ours = choose_layout(q.shared, limit);
    const auto theirs = choose_layout(q.peer, limit);
    if (!ours || !theirs) return;
    const auto both = [&](const char* metric, double own, double other) {
      ValidationRow& v = add(by("serving, shared", metric), row, *ours, own);
      v.peers[kPeer] = other;
      regrets_[name_of(v) + ", " + kPeer].add(1 - other / ours->best);
    };
    both("layout", ours->of_layout, theirs->of_layout);
    both("point", ours->of_point, theirs->of_point);
  }

  void ask(const char* table, const TrainingChoice& q) {
    if (const auto choice = choose_layout(q.points, kNoLimit)) {
      ValidationRow& v = add({{"table", table},
                              {"metric", "layout"},
                              {"gpu", q.like.gpu},
                              {"dtype", q.like.dtype},
                              {"stack", q.like.stack.name},
                              {"source", q.like.source}},
                             q.row + " " + q.name, *choice, choice->of_layout);
      v.source = q.like.source;
    }
  }

  void ask(const PublishedCase& c, const PublishedAnswer& answer) {
    std::string expert;
    for (const auto& [key, value] : c.expert) expert += fmt::format(" {} {}", key, value);
    LayoutChoice choice{answer.layout, expert, answer.best, answer.expert, answer.expert};
    ValidationRow& v = add({{"table", "cases"}, {"metric", "layout"}, {"kind", c.id.substr(0, 2)}},
                           c.id, choice, answer.expert);
    v.what = fmt::format("{}: published{}; the best prediction of {} layouts is {}", c.id, expert,
                         answer.layouts, answer.layout);
  }

  const FittedTrainingRows& fitted() {
    if (!fitted_) fitted_.emplace(dir_ / "training", bundle_, constants_, out_.report.refused);
    return *fitted_;
  }

  std::filesystem::path dir_;
  const Bundle& bundle_;
  const ConstantsChoice constants_;
  PlannerValidation out_;
  std::optional<FittedTrainingRows> fitted_;
  std::map<std::string, Regrets> regrets_;  // by table and metric
};

}  // namespace

PlannerValidation validate_planner(const std::filesystem::path& dir, const std::string& table,
                                   const Bundle& bundle, ConstantsChoice constants) {
  if (!table.empty() && table != "serving" && table != "training" && table != "cases")
    throw InputError(
        fmt::format("expected the table 'serving', 'training' or 'cases', got '{}'", table));
  Validation v(dir, bundle, constants);
  if (table.empty() || table == "serving") v.serving();
  if (table.empty() || table == "training") v.training();
  if (table.empty() || table == "cases") v.cases();
  return v.result();
}

}  // namespace orrery
