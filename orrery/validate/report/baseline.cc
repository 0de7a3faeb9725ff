#include "orrery/validate/report/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/quantile.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMost = 3;

// Measured values are compared to six digits: older files have no more.
double six_digits(double v) { return std::stod(fmt::format("{:.6g}", v)); }

// "kernels/gemm/gemm:12" -> "kernels", "gemm"
std::string part_of(const std::string& key, std::size_t part) {
  std::size_t begin = 0;
  for (; part > 0 && begin != std::string::npos; --part) {
    begin = key.find('/', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos) return "";
  return key.substr(begin, key.find('/', begin) - begin);
}

bool holds(double v, double low, double high) { return v >= low && v <= high; }

Json errors_json(const ErrorSummary& s) {
  const auto rounded = [](double v) { return std::round(v * 1000) / 1000; };
  return {{"n", s.n},
          {"mape", rounded(s.mape)},
          {"median", rounded(s.median)},
          {"p90", rounded(s.p90)},
          {"bias", rounded(s.bias)},
          {"coverage50", rounded(s.coverage50)},
          {"coverage90", rounded(s.coverage90)}};
}

}  // namespace

Baseline read_baseline(const std::filesystem::path& file) {
  Baseline out;
  CsvReader csv(file);
  const int key = csv.column("key"), measured = csv.column("measured"),
            predicted = csv.column("predicted"), low50 = csv.column("low50"),
            high50 = csv.column("high50"), low90 = csv.column("low90"),
            high90 = csv.column("high90");
  bool any = false;
  while (csv.next()) {
    std::string name(csv.text(key));
    BaselineRow row{csv.number(measured), csv.number(predicted), csv.number(low50),
                    csv.number(high50),   csv.number(low90),     csv.number(high90)};
    if (row.measured <= 0) csv.fail(measured, "expected a number above 0");
    if (row.predicted < 0) csv.fail(predicted, "expected 0 or a number above");
    const std::string area = part_of(name, 0);
    if (part_of(name, 1).empty()) csv.fail(key, "expected a key such as kernels/gemm/gemm:12");
    any = true;
    if (!out[area].emplace(std::move(name), row).second) csv.fail(key, "occurs twice in the file");
  }
  if (!any) throw InputError(fmt::format("{}: no rows", file.string()));
  return out;
}

void BaselineComparison::add(const ValidationRow& row) {
  const std::string key = keys_.key(row);
  Table& table = tables_[part_of(key, 1)];
  const auto at = before_.find(key);
  if (at == before_.end() || six_digits(row.measured) != six_digits(at->second.measured)) {
    ++table.change.gained;
    return;
  }
  BaselineRow& before = at->second;
  before.seen = true;
  ++table.change.rows;
  table.before.add(before.measured, before.predicted,
                   holds(before.measured, before.low50, before.high50),
                   holds(before.measured, before.low90, before.high90));
  table.after.add(row.measured, row.predicted, holds(row.measured, row.low50, row.high50),
                  holds(row.measured, row.low90, row.high90));
  const ChangedRow c{key, row.what, before.measured, before.predicted, row.predicted};
  const double by = std::abs(c.change());
  if (by <= 100 * kChanged) return;
  ++table.change.changed;
  table.percent.push_back(by);
  auto& most = table.change.most;
  const auto place = std::find_if(most.begin(), most.end(), [by](const ChangedRow& other) {
    return std::abs(other.change()) < by;
  });
  if (place == most.end() && most.size() == kMost) return;
  most.insert(place, c);
  if (most.size() > kMost) most.pop_back();
}

std::vector<TableChange> BaselineComparison::changes(const std::string& only) const {
  std::map<std::string, Table> tables = tables_;
  for (const auto& [key, row] : before_) {
    const std::string table = part_of(key, 1);
    if (!row.seen && (only.empty() || table == only)) ++tables[table].change.lost;
  }
  std::vector<TableChange> out;
  for (const auto& [name, t] : tables) {
    TableChange c = t.change;
    c.area = area_, c.table = name;
    c.before = t.before.summary(), c.after = t.after.summary();
    if (!t.percent.empty()) {
      c.median = quantile(t.percent, 0.5);
      c.largest = *std::max_element(t.percent.begin(), t.percent.end());
    }
    out.push_back(std::move(c));
  }
  return out;
}

Json to_json(const std::vector<TableChange>& changes) {
  Json tables = Json::array();
  bool same = true;
  for (const TableChange& c : changes) {
    same &= c.same();
    Json most = Json::array();
    for (const ChangedRow& r : c.most)
      most.push_back({{"key", r.key},
                      {"what", r.what},
                      {"measured", r.measured},
                      {"before", r.before},
                      {"after", r.after},
                      {"change_percent", r.change()}});
    tables.push_back({{"area", c.area},
                      {"table", c.table},
                      {"rows", c.rows},
                      {"changed", c.changed},
                      {"gained", c.gained},
                      {"lost", c.lost},
                      {"median_change", c.median},
                      {"largest_change", c.largest},
                      {"before", errors_json(c.before)},
                      {"after", errors_json(c.after)},
                      {"most", most}});
  }
  return {{"same", same}, {"tables", tables}};
}

}  // namespace orrery
