#include "orrery/scenario/kinds/training/training_answer.h"

#include <fmt/format.h>

#include <cmath>

#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/training/iteration/iteration.h"

// TrainingAnswerer takes these releases where a question does not state those of its software.
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

std::optional<Undeclared> TrainingAnswerer::undeclared_release(const IterationParts& parts,
                                                               const TrainingJob& job) const {
  const auto span = table_->releases.find(stack_of(question_).name);
  if (release_ || calibration_ || span == table_->releases.end()) return std::nullopt;
  const auto at = [&](double release) {
    return iteration_time(parts, constants(job, release), job).total;
  };
  // Any release between the first and the last: the deviation of a uniform distribution.
  const double range = std::log(at(span->second.first) / at(span->second.last));
  if (range == 0) return std::nullopt;
  return Undeclared{"stack_version", month_of(span->second.usual), deviation_of(range)};
}

std::optional<Undeclared> TrainingAnswerer::undeclared_torch(const IterationModel& iterations,
                                                             const IterationTime& time,
                                                             const TrainingConstants& k,
                                                             const TrainingJob& job) const {
  if (release_ || calibration_ || !question_.torch.empty()) return std::nullopt;
  const auto newest = torch_at(1e6);
  if (!newest) return std::nullopt;
  TrainingQuestion question = question_;
  question.torch = to_text(*newest);
  const StackTraits traits = traits_of(question, setting_.gpu);
  const bool same_norms = traits.fused || traits.single_norms == traits_.single_norms;
  if (same_norms && traits.attention.backend == traits_.attention.backend) return std::nullopt;
  const Seconds other = iteration_time(iterations.parts(job, traits), k, job).total;
  return Undeclared{
      "torch",
      same_norms ? fmt::format("with attention by {}", traits_.attention.backend) : "before 2.9",
      deviation_of(std::log(time.total / other))};
}

}  // namespace orrery
