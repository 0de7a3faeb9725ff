// Expressions over answers, in which the suites say what they ask for and what must hold.
//
//   ttft                                          a metric of the suite entry's first run
//   short.attention_core / flash.attention_core   of the runs that the entry calls so
//   sweep[osl=2048].tpot                          at the points of a sweep that have this, or a
//                                                 metric of this value
//   it.kernels[phase=decode, part=communication].share
//   it.kernels[name=gate_up_proj*].ms             time of the rows of the breakdown, summed
//   it.memory.weights   it.memory_rows            GB a GPU of one row, and of each
//   it.at.gpus   it.feasible                      where the point is; 1 if it fits in memory
//   it.notes["loss"]                              1 if a note of the answer has this text
//
// A name is a number for each point that it selects: one, or a list. Arithmetic (+ - * / ^) of
// lists is member by member. Comparisons hold if they hold for every member:
//
//   a < b   <=  >  >=  ==  !=      a in 6.6..12      a within 5% of b      and  or  not
//
// `5%` is 0.05. Metrics keep the unit of the answer: a utilisation of 41 % is 41. Functions: min,
// max, sum, mean, first, last, count, abs, sqrt, log; rising, falling, not_rising, not_falling of a
// list. A figure may end in `as UNIT` where arithmetic has changed the unit.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/base/node.h"
#include "orrery/scenario/answer/answer.h"

namespace orrery {

// The answers of an entry by the names of its runs. `first` is the run of terms that name none.
struct SuiteAnswers {
  std::string first;
  std::map<std::string, const Answer*, std::less<>> by_name;
};

// A number with its 90 % interval, whose ends equal the number if it is exact.
struct SuiteCell {
  std::string at;  // "osl=2048" in a list
  double value = 0, low90 = 0, high90 = 0;
};
struct SuiteFigure {
  std::string unit;
  std::vector<SuiteCell> cells;
  Origin origin = Origin::kExact;  // the least certain origin of its parts
  bool direct = false;             // a metric of an answer, without arithmetic
};

struct SuiteVerdict {
  bool holds = false;
  std::string seen;  // the numbers compared: "4.03 in 3.2..4.6"
};

struct SuiteTerm;  // of the parsed tree

class SuiteExpression {
 public:
  // Parses the text of `node`. `runs`: the names of the runs, the first one first. InputError at
  // `node`, with the column.
  static SuiteExpression parse(const Node& node, const std::vector<std::string>& runs);

  const std::string& text() const { return text_; }
  const SuiteTerm& term() const { return *root_; }
  bool is_condition() const;  // whether it is a comparison, or comparisons with and, or, not

  // Evaluates a condition. NoData: an answer lacks a named part, or the arithmetic has no result.
  SuiteVerdict check(const SuiteAnswers& answers) const;
  // The interval: each named number is moved to the ends of its own, the others held, and the
  // deviations are added in quadrature (numbers of one run are taken as independent too).
  SuiteFigure figure(const SuiteAnswers& answers) const;

 private:
  std::string text_, unit_;
  std::shared_ptr<const SuiteTerm> root_;
};

}  // namespace orrery
