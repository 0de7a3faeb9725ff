#include "orrery/scenario/kinds/service/slo_classes.h"

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

constexpr Seconds kMillisecond = milliseconds(1);

bool allowed_by(Seconds limit, Seconds time) { return limit <= Seconds(0) || time <= limit; }

}  // namespace

bool ClassTimes::add(const RequestRecord& q) {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const SloClass& c = classes_[i];
    if (!c.has(q.input, q.output, q.priority)) continue;
    of_[i].ttft.push_back(q.ttft() / kMillisecond);
    of_[i].e2e.push_back(q.e2e() / kMillisecond);
    if (q.output > 1) of_[i].tpot.push_back(q.tpot() / kMillisecond);
    return allowed_by(c.ttft, q.ttft()) && allowed_by(c.e2e, q.e2e()) &&
           (q.output < 2 || allowed_by(c.tpot, q.tpot()));
  }
  return true;
}

bool ClassTimes::kept() const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const SloClass& c = classes_[i];
    const auto met = [&c](Seconds limit, const std::vector<double>& sample) {
      return sample.empty() ||
             allowed_by(limit, quantile(sample, c.percentile / 100) * kMillisecond);
    };
    if (!met(c.ttft, of_[i].ttft) || !met(c.tpot, of_[i].tpot) || !met(c.e2e, of_[i].e2e))
      return false;
  }
  return true;
}

void ClassTimes::each(const See& see) const {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const SloClass& c = classes_[i];
    if (c.ttft > Seconds(0)) see("ttft_class_", c.name, of_[i].ttft, c.percentile);
    if (c.tpot > Seconds(0)) see("tpot_class_", c.name, of_[i].tpot, c.percentile);
    if (c.e2e > Seconds(0)) see("e2e_class_", c.name, of_[i].e2e, c.percentile);
  }
}

}  // namespace orrery
