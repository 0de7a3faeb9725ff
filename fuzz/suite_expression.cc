// SuiteExpression::parse on any text: read or refused; what is read is evaluated on an answer of
// two points, to finite numbers or NoData.
#include "orrery/suite/suite_expression.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/base/error.h"

namespace {

orrery::Answer two_points() {
  orrery::Answer answer;
  for (const double n : {1.0, 2.0}) {
    orrery::Point p;
    p.at = {{"n", n}, {"gpu", "g"}};
    orrery::Metric x, y;
    x.name = "x", x.unit = "ms", x.value = n, x.high90 = 3;
    y.name = "y";
    p.metrics = {x, y};
    p.memory = {{"w", orrery::Bytes(1e9)}};
    p.notes = {"note"};
    orrery::KernelRow row;
    row.phase = "p", row.name = "k", row.part = "a";
    row.time = {orrery::Seconds(1)};
    row.share = 1, row.bound = "b", row.of_peak = 0.5;
    p.kernels = {row};
    answer.points.push_back(p);
  }
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const orrery::Answer answer = two_points();
  const std::string text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const auto e = orrery::SuiteExpression::parse(orrery::scalar_node(text, "fuzz"), {"a", "b"});
    const orrery::SuiteAnswers answers{"a", {{"a", &answer}, {"b", &answer}}};
    try {
      if (e.is_condition()) {
        e.check(answers);
        return;
      }
      for (const orrery::SuiteCell& c : e.figure(answers).cells) {
        if (!std::isfinite(c.value)) std::abort();
      }
    } catch (const orrery::NoData&) {
    }
  });
  return 0;
}
