#include "orrery/validate/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;
using Key = std::map<std::string, std::string>;

double percent(double v) { return std::round(v * 1000) / 1000; }

Json to_json(const ErrorGroup& group) {
  const ErrorSummary& s = group.errors;
  Json j = {{"n", s.n},
            {"mape", percent(s.mape)},
            {"median", percent(s.median)},
            {"p90", percent(s.p90)},
            {"bias", percent(s.bias)},
            {"coverage50", percent(s.coverage50)},
            {"coverage90", percent(s.coverage90)}};
  if (group.roofline) j["roofline_mape"] = percent(*group.roofline);
  return j;
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// The groups of a row: that of its full key, and coarser ones.
std::vector<Key> keys_of(const ValidationRow& row) {
  std::vector<Key> keys = {row.by};
  for (const std::set<std::string>& kept :
       {std::set<std::string>{"table", "metric"},
        std::set<std::string>{"table", "metric", "fitted"},
        std::set<std::string>{"table", "metric", "seen"},
        std::set<std::string>{"table", "metric", "engine"},
        std::set<std::string>{"table", "metric", "vendor"},
        std::set<std::string>{"table", "metric", "vendor", "seen"}}) {
    Key key;
    for (const auto& [name, value] : row.by) {
      if (kept.contains(name)) key[name] = value;
    }
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

}  // namespace

bool has_table(const std::filesystem::path& file, ValidationReport& report) {
  if (std::filesystem::exists(file)) return true;
  report.skipped.push_back(
      fmt::format("The folder has no {}: that table is skipped.", file.filename().string()));
  return false;
}

std::string predictor_of(const std::string& area, const ValidationRow& row) {
  // The table of a collective has the name of its predictor.
  const auto who = row.by.find(area == "network" ? "table" : "predictor");
  return who == row.by.end() || who->second.empty() ? "orrery" : who->second;
}

ErrorSummary summarise(const std::vector<const ValidationRow*>& rows) {
  ErrorSample sample;
  for (const ValidationRow* r : rows) {
    sample.add(r->measured, r->predicted, r->measured >= r->low50 && r->measured <= r->high50,
               r->measured >= r->low90 && r->measured <= r->high90);
  }
  return sample.summary();
}

ErrorReport grouped(const ValidationReport& report) {
  std::map<std::string, std::vector<const ValidationRow*>> by_predictor;
  std::map<Key, std::vector<const ValidationRow*>> groups;
  for (const ValidationRow& row : report.rows) {
    by_predictor[predictor_of(report.area, row)].push_back(&row);
    for (const Key& key : keys_of(row)) groups[key].push_back(&row);
  }
  ErrorReport out;
  out.area = report.area;
  out.refused = report.refused;
  out.skipped = report.skipped;
  out.note = report.note;
  for (const auto& [who, rows] : by_predictor) {
    if (who == "orrery") {
      out.pooled.errors = summarise(rows);
    } else {
      out.others.push_back({{{"predictor", who}}, summarise(rows), {}, false});
    }
  }
  for (const auto& [key, rows] : groups) out.groups.push_back({key, summarise(rows), {}, false});
  return out;
}

Json to_json(const ErrorReport& report) {
  Json refused = Json::array();
  for (const RefusedRow& r : report.refused) {
    Json entry = {{"row", r.row}, {"why", r.why}};
    if (r.rows > 1) entry["rows"] = r.rows;
    refused.push_back(std::move(entry));
  }
  const auto listed = [](const std::vector<ErrorGroup>& from) {
    Json list = Json::array();
    for (const ErrorGroup& g : from) {
      Json entry = {{"by", g.by}};
      entry.update(to_json(g));
      list.push_back(std::move(entry));
    }
    return list;
  };
  Json out = {{"area", report.area}};
  if (!report.note.empty()) out["note"] = report.note;
  out["rows"] = report.pooled.errors.n, out["refused"] = refused;
  if (!report.skipped.empty()) out["skipped"] = report.skipped;
  out["pooled"] = to_json(report.pooled);
  if (!report.others.empty()) out["others"] = listed(report.others);
  out["groups"] = listed(report.groups);
  return out;
}

Json to_json(const ValidationReport& report) { return to_json(grouped(report)); }

Json to_json_with_rows(const ValidationReport& report) {
  Json out = to_json(report);
  Json cases = Json::array();
  for (const ValidationRow& r : report.rows) {
    Json entry = {
        {"by", r.by}, {"row", r.row}, {"measured", r.measured}, {"predicted", r.predicted}};
    if (!r.peers.empty()) entry["peers"] = r.peers;
    cases.push_back(std::move(entry));
  }
  out["cases"] = std::move(cases);
  return out;
}

std::string to_markdown(const ErrorReport& report) {
  std::string out = fmt::format(
      "## {}\n\nErrors in percent of the measured value; in50 and in90: share of rows inside the "
      "50 % and 90 % interval; roofline: mape of max(flops/peak, bytes/bandwidth).\n",
      report.area);
  if (!report.note.empty()) out += fmt::format("\n{}\n", report.note);
  std::set<std::string> tables;
  for (const ErrorGroup& g : report.groups) {
    if (const auto at = g.by.find("table"); at != g.by.end()) tables.insert(at->second);
  }
  constexpr std::string_view kHead =
      "| rows | n | mape | median | p90 | bias | in50 | in90 | roofline "
      "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  auto line = [&out](const std::string& name, const ErrorGroup& g) {
    const ErrorSummary& s = g.errors;
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} | {:+.1f} | {:.0f} | {:.0f} | {} |\n",
                       name, s.n, s.mape, s.median, s.p90, s.bias, s.coverage50, s.coverage90,
                       g.roofline ? fmt::format("{:.1f}", *g.roofline) : "-");
  };
  for (const std::string& table : tables) {
    out += fmt::format("\n### {}\n\n{}", table, kHead);
    for (const ErrorGroup& g : report.groups) {
      if (g.detail || !g.by.contains("table") || g.by.at("table") != table) continue;
      std::string name;
      for (const auto& [key, value] : g.by) {
        if (key != "table") name += (name.empty() ? "" : ", ") + key + " " + value;
      }
      line(name.empty() ? "all" : name, g);
    }
  }
  out += fmt::format("\n### All tables\n\n{}", kHead);
  line("all", report.pooled);
  for (const ErrorGroup& g : report.others) line("all, " + g.by.at("predictor"), g);
  if (!report.skipped.empty()) out += "\n### Skipped\n\n";
  for (const std::string& table : report.skipped) out += fmt::format("- {}\n", table);
  if (!report.refused.empty()) out += "\n### Refused\n\n";
  for (const RefusedRow& r : report.refused)
    out += fmt::format("- {} rows from {} on: {}\n", r.rows, r.row, r.why);
  return out;
}

std::string CsvRows::header(std::set<std::string> names) {
  names.erase("tier");
  std::string out = "key,";
  for (const std::string& name : names) out += name + ",";
  return out + "row,measured,predicted,low50,high50,low90,high90,tier,question,answer\n";
}

std::string CsvRows::key(const ValidationRow& r) {
  std::string out = area_;
  const auto add = [&out](std::string part) {
    std::replace(part.begin(), part.end(), '/', '_');
    out += "/" + part;
  };
  for (const char* name : {"table", "metric", "predictor"}) {
    if (const auto value = r.by.find(name); value != r.by.end()) add(value->second);
  }
  add(r.row.substr(0, r.row.find(' ')));
  const int n = ++seen_[out];
  return n == 1 ? out : fmt::format("{}#{}", out, n);
}

std::string CsvRows::line(const ValidationRow& r) {
  std::string out = quoted(key(r)) + ",";
  for (const std::string& name : names_) {
    if (name == "tier") continue;  // a column of its own
    const auto value = r.by.find(name);
    out += (value == r.by.end() ? "" : quoted(value->second)) + ",";
  }
  const auto end = [&r](double v) {
    return v == r.predicted ? fmt::format("{}", v) : fmt::format("{:.6g}", v);
  };
  return out + fmt::format("{},{},{},{},{},{},{},{},{},{}\n", quoted(r.row), r.measured,
                           r.predicted, end(r.low50), end(r.high50), end(r.low90), end(r.high90),
                           to_text(r.origin), quoted(r.what), r.answer);
}

}  // namespace orrery
