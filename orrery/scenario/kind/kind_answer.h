// How a kind of question is answered: what its functions are given and what they fill.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer.h"
#include "orrery/scenario/answer/run_options.h"
#include "orrery/scenario/question/scenario.h"

namespace orrery {

class Facts;
class Runner;

// The means of an answer: the facts, and the runner for kinds that ask further questions.
struct Answering {
  Facts& facts;
  Runner& runner;
  const RunOptions& options;
};

// The answer at one point of a sweep: usually one point, of a plan or of a comparison several.
struct PointAnswers {
  std::vector<Point> points = std::vector<Point>(1);
  std::optional<bool> complete = std::nullopt;  // of a search: whether it looked at all candidates
};

// How much work an answer is, as far as the question tells.
struct Effort {
  bool long_search = false;  // it may take minutes, however few its points are
  std::optional<std::int64_t> simulated =
      std::nullopt;  // requests that are simulated; none: no simulation
};

// The remarks of `orrery check` on a question before anything is computed.
struct Preview {
  std::vector<std::string> notes, advice;
};

// A change of a question with which it may fit.
struct Remedy {
  Scenario changed;
  std::string what;  // "parallel.tp: 8"
};

}  // namespace orrery
