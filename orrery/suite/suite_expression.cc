#include "orrery/suite/suite_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/suite/suite_parser.h"

namespace orrery {
namespace {

using TermOp = SuiteTerm::Op;
using What = SuiteReference::What;

// A number of an answer under a unique name.
struct Leaf {
  double low90 = 0, high90 = 0;
};

struct Value {
  std::vector<double> v;
  std::vector<std::string> at;  // of a list; as many as v
  std::string unit;
  bool truth = false;  // of a condition
};

std::string text_of(double x) { return fmt::format("{:.4g}", x); }

std::string text_of(const std::vector<double>& v) {
  std::string out;
  for (std::size_t i = 0; i < v.size() && i < 8; ++i) out += (i ? " " : "") + text_of(v[i]);
  if (v.size() > 8) out += " ...";
  return v.size() == 1 ? out : "[" + out + "]";
}

bool matches(const std::string& pattern, const std::string& text) {
  return pattern.ends_with('*')
             ? text.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
             : pattern == text;
}

std::vector<std::string> metric_names(const Point& p) {
  std::vector<std::string> names;
  for (const Metric& m : p.metrics) names.push_back(m.name);
  return names;
}

class Evaluator {
 public:
  explicit Evaluator(const SuiteAnswers& answers) : answers_(answers) {}

  Value value(const SuiteTerm& t) {
    switch (t.op) {
      case TermOp::kNumber:
        return {{t.number}, {}, "", false};
      case TermOp::kReference:
        return reference(t.reference);
      case TermOp::kFunction:
        return function(t);
      case TermOp::kNegate: {
        Value v = value(t.terms[0]);
        for (double& x : v.v) x = -x;
        return v;
      }
      case TermOp::kAnd:
      case TermOp::kOr:
      case TermOp::kNot:
        return logic(t);
      case TermOp::kAdd:
      case TermOp::kSubtract:
      case TermOp::kMultiply:
      case TermOp::kDivide:
      case TermOp::kPower:
        return arithmetic(t);
      default:
        return comparison(t);
    }
  }

  // The numbers with an interval that were read, and the least certain origin of all numbers.
  std::map<std::string, Leaf> leaves;
  Origin origin = Origin::kExact;
  // The name and the value of the number that is moved, while an end of an interval is computed.
  std::string moved;
  double moved_to = 0;
  std::string seen;

 private:
  const Answer& answer(const SuiteReference& r) const {
    const std::string& run = r.run.empty() ? answers_.first : r.run;
    const auto found = answers_.by_name.find(run);
    if (found == answers_.by_name.end() || found->second == nullptr)
      throw NoData(fmt::format("{}: not answered", run));
    return *found->second;
  }

  double leaf(const std::string& name, double v, double low, double high, Origin from) {
    if (!std::isfinite(v)) throw NoData(fmt::format("{}: not a number", name));
    origin = std::max(origin, from);
    if (low < high) leaves[name] = {low, high};
    return name == moved ? moved_to : v;
  }

  double kernels(const SuiteReference& r, const Point& p, const std::string& id) {
    double v = 0, low = 0, high = 0;
    Origin from = Origin::kExact;
    std::size_t rows = 0;
    for (const KernelRow& k : p.kernels) {
      const bool taken = std::all_of(r.kernels.begin(), r.kernels.end(), [&](const auto& f) {
        return matches(f.second, f.first == "phase"  ? k.phase
                                 : f.first == "name" ? k.name
                                 : f.first == "part" ? k.part
                                                     : k.bound);
      });
      if (!taken) continue;
      ++rows;
      from = std::max(from, k.time.origin);
      const double ms = k.time.value.value() * 1e3;
      if (r.name == "of_peak") {
        v = rows == 1 ? k.of_peak : std::min(v, k.of_peak);
      } else {
        v += r.name == "ms" ? ms : r.name == "share" ? k.share : k.calls;
      }
      // Rows of one filter are of one kind. Their errors are taken as fully correlated.
      if (r.name == "ms")
        low += k.time.quantile(0.05).value() * 1e3, high += k.time.quantile(0.95).value() * 1e3;
    }
    if (p.kernels.empty()) throw NoData(fmt::format("{}: the answer has no breakdown", r.text));
    return leaf(id, v, low, high, from);
  }

  double at_point(const SuiteReference& r, const Point& p, const std::string& id,
                  std::string& unit) {
    if (r.what == What::kFeasible) return p.feasibility.fits ? 1 : 0;
    if (r.what == What::kAt) {
      const auto found = p.at.find(r.name);
      if (found == p.at.end() || !found->is_number())
        throw NoData(fmt::format("{}: the point has no number '{}'", r.text, r.name));
      return found->get<double>();
    }
    if (r.what == What::kMemoryRow) {
      unit = "GB per GPU";
      if (r.name == "capacity") return p.memory_capacity.value() / 1e9;
      for (const MemoryRow& m : p.memory) {
        if (m.name == r.name) return m.size.value() / 1e9;
      }
      throw NoData(fmt::format("{}: the breakdown of memory has no '{}'", r.text, r.name));
    }
    if (r.what == What::kKernels) {
      unit = r.name == "ms" ? "ms" : "";
      return kernels(r, p, id);
    }
    const Metric* m = p.find(r.name);
    if (m == nullptr) {
      throw NoData(fmt::format("{}: the answer has no metric '{}'{}", r.text, r.name,
                               did_you_mean(r.name, metric_names(p))));
    }
    unit = m->unit;
    return leaf(id, m->value, m->low90, m->high90, m->origin);
  }

  Value reference(const SuiteReference& r) {
    const Answer& a = answer(r);
    if (r.what == What::kNotes) {
      const bool there = std::any_of(a.points.begin(), a.points.end(), [&](const Point& p) {
        return std::any_of(p.notes.begin(), p.notes.end(), [&](const std::string& n) {
          return n.find(r.name) != std::string::npos;
        });
      });
      note(there ? fmt::format("\"{}\" is noted", r.name)
                 : fmt::format("\"{}\" is not noted", r.name));
      return {{there ? 1.0 : 0.0}, {}, "", there};
    }
    std::vector<const Point*> points;
    for (const Point& p : a.points) {
      if (suite_point_matches(p, r.points)) points.push_back(&p);
    }
    if (points.empty()) throw NoData(fmt::format("{}: the answer has no such point", r.text));
    Value out;
    if (r.what == What::kMemoryRows) {
      out.unit = "GB per GPU";
      for (const MemoryRow& m : points[0]->memory) {
        out.v.push_back(m.size.value() / 1e9);
        out.at.push_back(m.name);
      }
      if (out.v.empty()) throw NoData(fmt::format("{}: no breakdown of memory", r.text));
      return out;
    }
    for (const Point* p : points) {
      out.v.push_back(at_point(r, *p, fmt::format("{}#{}", r.text, out.v.size()), out.unit));
      if (points.size() > 1) out.at.push_back(suite_point_label(*p, points));
    }
    return out;
  }

  Value function(const SuiteTerm& t) {
    Value all;
    for (const SuiteTerm& part : t.terms) {
      const Value v = value(part);
      all.v.insert(all.v.end(), v.v.begin(), v.v.end());
      if (t.terms.size() == 1) all.at = v.at;
      all.unit = v.unit;
    }
    const auto& v = all.v;
    const auto one = [&](double x) { return Value{{x}, {}, all.unit, false}; };
    const auto total = [&] {
      double sum = 0;
      for (double x : v) sum += x;
      return sum;
    };
    const std::string& f = t.function;
    if (f == "min") return one(*std::min_element(v.begin(), v.end()));
    if (f == "max") return one(*std::max_element(v.begin(), v.end()));
    if (f == "sum") return one(total());
    if (f == "mean") return one(total() / static_cast<double>(v.size()));
    if (f == "first") return one(v.front());
    if (f == "last") return one(v.back());
    if (f == "count") return {{static_cast<double>(v.size())}, {}, "", false};
    if (is_suite_test(f)) {
      if (v.size() < 2) throw NoData(fmt::format("{}: of one number", f));
      bool holds = true;
      for (std::size_t i = 1; i < v.size(); ++i) {
        holds &= f == "rising"       ? v[i] > v[i - 1]
                 : f == "falling"    ? v[i] < v[i - 1]
                 : f == "not_rising" ? v[i] <= v[i - 1]
                                     : v[i] >= v[i - 1];
      }
      note(text_of(v));
      return {{holds ? 1.0 : 0.0}, {}, "", holds};
    }
    for (double& x : all.v) {
      if (f != "abs" && x < 0) throw NoData(fmt::format("{} of {}", f, text_of(x)));
      x = f == "abs" ? std::abs(x) : f == "sqrt" ? std::sqrt(x) : std::log(x);
    }
    checked(all);
    return all;
  }

  void checked(const Value& v) const {
    for (double x : v.v) {
      if (!std::isfinite(x)) throw NoData("the arithmetic has no finite result");
    }
  }

  // Common length of two lists. A single number is repeated as often as needed.
  std::size_t length(const Value& a, const Value& b) const {
    if (a.v.size() == b.v.size() || b.v.size() == 1) return a.v.size();
    if (a.v.size() == 1) return b.v.size();
    throw NoData(fmt::format("{} points against {}", a.v.size(), b.v.size()));
  }
  static double member(const Value& v, std::size_t i) { return v.v[v.v.size() == 1 ? 0 : i]; }

  Value arithmetic(const SuiteTerm& t) {
    const Value a = value(t.terms[0]), b = value(t.terms[1]);
    Value out;
    for (std::size_t i = 0, n = length(a, b); i < n; ++i) {
      const double x = member(a, i), y = member(b, i);
      if (t.op == TermOp::kDivide && y == 0) throw NoData("division by zero");
      out.v.push_back(t.op == TermOp::kAdd        ? x + y
                      : t.op == TermOp::kSubtract ? x - y
                      : t.op == TermOp::kMultiply ? x * y
                      : t.op == TermOp::kDivide   ? x / y
                                                  : std::pow(x, y));
    }
    out.at = a.v.size() == out.v.size() && !a.at.empty() ? a.at : b.at;
    if (t.op == TermOp::kAdd || t.op == TermOp::kSubtract)
      out.unit = a.unit.empty() ? b.unit : a.unit;
    if (t.op == TermOp::kMultiply)
      out.unit = a.unit.empty() ? b.unit : b.unit.empty() ? a.unit : "";
    if (t.op == TermOp::kDivide && b.unit.empty()) out.unit = a.unit;
    checked(out);
    return out;
  }

  void note(const std::string& text) { seen += (seen.empty() ? "" : "; ") + text; }

  Value comparison(const SuiteTerm& t) {
    const Value a = value(t.terms[0]), b = value(t.terms[1]);
    bool holds = true;
    if (t.op == TermOp::kIn || t.op == TermOp::kWithin) {
      const Value c = value(t.terms[2]);
      const std::size_t n = std::max({length(a, b), length(a, c), length(b, c)});
      for (std::size_t i = 0; i < n; ++i) {
        const double x = member(a, i), y = member(b, i), z = member(c, i);
        holds &= t.op == TermOp::kIn ? x >= y && x <= z : std::abs(x - z) <= y * std::abs(z);
      }
      note(t.op == TermOp::kIn
               ? fmt::format("{} in {}..{}", text_of(a.v), text_of(b.v), text_of(c.v))
               : fmt::format("{} within {} of {}", text_of(a.v), text_of(b.v), text_of(c.v)));
      return {{holds ? 1.0 : 0.0}, {}, "", holds};
    }
    for (std::size_t i = 0, n = length(a, b); i < n; ++i) {
      const double x = member(a, i), y = member(b, i);
      holds &= t.op == TermOp::kLess           ? x < y
               : t.op == TermOp::kLessEqual    ? x <= y
               : t.op == TermOp::kGreater      ? x > y
               : t.op == TermOp::kGreaterEqual ? x >= y
               : t.op == TermOp::kEqual        ? x == y
                                               : x != y;
    }
    constexpr const char* kSymbols[] = {"<", "<=", ">", ">=", "==", "!="};
    note(fmt::format("{} {} {}", text_of(a.v),
                     kSymbols[static_cast<int>(t.op) - static_cast<int>(TermOp::kLess)],
                     text_of(b.v)));
    return {{holds ? 1.0 : 0.0}, {}, "", holds};
  }

  Value logic(const SuiteTerm& t) {
    bool holds = value(t.terms[0]).truth;
    if (t.op == TermOp::kNot) holds = !holds;
    if (t.op == TermOp::kAnd) holds = value(t.terms[1]).truth && holds;  // both are seen
    if (t.op == TermOp::kOr) holds = value(t.terms[1]).truth || holds;
    return {{holds ? 1.0 : 0.0}, {}, "", holds};
  }

  const SuiteAnswers& answers_;
};

}  // namespace

bool suite_point_matches(const Point& p, const SuiteReference::Filter& filter) {
  for (const auto& [key, value] : filter) {
    const auto found = p.at.find(key);
    const Metric* metric = p.find(key);
    if (found != p.at.end() && found->is_string()) {
      if (found->get<std::string>() != value) return false;
      continue;
    }
    const bool number = found != p.at.end() && found->is_number();
    if (!number && metric == nullptr) return false;
    const double here = number ? found->get<double>() : metric->value;
    if (std::abs(here - std::strtod(value.c_str(), nullptr)) > 1e-9) return false;
  }
  return true;
}

std::string suite_point_label(const Point& p, const std::vector<const Point*>& all) {
  std::string out;
  for (const auto& [key, value] : p.at.items()) {
    const bool differs = std::any_of(all.begin(), all.end(), [&](const Point* o) {
      const auto other = o->at.find(key);
      return other == o->at.end() || *other != value;
    });
    if (!differs) continue;
    out += (out.empty() ? "" : " ") + key + "=" +
           (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

SuiteExpression SuiteExpression::parse(const Node& node, const std::vector<std::string>& runs) {
  ParsedSuiteExpression parsed = parse_suite_expression(node, runs);
  SuiteExpression e;
  e.text_ = node.text();
  e.unit_ = std::move(parsed.unit);
  e.root_ = std::make_shared<const SuiteTerm>(std::move(parsed.root));
  return e;
}

bool SuiteExpression::is_condition() const { return root_->is_condition(); }

SuiteVerdict SuiteExpression::check(const SuiteAnswers& answers) const {
  Evaluator evaluator(answers);
  const bool holds = evaluator.value(*root_).truth;
  return {holds, evaluator.seen};
}

SuiteFigure SuiteExpression::figure(const SuiteAnswers& answers) const {
  Evaluator evaluator(answers);
  const Value mean = evaluator.value(*root_);
  SuiteFigure out;
  out.unit = unit_.empty() ? mean.unit : unit_;
  out.direct = root_->op == TermOp::kReference;
  out.origin = evaluator.origin;
  const std::size_t n = mean.v.size();
  std::vector<double> below(n), above(n);  // squared deviations
  for (const auto& [name, leaf] : evaluator.leaves) {
    std::vector<double> least(n), most(n);
    for (const double end : {leaf.low90, leaf.high90}) {
      Evaluator moved(answers);
      moved.moved = name;
      moved.moved_to = end;
      try {
        const Value v = moved.value(*root_);
        for (std::size_t i = 0; i < n; ++i) {
          least[i] = std::min(least[i], v.v[i] - mean.v[i]);
          most[i] = std::max(most[i], v.v[i] - mean.v[i]);
        }
      } catch (const NoData&) {  // no value at this end: the other one counts
      }
    }
    for (std::size_t i = 0; i < n; ++i)
      below[i] += least[i] * least[i], above[i] += most[i] * most[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    out.cells.push_back({i < mean.at.size() ? mean.at[i] : "", mean.v[i],
                         mean.v[i] - std::sqrt(below[i]), mean.v[i] + std::sqrt(above[i])});
  }
  return out;
}

}  // namespace orrery
