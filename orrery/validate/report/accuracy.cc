#include "orrery/validate/report/accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kWorst = 3, kMostOfTable = 3;

// Keys of groups in the order in which they are read; others follow by name.
constexpr std::array<std::string_view, 18> kKeys = {
    "seen",   "fitted", "covered", "trusted", "tier",   "kind",   "family",    "mode",  "subset",
    "layout", "limit",  "stack",   "vendor",  "engine", "system", "framework", "dtype", "source"};

std::size_t rank_of(std::string_view key) {
  return static_cast<std::size_t>(std::find(kKeys.begin(), kKeys.end(), key) - kKeys.begin());
}

struct KeyOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::tuple(rank_of(a), a) < std::tuple(rank_of(b), b);
  }
};

double off(const ValidationRow& r) { return std::abs(std::log(r.predicted / r.measured)); }

std::string value_of(const ValidationRow& r, const std::string& key) {
  const auto at = r.by.find(key);
  return at == r.by.end() ? std::string() : at->second;
}

// A row of network names its predictor as table (predictor_of): its table is the file.
std::string table_of(const std::string& area, const ValidationRow& r) {
  if (const std::string table = value_of(r, "table"); !table.empty() && area != "network")
    return table;
  std::string file = r.row.substr(0, r.row.find(':'));
  if (file.ends_with(".csv")) file.resize(file.size() - 4);
  return file;
}

// The unit of the figures of an area, and the factor from a row's number to it.
std::pair<std::string, double> unit_of(const std::string& area, const std::string& metric) {
  if (area == "kernels") return {"us", 1e6};
  if (area == "training") return {"s", 1};
  if (area == "training-memory") return {"GB", 1};
  if (area == "planner") return {"1/s", 1};
  if (area == "energy") {
    if (metric.starts_with("clock")) return {"MHz", 1};
    if (metric == "time under a cap") return {"times as long", 1};
    if (metric.starts_with("time")) return {"s", 1};
    return {metric.starts_with("energy") ? "J" : "W", 1};
  }
  if (metric == "bandwidth") return {"GB/s", 1};
  if (area == "network" || area == "layers") return {"us", 1};
  if (metric == "throughput") return {area == "serving" ? "requests/s" : "tokens/s", 1};
  if (metric == "KV blocks") return {"blocks", 1};
  return {"ms", 1};
}

Json to_json(const ErrorSummary& s, bool intervals) {
  const auto rounded = [](double v) { return std::round(v * 1000) / 1000; };
  Json j = {{"n", s.n},
            {"mape", rounded(s.mape)},
            {"median", rounded(s.median)},
            {"p90", rounded(s.p90)},
            {"bias", rounded(s.bias)}};
  if (intervals) {
    j["coverage50"] = rounded(s.coverage50);
    j["coverage90"] = rounded(s.coverage90);
  }
  return j;
}

Json to_json(const NoiseFloor& f) {
  return {{"questions", f.questions},
          {"best", to_json(f.best, false)},
          {"ours", to_json(f.ours, false)}};
}

// Groups of all tables with at least `rows` rows. Groups of the same rows are listed once.
template <class Keep, class Badness>
std::vector<WorstGroup> pick(const std::vector<AccuracyArea>& areas, std::size_t rows,
                             std::size_t most, const Keep& keep, const Badness& badness) {
  std::vector<WorstGroup> all;
  for (const AccuracyArea& area : areas) {
    for (const AccuracyTable& table : area.tables) {
      using Rows = std::tuple<std::size_t, double, double>;  // groups with these are the same rows
      std::set<Rows> seen;
      std::vector<GroupErrors> groups = {{"all", "", table.all}};
      groups.insert(groups.end(), table.groups.begin(), table.groups.end());
      for (const GroupErrors& g : groups) {
        if (g.errors.n < rows || !keep(table, g)) continue;
        if (seen.emplace(g.errors.n, g.errors.mape, g.errors.bias).second)
          all.push_back({area.name, &table, g});
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [&](const WorstGroup& a, const WorstGroup& b) {
    return badness(a.group) > badness(b.group);
  });
  std::vector<WorstGroup> out;
  std::map<const AccuracyTable*, std::size_t> of_table;
  for (const WorstGroup& g : all) {
    if (out.size() < most && ++of_table[g.table] <= kMostOfTable) out.push_back(g);
  }
  return out;
}

}  // namespace

struct AccuracyTally::Table {
  std::string table, metric, unit;
  double scale = 1;
  bool intervals = false;
  ErrorSample all;
  std::map<std::string, std::map<std::string, ErrorSample>, KeyOrder> groups;
  std::map<std::string, std::pair<ErrorSample, ErrorSample>> peers;  // theirs, ours
  NoiseSample noise;
  std::vector<std::pair<double, WorstRow>> worst;

  void peer(const std::string& who, double theirs, double measured, double ours) {
    auto& [their_errors, our_errors] = peers[who];
    their_errors.add(measured, theirs, false, false);
    our_errors.add(measured, ours, false, false);
  }

  void note_worst(const ValidationRow& r) {
    const double by = off(r);
    if (worst.size() == kWorst && by <= worst.back().first) return;
    // Draws predict one row several times.
    const auto same = [&](const auto& w) { return w.second.row == r.row; };
    if (const auto again = std::find_if(worst.begin(), worst.end(), same); again != worst.end()) {
      if (by <= again->first) return;
      worst.erase(again);
    }
    const auto at =
        std::find_if(worst.begin(), worst.end(), [&](const auto& w) { return w.first < by; });
    worst.insert(at, {by,
                      {r.row, r.what, r.measured * scale, r.predicted * scale, r.low90 * scale,
                       r.high90 * scale}});
    if (worst.size() > kWorst) worst.pop_back();
  }
};

void AccuracyTally::add(const ValidationRow& r) {
  if (const std::string who = predictor_of(area_, r); who != "orrery") {
    if (last_table_ && last_row_ == r.row)
      last_table_->peer(who, r.predicted, last_measured_, last_predicted_);
    return;
  }
  const std::string name = table_of(area_, r), metric = value_of(r, "metric");
  const auto [at, is_new] = index_.try_emplace({name, metric}, tables_.size());
  if (is_new) {
    tables_.push_back(std::make_shared<Table>());
    Table& t = *tables_.back();
    t.table = name, t.metric = metric;
    std::tie(t.unit, t.scale) = unit_of(area_, metric);
  }
  last_table_ = tables_[at->second];
  Table& t = *last_table_;
  const bool in50 = r.measured >= r.low50 && r.measured <= r.high50;
  const bool in90 = r.measured >= r.low90 && r.measured <= r.high90;
  t.intervals |= r.low90 < r.high90;
  t.all.add(r.measured, r.predicted, in50, in90);
  const auto group = [&](const std::string& key, const std::string& value) {
    t.groups[key][value].add(r.measured, r.predicted, in50, in90);
  };
  for (const auto& [key, value] : r.by) {
    if (key != "table" && key != "metric" && key != "predictor") group(key, value);
  }
  if (!r.by.contains("tier")) group("tier", std::string(to_text(r.origin)));
  const bool named = std::any_of(r.by.begin(), r.by.end(),
                                 [&](const auto& entry) { return entry.second == r.source; });
  if (!r.source.empty() && !named) group("source", r.source);
  for (const auto& [who, theirs] : r.peers) t.peer(who, theirs, r.measured, r.predicted);
  const std::string& question = r.same.empty() ? r.what : r.same;
  if (!question.empty()) t.noise.add(question, r.source, r.row, r.measured, r.predicted);
  t.note_worst(r);
  last_row_ = r.row, last_measured_ = r.measured, last_predicted_ = r.predicted;
}

AccuracyArea AccuracyTally::area(const std::vector<RefusedRow>& refused) const {
  AccuracyArea out;
  out.name = area_;
  for (const auto& t : tables_) {
    AccuracyTable table;
    table.table = t->table, table.metric = t->metric, table.unit = t->unit;
    table.all = t->all.summary();
    table.intervals = t->intervals;
    for (const auto& [key, values] : t->groups) {
      if (values.size() < 2) continue;
      for (const auto& [value, errors] : values)
        table.groups.push_back({key, value, errors.summary()});
    }
    for (const auto& [who, errors] : t->peers)
      table.peers.push_back({who, errors.first.summary(), errors.second.summary()});
    table.repeats = t->noise.repeats();
    table.sources = t->noise.sources();
    for (const auto& [by, row] : t->worst) table.worst.push_back(row);
    out.tables.push_back(std::move(table));
  }
  for (const RefusedRow& r : refused) {
    const std::string why = r.why.substr(0, r.why.find(':'));
    const auto same = std::find_if(out.refused.begin(), out.refused.end(),
                                   [&](const RefusedRows& o) { return o.why == why; });
    if (same == out.refused.end()) {
      out.refused.push_back({why, r.rows, r.row});
    } else {
      same->rows += r.rows;
    }
  }
  std::stable_sort(out.refused.begin(), out.refused.end(),
                   [](const RefusedRows& a, const RefusedRows& b) { return a.rows > b.rows; });
  return out;
}

std::vector<WorstGroup> worst_groups(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                     std::size_t most) {
  return pick(
      areas, rows, most, [](const AccuracyTable&, const GroupErrors&) { return true; },
      [](const GroupErrors& g) { return g.errors.median; });
}

std::vector<WorstGroup> least_covered(const std::vector<AccuracyArea>& areas, std::size_t rows,
                                      std::size_t most) {
  constexpr double kLow = 80;
  return pick(
      areas, rows, most,
      [](const AccuracyTable& t, const GroupErrors& g) {
        return t.intervals && g.errors.coverage90 < kLow;
      },
      [](const GroupErrors& g) { return -g.errors.coverage90; });
}

Json to_json(const std::vector<AccuracyArea>& areas) {
  Json out = Json::array();
  for (const AccuracyArea& area : areas) {
    Json tables = Json::array(), refused = Json::array();
    for (const AccuracyTable& t : area.tables) {
      Json j = {{"table", t.table}, {"metric", t.metric}, {"unit", t.unit}};
      j.update(to_json(t.all, t.intervals));
      j["groups"] = j["peers"] = j["worst"] = Json::array();
      j["noise"] = Json::object();
      for (const GroupErrors& g : t.groups) {
        Json group = {{"key", g.key}, {"value", g.value}};
        group.update(to_json(g.errors, t.intervals));
        j["groups"].push_back(std::move(group));
      }
      for (const PeerErrors& p : t.peers)
        j["peers"].push_back({{"who", p.who},
                              {"theirs", to_json(p.theirs, false)},
                              {"ours", to_json(p.ours, false)}});
      if (t.repeats.questions > 0) j["noise"]["repeats"] = to_json(t.repeats);
      if (t.sources.questions > 0) j["noise"]["sources"] = to_json(t.sources);
      for (const WorstRow& w : t.worst)
        j["worst"].push_back({{"row", w.row},
                              {"what", w.what},
                              {"measured", w.measured},
                              {"predicted", w.predicted},
                              {"interval90", {w.low90, w.high90}}});
      tables.push_back(std::move(j));
    }
    for (const RefusedRows& r : area.refused)
      refused.push_back({{"why", r.why}, {"rows", r.rows}, {"first", r.first}});
    out.push_back({{"area", area.name},
                   {"about", area.about},
                   {"tables", tables},
                   {"refused", refused},
                   {"remarks", area.remarks}});
  }
  return out;
}

}  // namespace orrery
