#include "orrery/validate/fit/engine_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "orrery/base/estimate.h"
#include "orrery/serving/profile/engine_profile.h"

namespace orrery {
namespace {

constexpr double kTail = 0.5;         // logarithmic error beyond which a row pulls ever less
constexpr double kPullWeight = 0.03;  // of a constant's distance from its target, for one figure
constexpr double kSlopeStep = 0.1;    // logarithm by which slopes are taken
constexpr double kRadius = 1, kLeastRadius = 0.05;
constexpr int kLinearEvaluations = 1500;
// Engines with few figures, whose predictions change their bound from one round to the next.
constexpr std::size_t kMostPolished = 160;
constexpr double kPolishStep = 0.5;
constexpr int kPolishEvaluations = 600;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The function takes at most `most` rows of each group, at equal distances in the table.
std::vector<MeasuredRow> sample(std::vector<MeasuredRow> rows, std::size_t most) {
  std::map<std::string, std::vector<MeasuredRow>> groups;
  for (MeasuredRow& r : rows) groups[r.group].push_back(std::move(r));
  std::vector<MeasuredRow> out;
  for (auto& [name, group] : groups) {
    const std::size_t n = std::min(group.size(), most);
    for (std::size_t i = 0; i < n; ++i) out.push_back(std::move(group[i * group.size() / n]));
  }
  return out;
}

}  // namespace

EngineFit::EngineFit(Runner& runner, std::vector<MeasuredRow> rows, const EngineProfile& profile,
                     std::size_t most_of_group)
    : runner_(runner), rows_(sample(std::move(rows), most_of_group)) {
  constants_ = constants_of(rows_, profile, runner.catalog());
  bounds_ = bounds_of(constants_);
  for (const EngineConstant& c : constants_) start_.push_back(c.start(profile));
  std::map<std::string, double> figures;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const Gpu gpu = runner.catalog().gpu(rows_[r].keys.text("hardware.gpu"));
    for (std::size_t f = 0; f < rows_[r].figures.size(); ++f) {
      figures_.push_back({r, f, rows_[r].group, engine_gpu_family(gpu), 1});
      figures[rows_[r].group] += 1;
    }
  }
  for (Figure& f : figures_) f.weight = 1 / std::sqrt(figures.at(f.group));
}

void EngineFit::set(MeasuredRow& row, const Logs& x) const {
  for (std::size_t i = 0; i < constants_.size(); ++i)
    row.keys.set_engine(constants_[i].key, constants_[i].text(x[i]));
}

Logs EngineFit::errors(const Logs& x, const Subset& subset) {
  Logs out(figures_.size(), kNone);
  RunOptions options;
  options.breakdown = options.intervals = false;
  for (std::size_t i = 0; i < figures_.size();) {
    const std::size_t first = i, r = figures_[i].row;
    bool wanted = false;
    for (; i < figures_.size() && figures_[i].row == r; ++i) wanted |= subset[i] != 0;
    if (!wanted) continue;
    set(rows_[r], x);
    try {
      const Answer answer = runner_.run(rows_[r].keys.scenario(), options);
      for (std::size_t k = first; k < i; ++k) {
        const MeasuredFigure& f = rows_[r].figures[figures_[k].figure];
        if (const Metric* m = answer.points.at(0).find(f.answer_name); m && m->value > 0)
          out[k] = std::log(m->value / f.value);
      }
    } catch (const std::runtime_error&) {  // refused: `orrery validate` reports it
    }
  }
  return out;
}

EngineFit::Tangent EngineFit::tangent(const Logs& x, const Subset& subset) {
  Tangent t{x, errors(x, subset), {}};
  for (std::size_t c = 0; c < x.size(); ++c) {
    Logs at = x;
    const double step = x[c] + kSlopeStep <= bounds_.upper[c] ? kSlopeStep : -kSlopeStep;
    at[c] += step;
    Logs slope = errors(at, subset);
    for (std::size_t i = 0; i < slope.size(); ++i) slope[i] = (slope[i] - t.error[i]) / step;
    t.slopes.push_back(std::move(slope));
  }
  return t;
}

double EngineFit::loss(const Logs& errors, const Subset& subset) const {
  double sum = 0, n = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    if (!subset[i] || std::isnan(errors[i])) continue;
    sum += figures_[i].weight * log_tailed(errors[i], kTail);
    n += figures_[i].weight;
  }
  return sum / std::max(n, 1e-9);
}

double EngineFit::pull(const Logs& x, const Logs& target) const {
  double sum = 0;
  for (std::size_t c = 0; c < x.size(); ++c) sum += std::abs(x[c] - target[c]);
  return kPullWeight * sum / std::sqrt(static_cast<double>(figures_.size()));
}

Logs EngineFit::linear(const Tangent& t, const Subset& subset, const Logs& target,
                       double radius) const {
  Bounds box = bounds_;
  for (std::size_t c = 0; c < t.at.size(); ++c) {
    box.lower[c] = std::max(box.lower[c], t.at[c] - radius);
    box.upper[c] = std::min(box.upper[c], t.at[c] + radius);
  }
  Logs errors(figures_.size(), kNone);
  const auto model = [&](const Logs& x) {
    for (std::size_t i = 0; i < errors.size(); ++i) {
      if (!subset[i] || std::isnan(t.error[i])) continue;
      errors[i] = t.error[i];
      for (std::size_t c = 0; c < x.size(); ++c) errors[i] += t.slopes[c][i] * (x[c] - t.at[c]);
    }
    return loss(errors, subset) + pull(x, target);
  };
  return minimise(
      model, t.at, box,
      {.step = radius / 4, .evaluations = kLinearEvaluations, .relative_tolerance = 1e-5});
}

Logs EngineFit::fit(Logs x, const Subset& subset, const Logs& target, int rounds) {
  double radius = kRadius;
  for (int round = 0; round < rounds && radius >= kLeastRadius; ++round) {
    const Tangent t = tangent(x, subset);
    const double now = loss(t.error, subset) + pull(x, target);
    bool better = false;
    while (!better && radius >= kLeastRadius) {
      const Logs next = linear(t, subset, target, radius);
      if (loss(errors(next, subset), subset) + pull(next, target) < now) {
        x = next;
        better = true;
      } else {
        radius /= 3;
      }
    }
  }
  return polished(std::move(x), subset, target);
}

Logs EngineFit::polished(Logs x, const Subset& subset, const Logs& target) {
  if (figures_.size() > kMostPolished) return x;
  const auto its_loss = [&](const Logs& at) {
    return loss(errors(at, subset), subset) + pull(at, target);
  };
  return minimise(
      its_loss, std::move(x), bounds_,
      {.step = kPolishStep, .evaluations = kPolishEvaluations, .relative_tolerance = 1e-4});
}

std::vector<EngineFit::Judged> EngineFit::judge(const Logs& x, const Subset& subset) {
  std::vector<Judged> out;
  RunOptions options;
  options.breakdown = false;
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    if (!subset[i]) continue;
    MeasuredRow row = rows_[figures_[i].row];
    set(row, x);
    row.keys.set_engine("step_error", "0");
    row.keys.set_engine("composed_error_share", "1");
    try {
      const Answer answer = runner_.run(row.keys.scenario(), options);
      const MeasuredFigure& f = row.figures[figures_[i].figure];
      const Metric* m = answer.points.at(0).find(f.answer_name);
      if (m == nullptr || m->value <= 0) continue;
      // The side of the interval on which the measured value lies.
      const double side = f.value > m->value ? m->high90 / m->value : m->value / m->low90;
      const double own = std::log(side) / normal_quantile(0.95);
      out.push_back(
          {figures_[i].group, figures_[i].family, std::log(m->value / f.value), own * own});
    } catch (const std::runtime_error&) {
    }
  }
  return out;
}

}  // namespace orrery
