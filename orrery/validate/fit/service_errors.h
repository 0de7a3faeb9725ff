// The errors of a serving engine that rows ask for which its fit did not see.
//
// Each is the smallest that puts 90 % of the rows into their 90 % intervals, in addition to the
// errors found before it:
//
//   step_error     of TPOTs of models without experts, beside the errors of kernels and collectives
//   experts_error  of TPOTs of models with experts, beside these
//   ttft_error     of TTFTs, beside these; asked of rows of all classes of GPUs, also of those that
//                  are not fitted
//
// Rows of one model and system err together, so that there are as many draws of an error as groups.
// An interval that holds 90 % of the rows of a group that nobody saw is wider than one that holds
// 90 % of the rows of the groups that were seen: by Student's t, as a prediction from a few draws.
// ttft_error is multiplied by t / z for the number of groups.
//
// If there are too few rows without experts, step_error is found from all rows, and experts_error
// is 0. An error without enough rows is not found.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace orrery {

// A figure of a row that was predicted by a fit without its model and system.
struct LeftOutFigure {
  double log = 0;      // predicted / measured
  double kernels = 0;  // squared relative error of the kernels, collectives and host alone
  double step = 0;     // squared share of step_error
  double experts = 0;  // squared share of experts_error
};

struct LeftOut {
  std::optional<LeftOutFigure> tpot, ttft;
};

struct ServiceErrors {
  std::optional<double> step, experts, ttft;
  // The lines of an engine's profile that state the errors which were found, such as
  // "step_error: 0.1".
  std::string yaml() const;
};

// Rows without which no error is found.
inline constexpr std::size_t kLeastErrorRows = 6;

// `firsts`: rows whose TTFTs are asked, of `groups` models and systems.
ServiceErrors ask_errors(const std::vector<LeftOut>& rows, const std::vector<LeftOut>& firsts,
                         std::size_t groups);

// How much wider the 90 % interval of a further draw is after `groups` draws than after any number
// of them: the quantiles of Student's t (Cornish and Fisher's expansion) and of the normal
// distribution. 1 for fewer than two groups.
double widened_for(std::size_t groups);

}  // namespace orrery
