#include "orrery/suite/suite_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "orrery/base/error.h"
#include "orrery/suite/suite_text.h"

namespace orrery {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostTerms = 500;

using TermOp = SuiteTerm::Op;

// Precedence of operators, from the loosest. `not` and the sign precede their operand; the others
// are binary.
enum Level { kOr = 1, kAnd, kNot, kComparison, kSum, kProduct, kSign, kPower };

struct Infix {
  std::string_view symbol;  // a word or other characters; a longer one before its beginning
  TermOp op;
  Level level;
  Level right;  // the loosest operator of the operand to its right
};
constexpr Infix kInfixes[] = {
    {"or", TermOp::kOr, kOr, kAnd},
    {"and", TermOp::kAnd, kAnd, kNot},
    {"in", TermOp::kIn, kComparison, kSum},
    {"within", TermOp::kWithin, kComparison, kSum},
    {"<=", TermOp::kLessEqual, kComparison, kSum},
    {">=", TermOp::kGreaterEqual, kComparison, kSum},
    {"==", TermOp::kEqual, kComparison, kSum},
    {"!=", TermOp::kUnequal, kComparison, kSum},
    {"<", TermOp::kLess, kComparison, kSum},
    {">", TermOp::kGreater, kComparison, kSum},
    {"+", TermOp::kAdd, kSum, kProduct},
    {"-", TermOp::kSubtract, kSum, kProduct},
    {"*", TermOp::kMultiply, kProduct, kSign},
    {"/", TermOp::kDivide, kProduct, kSign},
    {"^", TermOp::kPower, kPower, kSign},  // a^b^c is a^(b^c)
};

bool joins_conditions(const Infix& infix) { return infix.level <= kAnd; }

SuiteTerm joined(TermOp op, std::vector<SuiteTerm> terms) {
  SuiteTerm t;
  t.op = op;
  t.terms = std::move(terms);
  return t;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.erase(0, text.find_first_not_of(" \n"));
}

// Precedence climbing over the table of operators.
class Parser {
 public:
  Parser(const Node& node, const std::vector<std::string>& runs) : in_(node), runs_(runs) {}

  ParsedSuiteExpression whole() {
    ParsedSuiteExpression out;
    out.root = expression(kOr);
    if (in_.takes_word("as")) {
      const std::size_t at = in_.here();
      out.unit = trimmed(in_.until(""));
      if (out.unit.empty() || out.unit.size() > 32) in_.refuse_at(at, "expected a unit after 'as'");
      if (out.root.is_condition()) in_.refuse("a condition has no unit");
    } else if (!in_.at_end()) {
      in_.refuse("expected an operator");
    }
    return out;
  }

 private:
  // Refuses a number where a condition is needed, and the other way round.
  void need(const SuiteTerm& t, bool condition, std::size_t at) const {
    if (t.is_condition() == condition) return;
    in_.refuse_at(at, condition ? "expected a condition, this is a number"
                                : "expected a number, this is a condition");
  }

  // An expression whose operators bind at least as tightly as `loosest`.
  SuiteTerm expression(Level loosest) {
    const Depth depth(*this);
    const std::size_t at = in_.here();
    Level tightest = kPower;  // of the operators that may still follow
    SuiteTerm left = prefixed(loosest, tightest);
    while (const Infix* infix = take_infix(loosest, tightest)) {
      need(left, joins_conditions(*infix), at);
      std::vector<SuiteTerm> terms = operands(*infix);
      terms.insert(terms.begin(), std::move(left));
      left = joined(infix->op, std::move(terms));
      tightest = infix->level == kComparison ? kAnd : infix->level;  // a < b < c means nothing
    }
    return left;
  }

  // Parses a term and its prefix operators. Lowers `tightest` if these bind less tightly.
  SuiteTerm prefixed(Level loosest, Level& tightest) {
    if (loosest <= kNot && in_.takes_word("not")) {
      tightest = kAnd;
      return joined(TermOp::kNot, {operand(kNot, true)});
    }
    if (in_.takes("-")) {
      tightest = kProduct;
      return joined(TermOp::kNegate, {operand(kSign, false)});
    }
    return primary();
  }

  const Infix* take_infix(Level loosest, Level tightest) {
    const auto found = std::find_if(std::begin(kInfixes), std::end(kInfixes), [&](const Infix& i) {
      const bool is_word = i.symbol.front() >= 'a';
      return i.level >= loosest && i.level <= tightest &&
             (is_word ? in_.takes_word(i.symbol) : in_.takes(i.symbol));
    });
    return found == std::end(kInfixes) ? nullptr : found;
  }

  SuiteTerm operand(Level loosest, bool condition) {
    const std::size_t at = in_.here();
    SuiteTerm t = expression(loosest);
    need(t, condition, at);
    return t;
  }

  // Parses the operands to the right of an operator: one, or two for `in` and `within`.
  std::vector<SuiteTerm> operands(const Infix& infix) {
    std::vector<SuiteTerm> terms = {operand(infix.right, joins_conditions(infix))};
    if (infix.op == TermOp::kIn) {
      in_.expect("..");
    } else if (infix.op == TermOp::kWithin) {
      if (!in_.takes_word("of")) in_.refuse("expected 'of', as in: a within 5% of b");
    } else {
      return terms;
    }
    terms.push_back(operand(infix.right, false));
    return terms;
  }

  SuiteTerm primary() {
    const std::size_t at = in_.here();
    if (++terms_ > kMostTerms) in_.refuse(fmt::format("more than {} terms", kMostTerms));
    SuiteTerm t;
    if (in_.next_is_digit()) {
      t.number = in_.number();
      return t;
    }
    if (in_.takes("(")) {
      SuiteTerm inner = expression(kOr);
      in_.expect(")");
      return inner;
    }
    const std::string name = in_.expect_name("a number, a name or '('");
    if (in_.takes("(")) return call(name, at);
    t.op = TermOp::kReference;
    t.reference = reference(name, at);
    t.reference.text = in_.from(at);
    return t;
  }

  SuiteTerm call(const std::string& name, std::size_t at) {
    const auto& known = suite_functions();
    if (std::find(known.begin(), known.end(), name) == known.end())
      in_.refuse_at(at, fmt::format("no function '{}'{}", name, did_you_mean(name, known)));
    SuiteTerm t;
    t.op = TermOp::kFunction;
    t.function = name;
    do {
      t.terms.push_back(operand(kOr, false));
    } while (in_.takes(","));
    in_.expect(")");
    const bool several = name == "min" || name == "max" || name == "sum" || name == "mean";
    if (!several && t.terms.size() != 1)
      in_.refuse_at(at, fmt::format("{} takes one argument", name));
    return t;
  }

  // Parses "key=value, key=value]" after "[". Any key is allowed if `keys` is empty.
  SuiteReference::Filter filter(const std::vector<std::string>& keys) {
    SuiteReference::Filter out;
    do {
      const std::size_t at = in_.here();
      const std::string key = in_.expect_name("a key, as in [osl=128]");
      if (!keys.empty() && std::find(keys.begin(), keys.end(), key) == keys.end())
        in_.refuse_at(at, fmt::format("expected one of {}{}", fmt::join(keys, ", "),
                                      did_you_mean(key, keys)));
      in_.expect("=");
      const std::size_t value_at = in_.here();
      std::string value = trimmed(in_.until(",]"));
      if (value.empty()) in_.refuse_at(value_at, "expected a value");
      out.emplace_back(key, std::move(value));
    } while (in_.takes(","));
    in_.expect("]");
    return out;
  }

  // Parses the name after a '.': the requested part of a run's answer.
  std::string member(std::string_view what) {
    if (!in_.next_is_member()) in_.refuse(fmt::format("expected '.' and {}", what));
    in_.expect(".");
    return in_.expect_name(what);
  }

  SuiteReference reference(const std::string& name, std::size_t at) {
    using What = SuiteReference::What;
    SuiteReference r;
    r.name = name;
    if (std::find(runs_.begin(), runs_.end(), name) == runs_.end()) {
      if (in_.next_is('[') || in_.next_is_member())
        in_.refuse_at(at, fmt::format("no run is called '{}'{}; runs: {}", name,
                                      did_you_mean(name, runs_), fmt::join(runs_, ", ")));
      return r;
    }
    r.run = name;
    if (in_.takes("[")) r.points = filter({});
    r.name = member("a metric");
    if (r.name == "feasible") {
      r.what = What::kFeasible;
    } else if (r.name == "memory_rows") {
      r.what = What::kMemoryRows;
    } else if (r.name == "at" || (r.name == "memory" && in_.next_is_member())) {
      r.what = r.name == "at" ? What::kAt : What::kMemoryRow;
      r.name = member("a key");
    } else if (r.name == "kernels") {
      r.what = What::kKernels;
      if (in_.takes("[")) r.kernels = filter({"phase", "name", "part", "bound"});
      r.name = quantity_of_kernels();
    } else if (r.name == "notes") {
      r.what = What::kNotes;
      r.name = quoted();
    }
    return r;
  }

  std::string quantity_of_kernels() {
    static const std::vector<std::string> kKnown = {"ms", "share", "calls", "of_peak"};
    const std::string what = "ms, share, calls or of_peak";
    const std::size_t at = in_.here() + 1;
    std::string name = member(what);
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end())
      in_.refuse_at(at, "expected " + what);
    return name;
  }

  // The text of ["text"].
  std::string quoted() {
    in_.expect("[");
    in_.expect("\"");
    std::string text = in_.until("\"");
    if (text.empty() || !in_.next_is('"')) in_.refuse("expected a text in quotes");
    in_.expect("\"");
    in_.expect("]");
    return text;
  }

  struct Depth {
    explicit Depth(Parser& p) : parser(p) {
      if (++parser.depth_ > kDeepest) parser.in_.refuse("nested too deep");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  SuiteText in_;
  const std::vector<std::string>& runs_;
  std::size_t terms_ = 0;
  int depth_ = 0;
};

}  // namespace

bool is_suite_test(std::string_view f) {
  return f == "rising" || f == "falling" || f == "not_rising" || f == "not_falling";
}

const std::vector<std::string>& suite_functions() {
  static const std::vector<std::string> names = {
      "min", "max",  "sum", "mean",   "first",   "last",       "count",
      "abs", "sqrt", "log", "rising", "falling", "not_rising", "not_falling"};
  return names;
}

bool SuiteTerm::is_condition() const {
  if (op == TermOp::kFunction) return is_suite_test(function);
  if (op == TermOp::kReference) return reference.what == SuiteReference::What::kNotes;
  return op >= TermOp::kLess;
}

ParsedSuiteExpression parse_suite_expression(const Node& node,
                                             const std::vector<std::string>& runs) {
  return Parser(node, runs).whole();
}

}  // namespace orrery
