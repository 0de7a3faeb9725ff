#include "orrery/suite/suite_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace suite_expression_test {

using testing::AllOf;
using testing::HasSubstr;

Metric without_interval(const char* name, const char* unit, double v) {
  Metric m;
  m.name = name, m.unit = unit;
  return exact(std::move(m), v);
}

Metric with_interval(const char* name, const char* unit, double v, double low, double high) {
  Metric m = without_interval(name, unit, v);
  m.low90 = low, m.high90 = high, m.origin = Origin::kFitted;
  return m;
}

// Two runs: `a` with one point, `b` with the points n = 1, 2, 4.
class Expressions : public testing::Test {
 protected:
  Expressions() {
    Point p;
    p.at = {{"gpu", "h100-sxm"}, {"gpus", 8}};
    p.metrics = {with_interval("time", "ms", 12, 9, 16), without_interval("rate", "tokens/s", 500)};
    p.memory = {{"weights", Bytes(14e9)}, {"optimizer", Bytes(81e9)}};
    p.memory_capacity = Bytes(80e9);
    p.feasibility.fits = false;
    p.notes = {"loss is outside"};
    KernelRow up{"decode",        "up_proj", "", "mlp", "",        1,
                 {Seconds(2e-3)}, 0.25,      {}, {},    "compute", 0.5};
    KernelRow down{"decode",        "down_proj", "", "mlp", "",       1,
                   {Seconds(1e-3)}, 0.125,       {}, {},    "memory", 0.4};
    KernelRow attn{"prefill",       "attn", "", "attention", "",        1,
                   {Seconds(5e-3)}, 0.625,  {}, {},          "compute", 0.7};
    p.kernels = {up, down, attn};
    a_.points = {p};
    for (const double n : {1.0, 2.0, 4.0}) {
      Point q;
      q.at = {{"n", static_cast<int>(n)}};
      q.metrics = {with_interval("time", "ms", 10 * n, 9 * n, 11 * n),
                   without_interval("left", "", 4 - n)};
      b_.points.push_back(q);
    }
    answers_ = {"a", {{"a", &a_}, {"b", &b_}}};
  }

  SuiteExpression parse(const std::string& text) const {
    return SuiteExpression::parse(scalar_node(text, "e.yaml"), {"a", "b"});
  }
  double value(const std::string& text) const {
    const SuiteFigure f = parse(text).figure(answers_);
    return f.cells.size() == 1 ? f.cells[0].value : std::nan("");
  }
  bool holds(const std::string& text) const { return parse(text).check(answers_).holds; }
  std::string refusal(const std::string& text) const {
    return refusal_of([&] { parse(text); });
  }
  std::string no_answer(const std::string& text) const {
    return refusal_of<NoData>([&] { parse(text).figure(answers_); });
  }

  Answer a_, b_;
  SuiteAnswers answers_;
};

TEST_F(Expressions, ArithmeticHasTheUsualPrecedence) {
  EXPECT_DOUBLE_EQ(value("1 + 2 * 3 ^ 2 - 8 / 4"), 17);
  EXPECT_DOUBLE_EQ(value("-2 ^ 2"), -4);
  EXPECT_DOUBLE_EQ(value("2 - 3 - 4"), -5);
  EXPECT_DOUBLE_EQ(value("(1 + 2) * 50%"), 1.5);
  EXPECT_DOUBLE_EQ(value("1.5e3 / 1e-3"), 1.5e6);
  EXPECT_DOUBLE_EQ(value("max(1, 7, 3) - min(4, 2) + mean(1, 3)"), 7);
  EXPECT_DOUBLE_EQ(value("sqrt(16) + abs(-3) + log(1)"), 7);
}

TEST_F(Expressions, NamesReachIntoAnswers) {
  EXPECT_DOUBLE_EQ(value("a.time"), 12);
  EXPECT_DOUBLE_EQ(value("time"), 12);  // of the first run
  EXPECT_DOUBLE_EQ(value("b[n=2].time"), 20);
  EXPECT_DOUBLE_EQ(value("b[left=0].time"), 40);  // by a metric
  EXPECT_DOUBLE_EQ(value("a.at.gpus"), 8);
  EXPECT_DOUBLE_EQ(value("a.feasible"), 0);
  EXPECT_DOUBLE_EQ(value("a.memory.weights + a.memory.capacity"), 94);
  EXPECT_DOUBLE_EQ(value("sum(a.memory_rows)"), 95);
  EXPECT_DOUBLE_EQ(value("a.kernels[part=mlp].ms"), 3);
  EXPECT_DOUBLE_EQ(value("a.kernels[part=mlp, bound=compute].share"), 0.25);
  EXPECT_DOUBLE_EQ(value("a.kernels[name=*].share"), 1);
  EXPECT_DOUBLE_EQ(value("a.kernels[phase=train].ms"), 0);
  EXPECT_TRUE(holds("a.notes[\"loss is\"] and not a.notes[\"gain\"]"));
}

TEST_F(Expressions, ListsGoMemberByMember) {
  const SuiteFigure f = parse("b.time / b.at.n").figure(answers_);
  ASSERT_EQ(f.cells.size(), 3u);
  for (const SuiteCell& c : f.cells) EXPECT_DOUBLE_EQ(c.value, 10);
  EXPECT_EQ(f.cells[1].at, "n=2");
  EXPECT_TRUE(holds("b.time in 10..40"));
  EXPECT_FALSE(holds("b.time in 11..40"));  // one member is enough
  EXPECT_FALSE(holds("b.time < 40"));
  EXPECT_TRUE(holds("rising(b.time) and falling(b.left) and not_falling(b.time)"));
  EXPECT_FALSE(holds("falling(b.time) or not_rising(b.time)"));
  EXPECT_TRUE(holds("first(b.time) == 10 and last(b.time) == 40 and count(b.time) == 3"));
}

TEST_F(Expressions, ComparisonsIncludeTheirEnds) {
  EXPECT_TRUE(holds("a.time in 12..13"));
  EXPECT_TRUE(holds("a.time in 11..12"));
  EXPECT_FALSE(holds("a.time in 12.001..13"));
  EXPECT_FALSE(holds("a.time > 12"));
  EXPECT_TRUE(holds("a.time >= 12 and a.time <= 12 and a.time != 11"));
  EXPECT_TRUE(holds("a.time within 20% of 10"));
  EXPECT_FALSE(holds("a.time within 19% of 10"));
  EXPECT_TRUE(holds("a.time within 10% of -12 or a.time in 1 + 1..6 * 2"));
  EXPECT_EQ(parse("a.time / 4 in 2..4").check(answers_).seen, "3 in 2..4");
}

TEST_F(Expressions, FiguresCarryUnitTierAndInterval) {
  const SuiteFigure direct = parse("a.time").figure(answers_);
  EXPECT_EQ(direct.unit, "ms");
  EXPECT_TRUE(direct.direct);
  EXPECT_EQ(direct.origin, Origin::kFitted);
  EXPECT_DOUBLE_EQ(direct.cells[0].low90, 9);
  EXPECT_DOUBLE_EQ(direct.cells[0].high90, 16);
  // 12 and 10 with -3 +4 and -1 +1: in quadrature.
  const SuiteFigure sum = parse("a.time + b[n=1].time").figure(answers_);
  EXPECT_FALSE(sum.direct);
  EXPECT_NEAR(sum.cells[0].low90, 22 - std::sqrt(10.0), 1e-9);
  EXPECT_NEAR(sum.cells[0].high90, 22 + std::sqrt(17.0), 1e-9);
  // Two uses of one number have the same error: its ratio to itself has no interval.
  const SuiteFigure ratio = parse("a.time / a.time").figure(answers_);
  EXPECT_EQ(ratio.unit, "");
  EXPECT_DOUBLE_EQ(ratio.cells[0].low90, 1);
  EXPECT_EQ(parse("a.time / 1000 as s").figure(answers_).unit, "s");
  EXPECT_FALSE(parse("a.rate").figure(answers_).cells[0].low90 < 500);
}

TEST_F(Expressions, ErrorsSayTheColumnAndTheNearestName) {
  EXPECT_THAT(refusal("a.time <"), AllOf(HasSubstr("column 9"), HasSubstr("at the end")));
  EXPECT_THAT(refusal("c.time"), AllOf(HasSubstr("no run is called 'c'"), HasSubstr("a, b")));
  EXPECT_THAT(refusal("1 + (2"), HasSubstr("expected ')'"));
  EXPECT_THAT(refusal("maxx(1)"), HasSubstr("did you mean 'max'"));
  EXPECT_THAT(refusal("sqrt(1, 2)"), HasSubstr("sqrt takes one argument"));
  EXPECT_THAT(refusal("1 in 2"), HasSubstr("expected '..'"));
  EXPECT_THAT(refusal("1 within 2 3"), HasSubstr("expected 'of'"));
  EXPECT_THAT(refusal("a.kernels[fase=x].ms"), HasSubstr("did you mean 'phase'"));
  EXPECT_THAT(refusal("a.kernels.time"), HasSubstr("ms, share, calls or of_peak"));
  EXPECT_THAT(refusal("a[n=].time"), HasSubstr("expected a value"));
  EXPECT_THAT(refusal("a.time 5"), AllOf(HasSubstr("column 8"), HasSubstr("operator")));
  EXPECT_THAT(refusal("(a.time < 5) + 1"), HasSubstr("this is a condition"));
  EXPECT_THAT(refusal("not a.time"), HasSubstr("this is a number"));
  EXPECT_THAT(refusal("a.time and 1 < 2"), HasSubstr("this is a number"));
  EXPECT_THAT(refusal("a.time < 2 as ms"), HasSubstr("no unit"));
  EXPECT_THAT(refusal("1e999"), HasSubstr("not a number"));
  EXPECT_THAT(refusal(std::string(100, '(') + "1" + std::string(100, ')')),
              HasSubstr("nested too deep"));
  EXPECT_THAT(refusal(std::string(3000, '1')), HasSubstr("at most 2000"));
  EXPECT_THAT(refusal(""), HasSubstr("expected a number"));
}

TEST_F(Expressions, WhatAnAnswerLacksIsNoAnswer) {
  EXPECT_THAT(no_answer("a.tiem"), HasSubstr("did you mean 'time'"));
  EXPECT_THAT(no_answer("b[n=3].time"), HasSubstr("no such point"));
  EXPECT_THAT(no_answer("b.kernels[part=mlp].ms"), HasSubstr("no breakdown"));
  EXPECT_THAT(no_answer("a.memory.kv_cache"), HasSubstr("no 'kv_cache'"));
  EXPECT_THAT(no_answer("a.at.gpu"), HasSubstr("no number 'gpu'"));
  EXPECT_THAT(no_answer("1 / (a.time - 12)"), HasSubstr("division by zero"));
  EXPECT_THAT(no_answer("log(-1)"), HasSubstr("log of -1"));
  EXPECT_THAT(no_answer("9e200 * 9e200"), HasSubstr("no finite result"));
  EXPECT_THAT(no_answer("b.time + a.memory_rows"), HasSubstr("3 points against 2"));
  answers_.by_name["a"] = nullptr;
  EXPECT_THAT(no_answer("a.time"), HasSubstr("not answered"));
}

}  // namespace suite_expression_test
}  // namespace orrery
