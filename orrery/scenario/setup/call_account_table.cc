#include "orrery/scenario/setup/call_account_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "orrery/scenario/answer/answer_text.h"

namespace orrery {
namespace {

struct AccountColumn {
  const char *metric, *head;
};
constexpr AccountColumn kAccountColumns[] = {
    {"plant_power", "W in scope"},           {"cost_per_hour", "USD/hour"},
    {"cost_per_million_calls", "USD/1M"},    {"carbon_per_hour", "gCO2/hour"},
    {"carbon_per_million_calls", "gCO2/1M"},
};

}  // namespace

std::string call_account_table(const Answer& a, std::initializer_list<const char*> keys) {
  std::vector<AccountColumn> columns;
  for (const AccountColumn& c : kAccountColumns) {
    if (std::any_of(a.points.begin(), a.points.end(),
                    [&c](const Point& p) { return p.find(c.metric) != nullptr; }))
      columns.push_back(c);
  }
  if (columns.empty()) return "";
  std::string out, head;
  for (const char* key : keys) head += fmt::format("{:>11} ", key);
  for (const AccountColumn& c : columns) head += fmt::format("{:>10} ", c.head);
  head.pop_back();
  out += "\n" + head + "\n";
  for (const Point& p : a.points) {
    std::string line;
    for (const char* key : keys) line += fmt::format("{:>11} ", text_at(p, key));
    for (const AccountColumn& c : columns) {
      const Metric* m = p.find(c.metric);
      line += fmt::format("{:>10} ", m == nullptr ? "" : number(m->value));
    }
    line.pop_back();
    out += line + "\n";
  }
  return out + "  1M: a million calls, one after the other\n";
}

}  // namespace orrery
