// Renders the outcomes of suites: a table, Markdown, a self-contained page.
#pragma once

#include <string>
#include <vector>

#include "orrery/suite/suite.h"

namespace orrery::cli {

std::string suite_table(const std::vector<SuiteOutcome>& outcomes, bool colour);
// Markdown with one row for each metric and each check.
std::string suite_markdown(const std::vector<SuiteOutcome>& outcomes);
std::string suite_html(const std::vector<Suite>& suites, const std::vector<SuiteOutcome>& outcomes);
// One line such as "73 questions: 70 pass, 3 fail, 0 unanswered; 2.41 s".
std::string suite_summary(const std::vector<SuiteOutcome>& outcomes);

}  // namespace orrery::cli
