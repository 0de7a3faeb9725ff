// Money, plant and emissions of calls (scenario/setup/call_account.h), below the tables of kernels
// and collectives.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/cli/output/output.h"

namespace orrery::cli {
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

void print_call_accounts(const Answer& a, std::span<const std::string_view> keys) {
  std::vector<AccountColumn> columns;
  for (const AccountColumn& c : kAccountColumns) {
    if (std::any_of(a.points.begin(), a.points.end(),
                    [&c](const Point& p) { return p.find(c.metric) != nullptr; }))
      columns.push_back(c);
  }
  if (columns.empty()) return;
  std::string head;
  for (const std::string_view key : keys) head += fmt::format("{:>11} ", key);
  for (const AccountColumn& c : columns) head += fmt::format("{:>10} ", c.head);
  head.pop_back();
  fmt::print("\n{}\n", head);
  for (const Point& p : a.points) {
    std::string line;
    for (const std::string_view key : keys) {
      const auto v = p.at.find(key);
      const std::string text = v == p.at.end()  ? ""
                               : v->is_string() ? v->get<std::string>()
                                                : v->dump();
      line += fmt::format("{:>11} ", text);
    }
    for (const AccountColumn& c : columns) {
      const Metric* m = p.find(c.metric);
      line += fmt::format("{:>10} ", m == nullptr ? "" : number(m->value));
    }
    line.pop_back();
    fmt::print("{}\n", line);
  }
  fmt::print("  1M: a million calls, one after the other\n");
}

}  // namespace orrery::cli
