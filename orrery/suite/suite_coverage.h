// The questions of a suite that a tool can answer, as files (scenarios/suites/tools/*.yaml).
//
//   tool: vidur
//   suite: suite45
//   published: {full: 12, partial: 2}   # the counts of the tool's own table, if there is one
//   full: [I1.1, I1.2]                  # every metric is a direct output of the tool for this
//                                       # model, hardware and parallelism
//   partial: [I3.1]                     # some of the metrics are
//   source: where this is stated
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/suite/suite.h"

namespace orrery {

struct ToolCoverage {
  std::string tool, suite, source;
  std::vector<std::string> full, partial;
  struct Published {
    int full = 0, partial = 0;
  };
  std::optional<Published> published;
};

// Reads the coverage of a tool. InputError: a question that the suite does not have, or that is
// named twice.
ToolCoverage read_coverage(const Node& document, const Suite& suite);
// The bundled coverages of this suite, sorted by name.
std::vector<ToolCoverage> bundled_coverage(const Suite& suite, const Bundle& bundle);

// The coverage of this program: full for a question whose metrics were all answered, partial if
// some were.
ToolCoverage own_coverage(const Suite& suite, const std::vector<SuiteOutcome>& outcomes);

// A Markdown table with a line for each question and a column for each tool, then the counts and
// the published counts.
std::string coverage_markdown(const Suite& suite, const std::vector<ToolCoverage>& tools);
nlohmann::ordered_json coverage_json(const Suite& suite, const std::vector<ToolCoverage>& tools);

}  // namespace orrery
