// Suites of questions with checks that can fail: scenarios/suites/*.yaml.
//
//   suite: suite45
//   title: The 45-scenario LLM suite
//   folder: ../suite45                 # where the runs' scenario files stand
//   questions:
//     - id: T1.4
//       question: How much slower is the attention block of T1.1 one GPU generation earlier?
//       informs: choice of the GPU generation
//       runs: {a100: T1.4, h100: T1.1}   # or `run: T1.4`, then called `it`
//       metrics:                         # what is asked: figures (suite_expression.h)
//         latency: a100.attention_block
//       checks:                          # what must hold, in words and as a condition
//         T1.4/T1.1 between 1.9 and 3.2: a100.attention_block / h100.attention_block in 1.9..3.2
//       bounds:                          # physical bounds of a metric besides suite_bounds.h's
//         ratio: {low: 0.5, high: it.at.gpus, why: no GPU does the work of two}
//       erratum: where the figure that is often quoted is wrong, and why
//       note: anything else
//
// A question is answered if all of its metrics are; it passes if all of its checks hold.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/part_meter.h"
#include "orrery/scenario/runner/runner.h"
#include "orrery/suite/suite_expression.h"

namespace orrery {

struct SuiteQuestion {
  struct Run {
    std::string name, file;  // its name in expressions, and its scenario file
  };
  // A physical bound of a metric. `low` and `high` consist of counts (only_counts).
  struct Bound {
    std::string metric;
    std::optional<SuiteExpression> low, high;
    std::string why;
  };
  std::string id, question, informs, erratum, note;
  std::vector<Run> runs;
  std::vector<std::pair<std::string, SuiteExpression>> metrics, checks;
  std::vector<Bound> bounds;
};

struct Suite {
  std::string id, title;
  std::vector<SuiteQuestion> questions;
};

// Names of the bundled suites.
std::vector<std::string> suite_names(const Bundle& bundle);
// The bundled suite of that name, or the suite of a file. InputError with file:line:key.
Suite read_suite(const std::string& name, const Bundle& bundle);

// The answers of scenario files. Each file is answered once.
class SuiteRuns {
 public:
  SuiteRuns(Runner& runner, const RunOptions& options) : runner_(runner), options_(options) {}

  // The answer of a file; nullptr if it is refused, with the reason in `why`.
  const Answer* of(const std::string& file, std::string& why);

 private:
  std::pair<Answer, std::string> answer(const std::string& file);

  Runner& runner_;
  RunOptions options_;
  std::map<std::string, std::pair<Answer, std::string>> answers_;
};

struct SuiteOutcome {
  enum class Status { kPass, kFail, kUnanswered };
  struct MetricResult {
    std::string name;
    std::optional<SuiteFigure> figure;
    std::string why;  // why there is no figure
  };
  struct CheckResult {
    std::string claim, expression;
    Status status = Status::kPass;
    std::string seen;  // the numbers compared, or why there are none
  };
  std::string suite, id;
  Status status = Status::kPass;
  std::vector<MetricResult> metrics;
  std::vector<CheckResult> checks;
  double seconds = 0;  // spent on runs that no earlier question asked for
};
std::string_view to_text(SuiteOutcome::Status status);

struct SuiteOptions {
  bool intervals = true;  // whether simulated services have intervals (two more simulations each)
  // The beginnings of the ids of the questions to ask; empty: all questions.
  std::vector<std::string> only;
  bool asks(const std::string& id) const;  // whether the question is to be asked
  PartMeter* meter = nullptr;              // a question is a part; null: nobody looks
};

// Answers the questions in order. `clock` returns seconds since any fixed moment. A question with a
// refused run is unanswered, with the reason.
std::vector<SuiteOutcome> run_suite(const Suite& suite, Runner& runner, const SuiteOptions& options,
                                    const std::function<double()>& clock);

// {"scenarios": [{"id", "suite", "status", "metrics", "checks", "seconds"}]}.
nlohmann::ordered_json to_json(const std::vector<SuiteOutcome>& outcomes);

}  // namespace orrery
