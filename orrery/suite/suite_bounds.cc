#include "orrery/suite/suite_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "orrery/base/error.h"
#include "orrery/scenario/answer/bound_rows.h"
#include "orrery/suite/suite_term.h"

namespace orrery {
namespace {

using TermOp = SuiteTerm::Op;
using What = SuiteReference::What;
using Ranges = std::vector<SuiteRange>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

SuiteRange exactly(double v) { return {"", v, v, "", ""}; }
SuiteRange not_negative() { return {"", 0, kInfinity, "not negative", ""}; }

std::string joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == b || b == "not negative") return a.empty() ? b : a;
  return b.empty() || a.find(b) != std::string::npos ? a : a + "; " + b;
}

// The product x * y, with 0 * infinity = 0: the limit of a product with one factor that is 0.
double product(double x, double y) { return x == 0 || y == 0 ? 0 : x * y; }

SuiteRange inverse(const SuiteRange& r) {
  if (r.low < 0 && r.high > 0) return {r.at, -kInfinity, kInfinity, "", ""};
  const auto one_over = [](double v, double zero) { return v == 0 ? zero : 1 / v; };
  if (r.low >= 0)
    return {r.at, one_over(r.high, kInfinity), one_over(r.low, kInfinity), r.high_why, r.low_why};
  return {r.at, one_over(r.high, -kInfinity), one_over(r.low, -kInfinity), r.high_why, r.low_why};
}

SuiteRange times(const SuiteRange& a, const SuiteRange& b) {
  const std::array<double, 4> all = {product(a.low, b.low), product(a.low, b.high),
                                     product(a.high, b.low), product(a.high, b.high)};
  SuiteRange out{a.at.empty() ? b.at : a.at, *std::min_element(all.begin(), all.end()),
                 *std::max_element(all.begin(), all.end()), "", ""};
  const bool positive = a.low >= 0 && b.low >= 0;
  out.low_why = joined(positive ? a.low_why : joined(a.low_why, a.high_why),
                       positive ? b.low_why : joined(b.low_why, b.high_why));
  out.high_why = joined(positive ? a.high_why : joined(a.low_why, a.high_why),
                        positive ? b.high_why : joined(b.low_why, b.high_why));
  return out;
}

SuiteRange plus(const SuiteRange& a, const SuiteRange& b) {
  return {a.at.empty() ? b.at : a.at, a.low + b.low, a.high + b.high, joined(a.low_why, b.low_why),
          joined(a.high_why, b.high_why)};
}

SuiteRange negative(const SuiteRange& r) { return {r.at, -r.high, -r.low, r.high_why, r.low_why}; }

SuiteRange power(const SuiteRange& a, const SuiteRange& b) {
  if (a.low < 0 || b.low != b.high) return {a.at, -kInfinity, kInfinity, "", ""};
  const double x = std::pow(a.low, b.low), y = std::pow(a.high, b.low);
  return b.low >= 0 ? SuiteRange{a.at, x, y, a.low_why, a.high_why}
                    : SuiteRange{a.at, y, x, a.high_why, a.low_why};
}

SuiteRange memory_row(const std::string& name, double gb) {
  if (name == "capacity") return exactly(gb);
  if (name == "weights" || name == "optimizer" || name == "gradients") {
    const std::string why = "counted from the dimensions and formats";
    return {"", (1 - kCounted) * gb, (1 + kCounted) * gb, why, why};
  }
  return not_negative();
}

class Bounder {
 public:
  explicit Bounder(const SuiteAnswers& answers) : answers_(answers) {}

  Ranges of(const SuiteTerm& t) const {
    switch (t.op) {
      case TermOp::kNumber:
        return {exactly(t.number)};
      case TermOp::kReference:
        return reference(t.reference);
      case TermOp::kFunction:
        return function(t);
      case TermOp::kNegate:
        return each(of(t.terms[0]), negative);
      case TermOp::kAdd:
        return both(t, plus);
      case TermOp::kSubtract:
        return both(t, [](const auto& a, const auto& b) { return plus(a, negative(b)); });
      case TermOp::kMultiply:
        return both(t, times);
      case TermOp::kDivide:
        return both(t, [](const auto& a, const auto& b) { return times(a, inverse(b)); });
      case TermOp::kPower:
        return both(t, power);
      default:
        throw NoData("a condition has no bounds");
    }
  }

 private:
  template <class F>
  static Ranges each(Ranges r, F f) {
    for (SuiteRange& one : r) one = f(one);
    return r;
  }

  template <class F>
  Ranges both(const SuiteTerm& t, F f) const {
    const Ranges a = of(t.terms[0]), b = of(t.terms[1]);
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1)
      throw NoData(fmt::format("{} points against {}", a.size(), b.size()));
    Ranges out;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      out.push_back(f(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    return out;
  }

  Ranges function(const SuiteTerm& t) const {
    Ranges all;
    for (const SuiteTerm& part : t.terms) {
      for (SuiteRange& r : of(part)) all.push_back(std::move(r));
    }
    if (all.empty()) throw NoData("of nothing");
    const std::string& f = t.function;
    if (f == "count") return {exactly(static_cast<double>(all.size()))};
    if (f == "first" || f == "last") {
      SuiteRange one = f == "first" ? all.front() : all.back();
      one.at.clear();
      return {one};
    }
    if (f == "sqrt" || f == "log" || f == "abs") {
      return each(std::move(all), [&](SuiteRange r) {
        const auto g = [&](double x) { return f == "log" ? std::log(x) : std::sqrt(x); };
        if (f == "abs") return r.low >= 0 ? r : SuiteRange{r.at, 0, kInfinity, "", ""};
        r.low = r.low > 0 ? g(r.low) : f == "log" ? -kInfinity : 0;
        r.high = r.high > 0 ? g(r.high) : kInfinity;
        return r;
      });
    }
    SuiteRange out = all.front();
    for (std::size_t i = 1; i < all.size(); ++i) {
      const SuiteRange& r = all[i];
      if (f == "sum" || f == "mean") {
        out = plus(out, r);
        continue;
      }
      const bool low = f == "min" ? r.low < out.low : r.low > out.low;
      const bool high = f == "min" ? r.high < out.high : r.high > out.high;
      if (low) out.low = r.low, out.low_why = r.low_why;
      if (high) out.high = r.high, out.high_why = r.high_why;
    }
    if (f == "mean") out = times(out, exactly(1.0 / static_cast<double>(all.size())));
    out.at.clear();
    return {out};
  }

  SuiteRange at_point(const SuiteReference& r, const Point& p) const {
    if (r.what == What::kFeasible) return {"", 0, 1, "", ""};
    if (r.what == What::kAt) {
      const auto found = p.at.find(r.name);
      if (found == p.at.end() || !found->is_number())
        throw NoData(fmt::format("{}: the point has no number '{}'", r.text, r.name));
      return exactly(found->get<double>());
    }
    if (r.what == What::kMemoryRow) {
      if (r.name == "capacity") return memory_row(r.name, p.memory_capacity.value() / 1e9);
      for (const MemoryRow& m : p.memory) {
        if (m.name == r.name) return memory_row(m.name, m.size.value() / 1e9);
      }
      throw NoData(fmt::format("{}: the breakdown of memory has no '{}'", r.text, r.name));
    }
    if (r.what == What::kKernels) {
      if (r.name == "ms" || r.name == "calls") return not_negative();
      return {"", 0, 1, "a share", "a share"};
    }
    if (p.find(r.name) == nullptr)
      throw NoData(fmt::format("{}: the answer has no metric '{}'", r.text, r.name));
    return metric_bound(p, r.name);
  }

  Ranges reference(const SuiteReference& r) const {
    const auto found = answers_.by_name.find(r.run.empty() ? answers_.first : r.run);
    if (found == answers_.by_name.end() || found->second == nullptr)
      throw NoData(fmt::format("{}: not answered", r.run));
    std::vector<const Point*> points;
    for (const Point& p : found->second->points) {
      if (suite_point_matches(p, r.points)) points.push_back(&p);
    }
    if (points.empty() || r.what == What::kNotes)
      throw NoData(fmt::format("{}: nothing that has bounds", r.text));
    Ranges out;
    if (r.what == What::kMemoryRows) {
      for (const MemoryRow& m : points[0]->memory) {
        out.push_back(memory_row(m.name, m.size.value() / 1e9));
        out.back().at = m.name;
      }
      return out;
    }
    for (const Point* p : points) {
      out.push_back(at_point(r, *p));
      if (points.size() > 1) out.back().at = suite_point_label(*p, points);
    }
    return out;
  }

  const SuiteAnswers& answers_;
};

}  // namespace

bool SuiteRange::only_sign() const { return low == 0 && high == kInfinity; }
bool SuiteRange::bounded() const { return low > -kInfinity || high < kInfinity; }

SuiteRange metric_bound(const Point& point, const std::string& metric) {
  SuiteRange out{"", -kInfinity, kInfinity, "", ""};
  for (const MetricBound& b : point.bounds) {
    if (b.metric != metric) continue;
    if (b.low > out.low) out.low = b.low, out.low_why = b.why;
    if (b.high < out.high) out.high = b.high, out.high_why = b.why;
  }
  return out;
}

std::vector<SuiteRange> suite_bounds(const SuiteExpression& expression,
                                     const SuiteAnswers& answers) {
  return Bounder(answers).of(expression.term());
}

bool only_counts(const SuiteTerm& t) {
  constexpr std::array<std::string_view, 9> kCounts = {
      "weights",     "kv_cache_per_request", "trained_parameters", "mlp_flops",   "layer_flops",
      "total_flops", "sent_inside",          "sent_between",       "adapter_size"};
  if (t.op == SuiteTerm::Op::kReference) {
    const What what = t.reference.what;
    return what == What::kAt || what == What::kMemoryRow ||
           (what == What::kMetric &&
            std::find(kCounts.begin(), kCounts.end(), t.reference.name) != kCounts.end());
  }
  return std::all_of(t.terms.begin(), t.terms.end(), only_counts);
}

}  // namespace orrery
