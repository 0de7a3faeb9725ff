// The errors of a serving engine that rows ask for which its fit did not see.
//
// Each is the smallest that puts 90 % of the rows into their 90 % intervals, in addition to the
// errors found before it:
//
//   step_error     of TPOTs of models without experts, beside the errors of kernels and collectives
//   experts_error  of TPOTs of models with experts, beside these
//   ttft_error     of TTFTs, beside these
//
// If there are too few rows without experts, step_error is found from all rows, and experts_error
// is 0. An error without enough rows is not found.
#pragma once

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

ServiceErrors ask_errors(const std::vector<LeftOut>& rows);

}  // namespace orrery
