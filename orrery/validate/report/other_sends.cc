#include "orrery/validate/report/other_sends.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>

#include "orrery/base/error_summary.h"

namespace orrery {
namespace {

struct SendErrors {
  ErrorSample predicted, copied;
  int rows = 0;

  void add(double measured, double prediction, double closest) {
    predicted.add(measured, prediction, false, false);
    copied.add(measured, closest, false, false);
    ++rows;
  }
  std::string text() const {
    const ErrorSummary p = predicted.summary(), c = copied.summary();
    return fmt::format(
        "{} rows, median {:.1f} and mean {:.1f} % (closest other row {:.1f} and {:.1f} %)", rows,
        p.median, p.mape, c.median, c.mape);
  }
};

}  // namespace

void OtherSends::add(const std::string& group, Bytes bytes, double measured, double predicted) {
  sends_.push_back({group, bytes, measured, predicted});
}

std::string OtherSends::text() const {
  SendErrors all;
  std::map<std::string, SendErrors> groups;
  for (const Send& send : sends_) {
    std::optional<double> closest;
    for (const Send& other : sends_) {
      if (other.group == send.group || other.bytes != send.bytes) continue;
      const auto off = [&](double t) { return std::abs(t - send.measured); };
      if (!closest || off(other.measured) < off(*closest)) closest = other.measured;
    }
    if (!closest) continue;
    all.add(send.measured, send.predicted, *closest);
    groups[send.group].add(send.measured, send.predicted, *closest);
  }
  if (all.rows == 0) return "";
  std::string text = fmt::format(
      "Sends between two GPUs of a node, predicted without their group: {}. The closest other row "
      "is of another group and has the same size.",
      all.text());
  for (const auto& [group, errors] : groups)
    text += fmt::format("\n  {}: {}.", group, errors.text());
  return text;
}

}  // namespace orrery
