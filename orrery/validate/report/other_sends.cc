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

void OtherSends::add(const std::string& group, Bytes bytes, std::size_t row) {
  sends_.push_back({group, bytes, row});
}

std::string OtherSends::text(const ValidationReport& report) const {
  SendErrors all, trusted;
  std::map<std::string, SendErrors> groups;
  for (const Send& send : sends_) {
    const ValidationRow& row = report.rows[send.row];
    std::optional<double> closest;
    for (const Send& other : sends_) {
      if (other.group == send.group || other.bytes != send.bytes) continue;
      const double time = report.rows[other.row].measured;
      if (!closest || std::abs(time - row.measured) < std::abs(*closest - row.measured))
        closest = time;
    }
    if (!closest) continue;
    all.add(row.measured, row.predicted, *closest);
    groups[send.group].add(row.measured, row.predicted, *closest);
    if (!row.by.contains("trusted")) trusted.add(row.measured, row.predicted, *closest);
  }
  if (all.rows == 0) return "";
  std::string text = fmt::format(
      "Sends between two GPUs of a node, predicted without their group: {}. The closest other row "
      "is of another group and has the same size.",
      all.text());
  if (trusted.rows > 0 && trusted.rows < all.rows)
    text += fmt::format("\n  without distrusted rows: {}.", trusted.text());
  for (const auto& [group, errors] : groups)
    text += fmt::format("\n  {}: {}.", group, errors.text());
  return text;
}

}  // namespace orrery
