#include "orrery/validate/fit/service_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/estimate.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr double kLeastError = 0.03, kMostError = 1;

using Figures = std::vector<LeftOutFigure>;

Figures figures_of(const std::vector<LeftOut>& rows,
                   std::optional<LeftOutFigure> LeftOut::* figure) {
  Figures out;
  for (const LeftOut& r : rows) {
    if (r.*figure) out.push_back(*(r.*figure));
  }
  return out;
}

bool has_experts(const LeftOutFigure& f) {
  constexpr double kNone = 1e-6;
  return f.experts > kNone;
}

// The smallest error e for which 90 % of `figures` lie inside their 90 % intervals, where the
// squared error of one is beside(figure) + weight(figure) e^2.
std::optional<double> asked(const Figures& figures, const auto& weight, const auto& beside) {
  std::vector<double> squares;
  const double z = normal_quantile(0.95);
  for (const LeftOutFigure& f : figures) {
    if (weight(f) > 0) squares.push_back((f.log * f.log / (z * z) - beside(f)) / weight(f));
  }
  if (squares.size() < kLeastErrorRows) return {};
  return std::clamp(std::sqrt(std::max(0.0, quantile(squares, 0.9))), kLeastError, kMostError);
}

}  // namespace

std::string ServiceErrors::yaml() const {
  std::string out;
  if (step) out += fmt::format("step_error: {:.2g}\n", *step);
  if (experts) out += fmt::format("experts_error: {:.2g}\n", *experts);
  if (ttft) out += fmt::format("ttft_error: {:.2g}\n", *ttft);
  return out;
}

double widened_for(std::size_t groups) {
  if (groups < 2) return 1;
  const double n = static_cast<double>(groups - 1), z = normal_quantile(0.95);
  const double first = (std::pow(z, 3) + z) / 4,
               second = (5 * std::pow(z, 5) + 16 * std::pow(z, 3) + 3 * z) / 96;
  return 1 + (first / n + second / (n * n)) / z;
}

ServiceErrors ask_errors(const std::vector<LeftOut>& rows, const std::vector<LeftOut>& firsts,
                         std::size_t groups) {
  const auto one = [](const LeftOutFigure&) { return 1.0; };
  const auto kernels = [](const LeftOutFigure& f) { return f.kernels; };
  const Figures tpots = figures_of(rows, &LeftOut::tpot);
  ServiceErrors e;
  e.step =
      asked(tpots, [](const LeftOutFigure& f) { return has_experts(f) ? 0.0 : f.step; }, kernels);
  const double step = e.step ? *e.step * *e.step : 0;
  if (e.step) {
    e.experts = asked(
        tpots, [](const LeftOutFigure& f) { return has_experts(f) ? f.experts : 0.0; },
        [step](const LeftOutFigure& f) { return f.kernels + f.step * step; });
  } else {
    e.step = asked(tpots, [](const LeftOutFigure& f) { return f.step; }, kernels);
    if (e.step) e.experts = 0;
  }
  const double of_steps = e.step ? *e.step * *e.step : 0;
  const double of_experts = e.experts ? *e.experts * *e.experts : 0;
  e.ttft = asked(figures_of(firsts, &LeftOut::ttft), one,
                 [of_steps, of_experts](const LeftOutFigure& f) {
                   return f.kernels + f.step * of_steps + f.experts * of_experts;
                 });
  if (e.ttft) e.ttft = std::min(kMostError, *e.ttft * widened_for(groups));
  return e;
}

}  // namespace orrery
