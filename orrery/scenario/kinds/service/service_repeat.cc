#include "orrery/scenario/kinds/service/service_repeat.h"

#include "orrery/scenario/kinds/service/service_metrics.h"
#include "orrery/scenario/kinds/service/service_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

// Two-sided quantiles of Student's t with n degrees of freedom, z being the normal one: the series
// of Cornish and Fisher (Abramowitz and Stegun 26.7.5), exact to 0.1 % from n = 4 on.
double student(double z, double n) {
  const double z2 = z * z;
  const double g1 = z * (z2 + 1) / 4;
  const double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
  const double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
  const double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
  return z + g1 / n + g2 / (n * n) + g3 / (n * n * n) + g4 / (n * n * n * n);
}

double t90(std::size_t n) {
  constexpr double kFew[] = {6.314, 2.920, 2.353};
  return n <= 3 ? kFew[n - 1] : student(1.6448536269514722, static_cast<double>(n));
}
double t50(std::size_t n) {
  constexpr double kFew[] = {1.000, 0.816, 0.765};
  return n <= 3 ? kFew[n - 1] : student(0.6744897501960817, static_cast<double>(n));
}

// Moves the interval to the mean and widens it.
void widen(Metric& m, double mean, double error90, double error50) {
  const auto below = [&](double bound, double error) {
    return mean - std::hypot(m.value - bound, error);
  };
  const auto above = [&](double bound, double error) {
    return mean + std::hypot(bound - m.value, error);
  };
  m.low90 = below(m.low90, error90);
  m.low50 = below(m.low50, error50);
  m.high50 = above(m.high50, error50);
  m.high90 = above(m.high90, error90);
  if (m.value >= 0) {  // no figure here can be negative
    m.low90 = std::max(m.low90, 0.0);
    m.low50 = std::max(m.low50, 0.0);
  }
  if (m.unit == "%" && m.subject != Subject::kOverhead) {  // a share
    m.high90 = std::min(m.high90, 100.0);
    m.high50 = std::min(m.high50, 100.0);
  }
  m.value = mean;
}

}  // namespace

SeedRuns::SeedRuns(const ServiceQuestion& service, double rate, const SimulationConfig& config,
                   const MakeClocks& clocks, const UseOfGpus& use)
    : service_(service),
      rate_(rate),
      config_(config),
      clocks_(clocks),
      use_(use),
      runs_(static_cast<std::size_t>(std::max<std::int64_t>(service.repeat, 1) - 1)) {}

std::vector<Job> SeedRuns::jobs() {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < runs_.size(); ++i) jobs.emplace_back([this, i] { run(i); });
  return jobs;
}

void SeedRuns::run(std::size_t i) {
  ServiceQuestion own = service_;
  own.seed += static_cast<std::int64_t>(i) + 1;
  SimulationConfig c = config_;
  c.seed += i + 1;
  c.replica.speculation.seed += i + 1;
  std::vector<std::string> notes;
  const RequestLoad load = load_of(own, rate_, notes);
  const SimulationResult run = simulate(c, load, clocks_(1).view());
  runs_[i] = service_metrics(service_figures(own.slo, own.margins, c, run), run, use_);
}

void SeedRuns::merge(Point& point) const {
  if (runs_.empty()) return;
  for (Metric& m : point.metrics) {
    std::vector<double> values = {m.value};
    for (const std::vector<Metric>& run : runs_) {
      for (const Metric& other : run) {
        if (other.name == m.name) values.push_back(other.value);
      }
    }
    if (values.size() < 2) continue;
    double sum = 0, squares = 0;
    for (double v : values) sum += v;
    const auto count = static_cast<double>(values.size());
    const double mean = sum / count;
    for (double v : values) squares += (v - mean) * (v - mean);
    const double error = std::sqrt(squares / (count - 1) / count);
    widen(m, mean, t90(values.size() - 1) * error, t50(values.size() - 1) * error);
  }
  point.notes.push_back(fmt::format(
      "means over {} seeds; intervals include the 90 % confidence of the mean", runs_.size() + 1));
}

}  // namespace orrery
