#include "orrery/accelerator/notation/accelforge_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// A number or a set of names.
struct ExpressionValue {
  std::optional<double> number;
  NameSet set;
  bool truth() const { return number ? *number != 0 : !set.empty(); }
};

// Reads by descent: conditional < comparison < | < & < sum (and difference of sets) < product <
// sign and ~ < power < atom.
class ExpressionReader {
 public:
  ExpressionReader(const std::string& text, const Node& at, const ExpressionNames& names)
      : text_(text), at_(at), names_(names) {}

  ExpressionValue read() {
    const ExpressionValue v = conditional();
    if (peek() != '\0') fail("expected the end");
    return v;
  }
  [[noreturn]] void fail(const std::string& why) const {
    const std::size_t end = text_.substr(0, i_).find_last_not_of(" \t") + 1;
    at_.fail(
        fmt::format("'{}' after '{}': {}", shorter(text_), shorter(text_.substr(0, end)), why));
  }

 private:
  static std::string shorter(const std::string& text) {
    return text.size() <= 60 ? text : text.substr(0, 57) + "...";
  }
  static bool letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  }
  static bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
  char peek() {
    while (i_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[i_])) != 0) ++i_;
    return i_ < text_.size() ? text_[i_] : '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (text_.compare(i_, token.size(), token) != 0) return false;
    const std::size_t end = i_ + token.size();
    const bool word = letter(token.front());
    if (word && end < text_.size() && (letter(text_[end]) || digit(text_[end]))) return false;
    i_ = end;
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected '{}'", token));
  }
  double number(const ExpressionValue& v) const {
    if (!v.number) fail("expected a number, and this is a set of tensors");
    return *v.number;
  }
  const NameSet& set(const ExpressionValue& v) const {
    if (v.number) fail("expected a set of tensors, and this is a number");
    return v.set;
  }

  ExpressionValue conditional() {
    if (++depth_ > kMostDepth) fail("the expression is nested too deeply");
    ExpressionValue yes = comparison();
    if (take("if")) {
      const bool condition = comparison().truth();
      expect("else");
      ExpressionValue no = conditional();
      if (!condition) yes = std::move(no);
    }
    --depth_;
    return yes;
  }
  ExpressionValue comparison() {
    const ExpressionValue left = either();
    for (const char* op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(op)) continue;
      const double a = number(left), b = number(either());
      const std::string o = op;
      const bool holds = o == "=="   ? a == b
                         : o == "!=" ? a != b
                         : o == "<=" ? a <= b
                         : o == ">=" ? a >= b
                         : o == "<"  ? a < b
                                     : a > b;
      return {holds ? 1.0 : 0.0, {}};
    }
    return left;
  }
  ExpressionValue either() {
    ExpressionValue v = both();
    while (take("|")) {
      const ExpressionValue w = both();
      NameSet joined = set(v);
      joined.insert(set(w).begin(), w.set.end());
      v.set = std::move(joined);
    }
    return v;
  }
  ExpressionValue both() {
    ExpressionValue v = sum();
    while (take("&")) {
      const ExpressionValue w = sum();
      NameSet common;
      std::set_intersection(set(v).begin(), v.set.end(), set(w).begin(), w.set.end(),
                            std::inserter(common, common.end()));
      v.set = std::move(common);
    }
    return v;
  }
  ExpressionValue sum() {
    ExpressionValue v = product();
    while (true) {
      if (take("+")) {
        v.number = number(v) + number(product());
      } else if (take("-")) {
        const ExpressionValue w = product();
        if (v.number) {
          v.number = *v.number - number(w);
        } else {
          for (const std::string& name : set(w)) v.set.erase(name);
        }
      } else {
        return v;
      }
    }
  }
  ExpressionValue product() {
    ExpressionValue v = sign();
    while (true) {
      peek();
      if (text_.compare(i_, 2, "**") != 0 && take("*")) {
        v.number = number(v) * number(sign());
      } else if (text_.compare(i_, 2, "//") != 0 && take("/")) {
        const double by = number(sign());
        if (by == 0) fail("a division by zero");
        v.number = number(v) / by;
      } else {
        return v;
      }
    }
  }
  ExpressionValue sign() {
    if (++depth_ > kMostDepth) fail("the expression is nested too deeply");
    ExpressionValue v;
    if (take("-")) {
      v.number = -number(sign());
    } else if (take("+")) {
      v.number = number(sign());
    } else if (take("~")) {
      const ExpressionValue w = sign();
      v.set = names_.all;
      for (const std::string& name : set(w)) v.set.erase(name);
    } else {
      v = atom();
      if (take("**")) v.number = std::pow(number(v), number(sign()));
    }
    --depth_;
    return v;
  }
  ExpressionValue atom() {
    const char c = peek();
    if (c == '(') {
      ++i_;
      ExpressionValue v = conditional();
      expect(")");
      return v;
    }
    if (digit(c) || c == '.') return literal();
    if (!letter(c)) fail("expected a number or a name");
    const std::string name = word();
    if (peek() == '(') return call(name);
    const auto n = names_.numbers.find(name);
    if (n != names_.numbers.end()) return {n->second, {}};
    const auto s = names_.sets.find(name);
    if (s != names_.sets.end()) return {std::nullopt, s->second};
    if (name == "inf") return {std::numeric_limits<double>::infinity(), {}};
    if (name == "pi") return {3.141592653589793, {}};
    std::vector<std::string> known;
    for (const auto& [key, value] : names_.numbers) known.push_back(key);
    for (const auto& [key, value] : names_.sets) known.push_back(key);
    fail(fmt::format("unknown name '{}'{}", name, did_you_mean(name, known)));
  }
  ExpressionValue literal() {
    double value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + i_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected a number");
    i_ = static_cast<std::size_t>(end - text_.data());
    return {value, {}};
  }
  // A name with its parts, such as weight.bits_per_value.
  std::string word() {
    const std::size_t begin = i_;
    while (i_ < text_.size() && (letter(text_[i_]) || digit(text_[i_]) || text_[i_] == '.')) ++i_;
    std::string name = text_.substr(begin, i_ - begin);
    // A memory's tensors are also written with the name of this part.
    for (const char* part : {".tensors", ".Tensors"}) {
      if (name.ends_with(part)) name.erase(name.size() - std::string_view(part).size());
    }
    return name;
  }
  ExpressionValue call(const std::string& name) {
    expect("(");
    std::vector<ExpressionValue> arguments;
    do {
      arguments.push_back(conditional());
    } while (take(","));
    expect(")");
    if (name == "len" && arguments.size() == 1) {
      return {static_cast<double>(set(arguments[0]).size()), {}};
    }
    if (name == "min" || name == "max") {
      double best = number(arguments[0]);
      for (const ExpressionValue& a : arguments) {
        best = name == "min" ? std::min(best, number(a)) : std::max(best, number(a));
      }
      return {best, {}};
    }
    if (name == "ceil" && arguments.size() == 1) return {std::ceil(number(arguments[0])), {}};
    if (name == "sqrt" && arguments.size() == 1) return {std::sqrt(number(arguments[0])), {}};
    if (name == "log2" && arguments.size() == 1) return {std::log2(number(arguments[0])), {}};
    fail(fmt::format("the function {} with {} arguments is not read", name, arguments.size()));
  }

  static constexpr int kMostDepth = 50;
  std::string text_;
  const Node& at_;
  const ExpressionNames& names_;
  std::size_t i_ = 0;
  int depth_ = 0;
};

}  // namespace

double evaluate_number(const Node& node, const ExpressionNames& names) {
  ExpressionReader reader(node.as_string(), node, names);
  const ExpressionValue v = reader.read();
  if (!v.number || std::isnan(*v.number)) reader.fail("expected a number");
  return *v.number;
}

NameSet evaluate_set(const std::string& text, const Node& node, const ExpressionNames& names) {
  ExpressionReader reader(text, node, names);
  const ExpressionValue v = reader.read();
  if (v.number) reader.fail("expected a set of tensors");
  return v.set;
}

NameSet evaluate_set(const Node& node, const ExpressionNames& names) {
  return evaluate_set(node.as_string(), node, names);
}

}  // namespace orrery
