// The parser of a suite's expressions (suite_expression.h).
#pragma once

#include <string>
#include <vector>

#include "orrery/base/node.h"
#include "orrery/suite/suite_term.h"

namespace orrery {

struct ParsedSuiteExpression {
  SuiteTerm root;
  std::string unit;  // after `as`; empty: none given
};

// Parses the text of `node`. InputError at `node`, with the column, the expected text and the
// nearest known name.
ParsedSuiteExpression parse_suite_expression(const Node& node,
                                             const std::vector<std::string>& runs);

}  // namespace orrery
