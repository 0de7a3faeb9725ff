// Azure's traces of LLM inference (github.com/Azure/AzurePublicDataset). Times are dates such as
// 2023-11-16 18:17:03.9799600.
#include <fmt/format.h>

#include <cstdio>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"
#include "orrery/serving/traces/trace_format.h"

namespace orrery {
namespace {

// Seconds since 1970 (days by Howard Hinnant's algorithm days_from_civil,
// howardhinnant.github.io/date_algorithms.html).
double seconds_since_1970(std::string_view text, const std::string& where) {
  int y = 0, mo = 0, d = 0, h = 0, mi = 0;
  double s = 0;
  if (std::sscanf(std::string(text).c_str(), "%d-%d-%d %d:%d:%lf", &y, &mo, &d, &h, &mi, &s) != 6 ||
      y < 0 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 24 || mi < 0 ||
      mi > 59 || !(s >= 0 && s < 61)) {
    throw InputError(fmt::format("{}: expected a time such as 2023-11-16 18:17:03.98, got '{}'",
                                 where, shortened(text)));
  }
  y -= mo <= 2;
  const int era = y / 400, year = y - era * 400;
  const int day = (153 * (mo + (mo > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  const int days = era * 146097 + year * 365 + year / 4 - year / 100 + day - 719468;
  return days * 86400.0 + h * 3600 + mi * 60 + s;
}

}  // namespace

CsvTraceFormat azure_trace() {
  return {"TIMESTAMP", "ContextTokens", "GeneratedTokens", seconds_since_1970};
}

}  // namespace orrery
