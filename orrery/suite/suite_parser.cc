#include "orrery/suite/suite_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::size_t kLongest = 2000;
constexpr int kDeepest = 64;
constexpr std::size_t kMostTerms = 500;

using TermOp = SuiteTerm::Op;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

const std::vector<std::string> kWords = {"and", "or", "not", "in", "within", "of", "as"};

SuiteTerm joined(TermOp op, std::vector<SuiteTerm> terms) {
  SuiteTerm t;
  t.op = op;
  t.terms = std::move(terms);
  return t;
}

// Recursive descent over the text; `at_` is the next character.
class Parser {
 public:
  Parser(const Node& node, const std::vector<std::string>& runs)
      : node_(node), text_(node.as_string()), runs_(runs) {}

  ParsedSuiteExpression whole() {
    if (text_.size() > kLongest)
      node_.fail(fmt::format("an expression of {} characters; at most {}", text_.size(), kLongest));
    ParsedSuiteExpression out;
    out.root = disjunction();
    if (takes_word("as")) {
      out.unit = std::string(text_.substr(at_));
      out.unit.erase(0, out.unit.find_first_not_of(' '));
      if (out.unit.empty() || out.unit.size() > 32) refuse("expected a unit after 'as'");
      if (out.root.is_condition()) refuse("a condition has no unit");
      return out;
    }
    skip_blanks();
    if (at_ < text_.size()) refuse("expected an operator");
    return out;
  }

 private:
  [[noreturn]] void refuse(std::string_view why) const { refuse_at(at_, why); }
  [[noreturn]] void refuse_at(std::size_t at, std::string_view why) const {
    const std::string found =
        at < text_.size() ? fmt::format(" at '{}'", text_.substr(at, 12)) : " at the end";
    node_.fail(fmt::format("column {}: {}{}", at + 1, why, found));
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool takes(std::string_view symbol) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (!takes(symbol)) refuse(fmt::format("expected '{}'", symbol));
  }
  // The identifier that comes next, not yet taken.
  std::string_view word() {
    skip_blanks();
    std::size_t end = at_;
    if (end < text_.size() && is_letter(text_[end]))
      while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    return text_.substr(at_, end - at_);
  }
  bool takes_word(std::string_view w) {
    if (word() != w) return false;
    at_ += w.size();
    return true;
  }
  std::string expect_name(std::string_view what) {
    const std::string_view w = word();
    if (w.empty() || std::find(kWords.begin(), kWords.end(), w) != kWords.end())
      refuse(fmt::format("expected {}", what));
    at_ += w.size();
    return std::string(w);
  }

  // Refuses the wrong kind where a number or a condition is needed.
  void need(const SuiteTerm& t, bool condition, std::size_t at) const {
    if (t.is_condition() == condition) return;
    refuse_at(at, condition ? "expected a condition, this is a number"
                            : "expected a number, this is a condition");
  }
  std::size_t here() {
    skip_blanks();
    return at_;
  }

  SuiteTerm disjunction() { return chain("or", TermOp::kOr, &Parser::conjunction); }
  SuiteTerm conjunction() { return chain("and", TermOp::kAnd, &Parser::negation); }

  SuiteTerm chain(const char* joint, TermOp op, SuiteTerm (Parser::*part)()) {
    const Depth depth(*this);
    std::size_t at = here();
    SuiteTerm left = (this->*part)();
    while (takes_word(joint)) {
      need(left, true, at);
      at = here();
      SuiteTerm right = (this->*part)();
      need(right, true, at);
      left = joined(op, {std::move(left), std::move(right)});
    }
    return left;
  }

  SuiteTerm negation() {
    const Depth depth(*this);
    if (!takes_word("not")) return comparison();
    const std::size_t at = here();
    SuiteTerm inner = negation();
    need(inner, true, at);
    return joined(TermOp::kNot, {std::move(inner)});
  }

  SuiteTerm operand() {
    const std::size_t at = here();
    SuiteTerm t = sum();
    need(t, false, at);
    return t;
  }

  SuiteTerm comparison() {
    const std::size_t at = here();
    SuiteTerm left = sum();
    const auto compared = [&](std::vector<SuiteTerm> rest, TermOp op) {
      need(left, false, at);
      rest.insert(rest.begin(), std::move(left));
      return joined(op, std::move(rest));
    };
    if (takes_word("in")) {
      SuiteTerm least = operand();
      expect("..");
      SuiteTerm most = operand();
      return compared({std::move(least), std::move(most)}, TermOp::kIn);
    }
    if (takes_word("within")) {
      SuiteTerm tolerance = operand();
      if (!takes_word("of")) refuse("expected 'of', as in: a within 5% of b");
      SuiteTerm target = operand();
      return compared({std::move(tolerance), std::move(target)}, TermOp::kWithin);
    }
    for (const auto& [symbol, op] : {std::pair<const char*, TermOp>{"<=", TermOp::kLessEqual},
                                     {">=", TermOp::kGreaterEqual},
                                     {"==", TermOp::kEqual},
                                     {"!=", TermOp::kUnequal},
                                     {"<", TermOp::kLess},
                                     {">", TermOp::kGreater}}) {
      if (takes(symbol)) return compared({operand()}, op);
    }
    return left;
  }

  SuiteTerm arithmetic(std::initializer_list<std::pair<const char*, TermOp>> symbols,
                       SuiteTerm (Parser::*part)()) {
    std::size_t at = here();
    SuiteTerm left = (this->*part)();
    while (true) {
      const auto found =
          std::find_if(symbols.begin(), symbols.end(), [&](auto& s) { return takes(s.first); });
      if (found == symbols.end()) return left;
      need(left, false, at);
      at = here();
      SuiteTerm right = (this->*part)();
      need(right, false, at);
      left = joined(found->second, {std::move(left), std::move(right)});
    }
  }
  SuiteTerm sum() {
    return arithmetic({{"+", TermOp::kAdd}, {"-", TermOp::kSubtract}}, &Parser::product);
  }
  SuiteTerm product() {
    return arithmetic({{"*", TermOp::kMultiply}, {"/", TermOp::kDivide}}, &Parser::sign);
  }
  SuiteTerm sign() {
    const Depth depth(*this);
    const std::size_t at = here();
    if (takes("-")) {
      SuiteTerm inner = sign();
      need(inner, false, at);
      return joined(TermOp::kNegate, {std::move(inner)});
    }
    SuiteTerm base = primary();
    if (!takes("^")) return base;
    need(base, false, at);
    const std::size_t exponent_at = here();
    SuiteTerm exponent = sign();
    need(exponent, false, exponent_at);
    return joined(TermOp::kPower, {std::move(base), std::move(exponent)});
  }

  SuiteTerm primary() {
    skip_blanks();
    if (++terms_ > kMostTerms) refuse(fmt::format("more than {} terms", kMostTerms));
    if (at_ < text_.size() && is_digit(text_[at_])) return number();
    if (takes("(")) {
      SuiteTerm inner = disjunction();
      expect(")");
      return inner;
    }
    const std::size_t at = at_;
    const std::string name = expect_name("a number, a name or '('");
    if (takes("(")) return call(name, at);
    SuiteTerm t;
    t.op = TermOp::kReference;
    t.reference = reference(name, at);
    t.reference.text = std::string(text_.substr(at, at_ - at));
    return t;
  }

  SuiteTerm number() {
    const std::size_t at = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    // A point belongs to the number unless it begins "..".
    if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
      ++at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    }
    if (at_ < text_.size() && text_[at_] == 'e') {
      std::size_t end = at_ + 1;
      if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
      if (end < text_.size() && is_digit(text_[end])) {
        while (end < text_.size() && is_digit(text_[end])) ++end;
        at_ = end;
      }
    }
    SuiteTerm t;
    const auto [end, error] = std::from_chars(text_.data() + at, text_.data() + at_, t.number);
    if (error != std::errc() || end != text_.data() + at_ || !std::isfinite(t.number))
      refuse_at(at, "not a number");
    if (at_ < text_.size() && text_[at_] == '%') ++at_, t.number /= 100;
    return t;
  }

  SuiteTerm call(const std::string& name, std::size_t at) {
    const auto& known = suite_functions();
    if (std::find(known.begin(), known.end(), name) == known.end())
      refuse_at(at, fmt::format("no function '{}'{}", name, did_you_mean(name, known)));
    SuiteTerm t;
    t.op = TermOp::kFunction;
    t.function = name;
    do {
      const std::size_t argument_at = here();
      t.terms.push_back(disjunction());
      need(t.terms.back(), false, argument_at);
    } while (takes(","));
    expect(")");
    const bool several = name == "min" || name == "max" || name == "sum" || name == "mean";
    if (!several && t.terms.size() != 1) refuse_at(at, fmt::format("{} takes one argument", name));
    return t;
  }

  // After "[": "key=value, key=value]".
  SuiteReference::Filter filter(std::initializer_list<const char*> keys) {
    SuiteReference::Filter out;
    do {
      const std::size_t at = here();
      const std::string key = expect_name("a key, as in [osl=128]");
      if (keys.size() > 0) {
        const std::vector<std::string> known(keys.begin(), keys.end());
        if (std::find(known.begin(), known.end(), key) == known.end())
          refuse_at(at, fmt::format("expected one of {}{}", fmt::join(known, ", "),
                                    did_you_mean(key, known)));
      }
      expect("=");
      skip_blanks();
      const std::size_t end = std::min(text_.find_first_of(",]", at_), text_.size());
      std::string value(text_.substr(at_, end - at_));
      value.erase(value.find_last_not_of(' ') + 1);
      if (value.empty()) refuse("expected a value");
      at_ = end;
      out.emplace_back(key, std::move(value));
    } while (takes(","));
    expect("]");
    return out;
  }

  SuiteReference reference(const std::string& name, std::size_t at) {
    using What = SuiteReference::What;
    SuiteReference r;
    const bool is_run = std::find(runs_.begin(), runs_.end(), name) != runs_.end();
    const bool goes_on = at_ < text_.size() && (text_[at_] == '[' || member());
    if (!is_run && goes_on)
      refuse_at(at, fmt::format("no run is called '{}'{}; runs: {}", name,
                                did_you_mean(name, runs_), fmt::join(runs_, ", ")));
    if (!is_run) {
      r.name = name;
      return r;
    }
    r.run = name;
    if (takes("[")) r.points = filter({});
    if (!member()) refuse("expected '.' and a metric");
    ++at_;
    r.name = expect_name("a metric");
    if (r.name == "feasible") {
      r.what = What::kFeasible;
    } else if (r.name == "memory_rows") {
      r.what = What::kMemoryRows;
    } else if (r.name == "at" || (r.name == "memory" && member())) {
      r.what = r.name == "at" ? What::kAt : What::kMemoryRow;
      if (!member()) refuse("expected '.' and a key");
      ++at_;
      r.name = expect_name("a key");
    } else if (r.name == "kernels") {
      r.what = What::kKernels;
      if (takes("[")) r.kernels = filter({"phase", "name", "part", "bound"});
      if (!member()) refuse("expected '.' and ms, share, calls or of_peak");
      ++at_;
      const std::size_t quantity_at = at_;
      r.name = expect_name("ms, share, calls or of_peak");
      if (r.name != "ms" && r.name != "share" && r.name != "calls" && r.name != "of_peak")
        refuse_at(quantity_at, "expected ms, share, calls or of_peak");
    } else if (r.name == "notes") {
      r.what = What::kNotes;
      expect("[");
      expect("\"");
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos || end == at_) refuse("expected a text in quotes");
      r.name = std::string(text_.substr(at_, end - at_));
      at_ = end + 1;
      expect("]");
    }
    return r;
  }
  // A '.' with a name after it, not the ".." of a range.
  bool member() const {
    return at_ + 1 < text_.size() && text_[at_] == '.' && is_letter(text_[at_ + 1]);
  }

  struct Depth {
    explicit Depth(Parser& p) : parser(p) {
      if (++parser.depth_ > kDeepest) parser.refuse("nested too deep");
    }
    ~Depth() { --parser.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    Parser& parser;
  };

  const Node& node_;
  std::string_view text_;
  const std::vector<std::string>& runs_;
  std::size_t at_ = 0, terms_ = 0;
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
