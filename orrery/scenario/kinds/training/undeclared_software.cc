#include "orrery/scenario/kinds/training/undeclared_software.h"

#include <fmt/format.h>

#include <cmath>

namespace orrery {
namespace {

// "2025-06" of 2025.46.
std::string month_of(double release) {
  const double year = std::floor(release);
  return fmt::format("{:.0f}-{:02.0f}", year, 1 + std::floor(12 * (release - year)));
}

// The share of a uniform distribution's range that is its deviation.
double deviation_of(double range) { return std::abs(range) / std::sqrt(12); }

}  // namespace

std::optional<Undeclared> undeclared_release(const TrainingSystem& system,
                                             const IterationParts& parts, const TrainingJob& job) {
  const auto& releases = system.table().releases;
  const auto span = releases.find(stack_of(system.question()).name);
  if (!system.open_release() || span == releases.end()) return std::nullopt;
  const auto at = [&](double release) {
    return iteration_time(parts, system.constants(job, release), job).total;
  };
  // Any release between the first and the last: the deviation of a uniform distribution.
  const double range = std::log(at(span->second.first) / at(span->second.last));
  if (range == 0) return std::nullopt;
  return Undeclared{"stack_version", month_of(span->second.usual), deviation_of(range)};
}

std::optional<Undeclared> undeclared_torch(const TrainingSystem& system,
                                           const IterationModel& iterations,
                                           const IterationTime& time, const TrainingConstants& k,
                                           const TrainingJob& job) {
  if (!system.open_release() || !system.question().torch.empty()) return std::nullopt;
  const auto newest = torch_at(1e6);
  if (!newest) return std::nullopt;
  TrainingQuestion question = system.question();
  question.torch = to_text(*newest);
  const StackTraits traits = traits_of(question, system.setting().gpu);
  const StackTraits& stated = system.traits();
  const bool same_norms = traits.fused || traits.single_norms == stated.single_norms;
  if (same_norms && traits.attention.backend == stated.attention.backend) return std::nullopt;
  const Seconds other = iteration_time(iterations.parts(job, traits), k, job).total;
  return Undeclared{
      "torch",
      same_norms ? fmt::format("with attention by {}", stated.attention.backend) : "before 2.9",
      deviation_of(std::log(time.total / other))};
}

}  // namespace orrery
