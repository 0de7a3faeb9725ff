// Which questions of a suite a tool can answer: scenarios/suites/tools/*.yaml.
//
//   tool: vidur
//   suite: suite45
//   published: {full: 12, partial: 2}   # what its table of coverage says, if there is one
//   full: [I1.1, I1.2]                  # every metric is a direct output for this model, hardware
//   partial: [I3.1]                     #   and parallelism; or only some of them
//   source: where that is from
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

// InputError: a question that the suite does not have, or one named twice.
ToolCoverage read_coverage(const Node& document, const Suite& suite);
// The bundled files that are about this suite, by name.
std::vector<ToolCoverage> bundled_coverage(const Suite& suite, const Bundle& bundle);

// Our own, from answers: full where every metric was answered, partial where some were.
ToolCoverage own_coverage(const Suite& suite, const std::vector<SuiteOutcome>& outcomes);

// A Markdown table: a line a question, a column a tool; then the counts, and the published ones.
std::string coverage_markdown(const Suite& suite, const std::vector<ToolCoverage>& tools);
nlohmann::ordered_json coverage_json(const Suite& suite, const std::vector<ToolCoverage>& tools);

}  // namespace orrery
