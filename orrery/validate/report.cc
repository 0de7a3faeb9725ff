#include "orrery/validate/report.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Key = std::map<std::string, std::string>;

double percent(double v) { return std::round(v * 1000) / 1000; }

Json to_json(const ErrorSummary& s) {
  return {{"n", s.n},
          {"mape", percent(s.mape)},
          {"median", percent(s.median)},
          {"p90", percent(s.p90)},
          {"bias", percent(s.bias)},
          {"coverage50", percent(s.coverage50)},
          {"coverage90", percent(s.coverage90)}};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The groups a row counts in: its full key, and two coarser ones.
std::vector<Key> keys_of(const ValidationRow& row) {
  std::vector<Key> keys = {row.by};
  for (const std::set<std::string>& kept : {std::set<std::string>{"table", "metric"},
                                            std::set<std::string>{"table", "metric", "fitted"}}) {
    Key key;
    for (const auto& [name, value] : row.by) {
      if (kept.contains(name)) key[name] = value;
    }
    if (key != keys.back() && key != row.by) keys.push_back(key);
  }
  return keys;
}

}  // namespace

ErrorSummary summarise(const std::vector<const ValidationRow*>& rows) {
  ErrorSummary s;
  s.n = rows.size();
  if (rows.empty()) return s;
  std::vector<double> errors;
  const double n = static_cast<double>(rows.size());
  for (const ValidationRow* r : rows) {
    const double relative = (r->predicted - r->measured) / r->measured * 100;
    errors.push_back(std::abs(relative));
    s.mape += std::abs(relative) / n;
    s.bias += relative / n;
    s.coverage50 += (r->measured >= r->low50 && r->measured <= r->high50 ? 100 : 0) / n;
    s.coverage90 += (r->measured >= r->low90 && r->measured <= r->high90 ? 100 : 0) / n;
  }
  s.median = quantile(errors, 0.5);
  s.p90 = quantile(errors, 0.9);
  return s;
}

Json to_json(const ValidationReport& report) {
  std::vector<const ValidationRow*> all;
  std::map<Key, std::vector<const ValidationRow*>> groups;
  for (const ValidationRow& row : report.rows) {
    all.push_back(&row);
    for (const Key& key : keys_of(row)) groups[key].push_back(&row);
  }
  Json refused = Json::array(), grouped = Json::array();
  for (const RefusedRow& r : report.refused) refused.push_back({{"row", r.row}, {"why", r.why}});
  for (const auto& [key, rows] : groups) {
    Json g = {{"by", key}};
    g.update(to_json(summarise(rows)));
    grouped.push_back(std::move(g));
  }
  return {{"area", report.area},
          {"rows", report.rows.size()},
          {"refused", refused},
          {"pooled", to_json(summarise(all))},
          {"groups", grouped}};
}

std::string to_markdown(const ValidationReport& report) {
  std::string out = fmt::format(
      "## {}\n\nErrors in percent of the measured value; in50 and in90: share of rows inside the "
      "50 % and 90 % interval.\n",
      report.area);
  std::set<std::pair<std::string, std::string>> figures;
  for (const ValidationRow& r : report.rows) figures.emplace(r.by.at("table"), r.by.at("metric"));
  for (const auto& [table, metric] : figures) {
    out += fmt::format(
        "\n### {}: {}\n\n| rows | n | mape | median | p90 | bias | in50 | in90 "
        "|\n|---|---:|---:|---:|---:|---:|---:|---:|\n",
        table, metric);
    auto line = [&out](const std::string& name, const std::vector<const ValidationRow*>& rows) {
      const ErrorSummary s = summarise(rows);
      out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} | {:.0f} | {:.0f} |\n",
                         name, s.n, s.mape, s.median, s.p90, s.bias, s.coverage50, s.coverage90);
    };
    std::vector<const ValidationRow*> all;
    for (const ValidationRow& r : report.rows) {
      if (r.by.at("table") == table && r.by.at("metric") == metric) all.push_back(&r);
    }
    line("all", all);
    for (const char* key : {"fitted", "engine", "system", "family"}) {
      std::map<std::string, std::vector<const ValidationRow*>> groups;
      for (const ValidationRow* r : all) {
        if (const auto value = r->by.find(key); value != r->by.end())
          groups[value->second].push_back(r);
      }
      for (const auto& [value, rows] : groups) line(fmt::format("{}: {}", key, value), rows);
    }
  }
  std::map<std::string, std::size_t> reasons;
  for (const RefusedRow& r : report.refused) ++reasons[r.why.substr(0, r.why.find(':'))];
  if (!reasons.empty()) out += fmt::format("\n### Refused: {} rows\n\n", report.refused.size());
  for (const auto& [why, n] : reasons) out += fmt::format("- {}: {}\n", n, why);
  return out;
}

std::string to_csv(const ValidationReport& report) {
  std::set<std::string> names;
  for (const ValidationRow& r : report.rows) {
    for (const auto& [name, value] : r.by) names.insert(name);
  }
  std::string out;
  for (const std::string& name : names) out += name + ",";
  out += "row,measured,predicted,low50,high50,low90,high90,tier\n";
  for (const ValidationRow& r : report.rows) {
    for (const std::string& name : names) {
      const auto value = r.by.find(name);
      out += (value == r.by.end() ? "" : quoted(value->second)) + ",";
    }
    out +=
        fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{}\n", quoted(r.row), r.measured,
                    r.predicted, r.low50, r.high50, r.low90, r.high90, to_text(r.origin));
  }
  return out;
}

}  // namespace orrery
