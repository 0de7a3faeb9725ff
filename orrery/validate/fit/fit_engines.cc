#include "orrery/validate/fit/fit_engines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"
#include "orrery/network/fit/joined_texts.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/validate/fit/engine_fit.h"

namespace orrery {
namespace {

constexpr std::size_t kLeastFigures = 6, kMostOfGroup = 24;
constexpr std::size_t kLeastFamilyGroups = 3,
                      kLeastFamilyFigures = 20;  // for constants of the family's own
constexpr std::size_t kFewGroups = 10;           // of which each one moves the constants far
constexpr int kEngineRounds = 6, kEngineFamilyRounds = 3, kFewRounds = 2;
constexpr double kLeftOutRadius = 0.7;  // of the linear model of a fit without some rows
constexpr double kLeastStepError = 0.03, kMostStepError = 1;
constexpr double kUnknownError = 0.5;  // where no other group says how wrong a prediction is
constexpr const char* kRecipe =
    "# Made by `orrery fit engines` from data/inference on {}: do not edit.\n";

using Judged = std::vector<EngineFit::Judged>;

// The errors of a step for which 90 % of the figures lie inside their 90 % intervals: its own in
// addition to the composed ones, or the least one and a share of the composed ones.
struct AskedErrors {
  double own = kUnknownError, share = 1;
  // `over`: the share that stands where the text states none.
  std::string text(double over = 1) const {
    return fmt::format("step_error: {:.3g}\n", own) +
           (share < 1 || over < 1 ? fmt::format("composed_error_share: {:.3g}\n", share) : "");
  }
};

AskedErrors asked_errors(const Judged& judged) {
  if (judged.empty()) return {};
  std::set<std::string> groups;
  for (const EngineFit::Judged& j : judged) groups.insert(j.group);
  // The errors of a group are alike. Of few groups the next one lies further out (Student's t, to
  // first order in 1/n).
  const double z = normal_quantile(0.95);
  const double few = 1 + (z * z + 1) / (4 * static_cast<double>(groups.size()));
  std::vector<double> squares, shares;
  for (const EngineFit::Judged& j : judged) {
    const double whole = std::pow(few * j.log / z, 2);
    squares.push_back(whole - j.squared);
    shares.push_back((whole - kLeastStepError * kLeastStepError) / std::max(j.squared, 1e-9));
  }
  const double own = std::sqrt(std::max(0.0, quantile(squares, 0.9)));
  const double share = std::sqrt(std::max(0.0, quantile(shares, 0.9)));
  return {std::clamp(own, kLeastStepError, kMostStepError), std::min(share, 1.0)};
}

double median_percent(const Logs& errors) {
  std::vector<double> percent;
  for (const double e : errors)
    if (!std::isnan(e)) percent.push_back(100 * std::abs(std::expm1(e)));
  return percent.empty() ? 0 : quantile(percent, 0.5);
}

// One engine's constants: of all rows, of families, and without each group and family.
class EngineFolds {
 public:
  EngineFolds(EngineFit& fit, PartMeter* meter) : fit_(fit) {
    std::map<std::string, std::size_t> figures_of;  // of each group
    for (const EngineFit::Figure& f : fit.figures()) {
      figures_of[f.group] += 1;
      families_[f.family].insert(f.group);
      family_of_[f.group] = f.family;
    }
    const auto everything = subset([](const auto&) { return true; });
    all_ = fit.fit(fit.start(), everything, fit.start(), kEngineRounds);
    const EngineFit::Tangent whole = fit.tangent(all_, everything);
    after_ = whole.error;
    for (const auto& [family, groups] : families_) {
      fit_without_family(family, whole);
      const auto of = [&](const EngineFit::Figure& f) { return f.family == family; };
      const auto figures = std::count_if(fit.figures().begin(), fit.figures().end(), of);
      if (families_.size() > 1 && groups.size() >= kLeastFamilyGroups &&
          static_cast<std::size_t>(figures) >= kLeastFamilyFigures)
        fit_family(family);
    }
    for (const auto& [group, family] : family_of_) {
      fit_without_group(group, family, whole);
      finish_parts(meter, figures_of.at(group));
    }
  }

  const Logs& all() const { return all_; }
  const std::map<std::string, Logs>& own() const { return own_; }
  std::size_t groups() const { return family_of_.size(); }
  double error_after() const { return median_percent(after_); }

  double error_left_out() const {
    Logs errors;
    for (const auto& j : left_out_) errors.push_back(j.log);
    return median_percent(errors);
  }

  std::vector<std::string> families() const {
    std::vector<std::string> names;
    for (const auto& [family, groups] : families_) names.push_back(family);
    return names;
  }

  AskedErrors errors(const std::string& family, const std::string& without) const {
    return asked_errors(pick(left_out_, [&](const auto& j) {
      return j.group != without && (family.empty() || j.family == family);
    }));
  }

  // The error on a family that no row is of, as the families other than `without` show it.
  double unfitted_error(const std::string& without) const {
    const Judged others =
        pick(family_left_out_, [&](const auto& j) { return j.family != without; });
    return others.empty() ? std::clamp(2 * errors("", "").own, kUnknownError, kMostStepError)
                          : asked_errors(others).own;
  }

  std::map<std::string, std::string> documents() const {
    std::map<std::string, std::string> folds;
    for (const auto& [group, family] : family_of_) {
      const std::size_t others = families_.at(family).size() - 1;
      AskedErrors error;
      if (others == 0) {
        error.own = alone_error(family);
      } else {
        error = errors(own_.contains(family) ? family : "", group);
      }
      folds[group] = constants_text(fit_.constants(), without_.at(group)) + error.text();
    }
    return folds;
  }

 private:
  template <class Keep>
  EngineFit::Subset subset(const Keep& keep) const {
    EngineFit::Subset s;
    for (const EngineFit::Figure& f : fit_.figures()) s.push_back(keep(f) ? 1 : 0);
    return s;
  }
  template <class Keep>
  static Judged pick(const Judged& from, const Keep& keep) {
    Judged out;
    std::copy_if(from.begin(), from.end(), std::back_inserter(out), keep);
    return out;
  }

  double alone_error(const std::string& family) const {
    return families_.size() > 1 ? unfitted_error(family) : kUnknownError;
  }

  void fit_family(const std::string& family) {
    const auto of = subset([&](const auto& f) { return f.family == family; });
    own_[family] = fit_.fit(all_, of, all_, kEngineFamilyRounds);
    own_tangents_[family] = fit_.tangent(own_[family], of);
    for (std::size_t i = 0; i < of.size(); ++i)
      if (of[i]) after_[i] = own_tangents_[family].error[i];
  }

  void fit_without_family(const std::string& family, const EngineFit::Tangent& whole) {
    if (families_.size() < 2) return;
    const auto others = subset([&](const auto& f) { return f.family != family; });
    Logs x = fit_.linear(whole, others, fit_.start(), kLeftOutRadius);
    x = fit_.fit(x, others, fit_.start(), 1);
    const Judged judged = fit_.judge(x, subset([&](const auto& f) { return f.family == family; }));
    family_left_out_.insert(family_left_out_.end(), judged.begin(), judged.end());
    without_family_[family] = x;
  }

  void fit_without_group(const std::string& group, const std::string& family,
                         const EngineFit::Tangent& whole) {
    const auto rest = subset([&](const auto& f) { return f.group != group; });
    Logs x = fit_.start();
    if (families_.size() > 1 && families_.at(family).size() == 1) {
      x = without_family_.at(family);
    } else if (groups() > 1) {
      x = fit_.linear(whole, rest, fit_.start(), kLeftOutRadius);
      if (groups() <= kFewGroups) x = fit_.fit(x, rest, fit_.start(), kFewRounds);
    }
    if (own_.contains(family)) {
      const auto of = subset([&](const auto& f) { return f.family == family && f.group != group; });
      const Logs engine = x;
      x = fit_.linear(own_tangents_.at(family), of, engine, kLeftOutRadius);
      x = fit_.fit(x, of, engine, 1);
    }
    without_[group] = x;
    const Judged judged = fit_.judge(x, subset([&](const auto& f) { return f.group == group; }));
    left_out_.insert(left_out_.end(), judged.begin(), judged.end());
  }

  EngineFit& fit_;
  std::map<std::string, std::set<std::string>> families_;  // groups of each
  std::map<std::string, std::string> family_of_;           // of a group
  Logs all_, after_;  // constants, and errors at the constants that hold for each figure
  std::map<std::string, Logs> own_, without_family_, without_;
  std::map<std::string, EngineFit::Tangent> own_tangents_;
  Judged left_out_, family_left_out_;
};

std::string recipe(const EngineFit& fit, const EngineFolds& folds, const FittedEngine& f,
                   const std::string& date) {
  return fmt::format(kRecipe, date) +
         fmt::format(
             "# {} figures of {} groups; median error {:.1f} % before, {:.1f} % after, {:.1f} % "
             "of left-out groups.\n"
             "calibration: \"fitted on {} figures of data/inference ({})\"\n",
             f.rows, f.groups, f.error_before, f.error_after, f.error_left_out, f.rows, date) +
         constants_text(fit.constants(), folds.all()) + folds.errors("", "").text() +
         fmt::format("unfitted_error: {:.3g}\nfitted_on: [{}]\n", folds.unfitted_error(""),
                     fmt::join(folds.families(), ", "));
}

std::size_t figures_of(const std::vector<MeasuredRow>& rows) {
  std::size_t figures = 0;
  for (const MeasuredRow& r : rows) figures += r.figures.size();
  return figures;
}

FittedEngine fit_engine(Runner& runner, const std::string& engine, std::vector<MeasuredRow> rows,
                        const Bundle& bundle, const std::string& date, PartMeter* meter) {
  FittedEngine result;
  result.engine = engine;
  result.rows = figures_of(rows);
  if (result.rows < kLeastFigures) {
    result.skipped = fmt::format("{} figures, at least {} are needed", result.rows, kLeastFigures);
    return result;
  }
  EngineFit fit(runner, std::move(rows), load_engine(engine, bundle, false), kMostOfGroup);
  result.error_before =
      median_percent(fit.errors(fit.start(), EngineFit::Subset(fit.figures().size(), 1)));
  const EngineFolds folds(fit, meter);
  result.groups = folds.groups();
  result.error_after = folds.error_after();
  result.error_left_out = folds.error_left_out();
  result.yaml = recipe(fit, folds, result, date);
  for (const auto& [family, x] : folds.own()) {
    result.families[family] = fmt::format(kRecipe, date) + constants_text(fit.constants(), x) +
                              folds.errors(family, "").text(folds.errors("", "").share);
  }
  result.folds = fmt::format(kRecipe, date) + joined_texts(folds.documents());
  return result;
}

}  // namespace

std::vector<FittedEngine> fit_engines(const std::filesystem::path& dir, const std::string& date,
                                      const Bundle& bundle, const std::string& only,
                                      PartMeter* meter) {
  // Nothing that an earlier fit has found takes part.
  Runner runner(bundle.replacing("engines/fitted", {}));
  std::vector<MeasuredRow> rows;
  std::vector<RefusedRow> refused;
  for (const char* table : {"single_request", "offline_throughput"})
    read_inference_rows(dir, table, runner.catalog(), rows, refused);
  std::map<std::string, std::vector<MeasuredRow>> by_engine;
  for (MeasuredRow& row : rows) {
    if (only.empty() || row.engine == only) by_engine[row.engine].push_back(std::move(row));
  }
  for (const auto& [engine, engine_rows] : by_engine) {
    if (const std::size_t figures = figures_of(engine_rows); figures >= kLeastFigures)
      expect_parts(meter, figures);
  }
  std::vector<FittedEngine> results;
  for (auto& [engine, engine_rows] : by_engine)
    results.push_back(fit_engine(runner, engine, std::move(engine_rows), bundle, date, meter));
  return results;
}

}  // namespace orrery
