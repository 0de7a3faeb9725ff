#include "apps/cli/output/output_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/output/output.h"
#include "apps/face/plot.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kLeastRows = 20;  // of a group that is named among the worst
constexpr std::size_t kWorstGroups = 20, kWorstCovered = 12;
constexpr double kMostDrawn = 100;  // percent; larger errors are drawn at this one

// An error as text: "4.6", "1234", and few digits for very large errors.
std::string percent(double v) {
  return std::abs(v) >= 1000 ? fmt::format("{:.0f}", v) : fmt::format("{:.1f}", v);
}

std::string signed_percent(double v) { return (v < 0 ? "" : "+") + percent(v); }

DocumentTable error_table(const char* first) {
  return {"lrrrrrrr", {first, "n", "median", "mape", "p90", "bias", "in50", "in90"}, {}};
}

std::vector<std::string> error_line(const std::string& name, const ErrorSummary& s,
                                    bool intervals) {
  return {name,
          std::to_string(s.n),
          percent(s.median),
          percent(s.mape),
          percent(s.p90),
          signed_percent(s.bias),
          intervals ? fmt::format("{:.0f}", s.coverage50) : "-",
          intervals ? fmt::format("{:.0f}", s.coverage90) : "-"};
}

std::string name_of(const AccuracyTable& t) {
  return t.metric.empty() ? t.table : t.table + ": " + t.metric;
}

std::string name_of(const std::string& area, const AccuracyTable& t) {
  return area + " " + name_of(t);
}

std::string group_name(const WorstGroup& g) {
  std::string out = name_of(g.area, *g.table);
  if (!g.group.value.empty()) out += fmt::format(", {} {}", g.group.key, g.group.value);
  return out;
}

void add_reading(Document& d) {
  d.text(
      "Errors are in percent of the measured value: median, mape (mean) and p90 of |predicted - "
      "measured| / measured; bias is the mean with its sign, above 0 where the prediction is too "
      "large. in50 and in90: percent of the rows whose measured value lies in the prediction's 50 "
      "% "
      "and 90 % interval; they should be 50 and 90. Tiers: measured, a sweep of this kernel on "
      "this "
      "GPU; fitted, a constant fitted on whole measurements; transferred, from other GPUs' sweeps; "
      "analytical, physics and data sheet alone.");
}

// A line for each table: a box to the median error, a thin one to the 90th percentile, and a mark
// at the mean.
std::string errors_picture(const std::vector<AccuracyArea>& areas) {
  constexpr int kMedian = 0, kPercentile90 = 2;  // series
  std::vector<std::pair<std::string, const AccuracyTable*>> tables;
  for (const AccuracyArea& a : areas) {
    for (const AccuracyTable& table : a.tables) {
      if (table.all.n > 0)
        tables.emplace_back(areas.size() > 1 ? name_of(a.name, table) : name_of(table), &table);
    }
  }
  if (tables.empty()) return "";
  std::reverse(tables.begin(), tables.end());
  face::PlotAxis y{"", false, {}};
  for (const auto& table : tables) y.names.push_back(table.first);
  face::Plot plot("Errors of each table",
                  {"% of the measured value; 100 stands for more, too", false, {}}, y);
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const ErrorSummary& s = tables[i].second->all;
    const double row = static_cast<double>(i);
    const std::string text =
        fmt::format("{}: {} rows, median {} %, mean {} %, 90th percentile {} %", tables[i].first,
                    s.n, percent(s.median), percent(s.mape), percent(s.p90));
    const auto drawn = [](double v) { return std::min(v, kMostDrawn); };
    plot.box(kPercentile90, 0, drawn(s.p90), row, 0.08, text);
    plot.box(kMedian, 0, drawn(s.median), row, 0.26, text);
    plot.mark(drawn(s.mape), row, 0.26, text);
  }
  plot.key(kMedian, "median");
  plot.key(kPercentile90, "90th percentile");
  plot.key(face::kPlotInk, "mean");
  return plot.svg();
}

void add_summary(Document& d, const std::vector<AccuracyArea>& areas) {
  d.heading(2, "In short");
  d.picture(errors_picture(areas));
  d.text(
      "If some rows of a table may have fitted constants, the line below it has the rows that "
      "fitted nothing. The section of each area states the rows that its constants are fitted on.");
  DocumentTable t = error_table("area and table");
  for (const AccuracyArea& a : areas) {
    for (const AccuracyTable& table : a.tables) {
      const std::string name = name_of(a.name, table);
      t.rows.push_back(error_line(name, table.all, table.intervals));
      for (const GroupErrors& g : table.groups) {
        if (g.key == "fitted" && g.value == "no")
          t.rows.push_back(error_line(name + ", not fitted", g.errors, table.intervals));
      }
    }
  }
  d.table(std::move(t));
}

void add_worst(Document& d, const std::vector<AccuracyArea>& areas) {
  d.heading(2, "Where it is worst");
  d.text(
      fmt::format("Groups of at least {} rows by their median error, the {} greatest, at most "
                  "three of a table; "
                  "groups that hold the same rows are named once.",
                  kLeastRows, kWorstGroups));
  DocumentTable t = error_table("group");
  for (const WorstGroup& g : worst_groups(areas, kLeastRows, kWorstGroups))
    t.rows.push_back(error_line(group_name(g), g.group.errors, g.table->intervals));
  if (t.rows.empty()) return d.text("No group has that many rows.");
  d.table(std::move(t));
  DocumentTable covered = error_table("group");
  for (const WorstGroup& g : least_covered(areas, kLeastRows, kWorstCovered))
    covered.rows.push_back(error_line(group_name(g), g.group.errors, true));
  if (covered.rows.empty()) return;
  d.text(fmt::format(
      "Intervals that are too narrow: the {} groups with the fewest rows in their 90 % interval, "
      "where these are fewer than 80 %.",
      covered.rows.size()));
  d.table(std::move(covered));
}

void add_peers(Document& d, const std::vector<AccuracyArea>& areas) {
  DocumentTable t{"lrrrrr", {"table, tool", "n", "median", "mape", "ours", "our mape"}, {}};
  for (const AccuracyArea& a : areas) {
    for (const AccuracyTable& table : a.tables) {
      for (const PeerErrors& p : table.peers)
        t.rows.push_back({name_of(a.name, table) + ", " + p.who, std::to_string(p.theirs.n),
                          percent(p.theirs.median), percent(p.theirs.mape), percent(p.ours.median),
                          percent(p.ours.mape)});
    }
  }
  if (t.rows.empty()) return;
  d.heading(2, "Other tools on the same rows");
  d.text(
      "Their median error and MAPE, then ours on exactly these rows. Where tools are fitted on "
      "rows "
      "of a table, we do not know on which.");
  d.table(std::move(t));
}

void add_noise(Document& d, const std::vector<AccuracyArea>& areas) {
  d.heading(2, "What the data allow");
  d.text(
      "A question that was measured more than once has no single right answer. The floor is the "
      "error of the best one, the median of its rows, against these rows; ours are the errors of "
      "our predictions on the same rows. Repeats: one source measured the question more than once "
      "(other versions of its software among them). Sources: several did, and one answer must "
      "serve "
      "all. Questions measured once, and tables not named here, say nothing about their noise.");
  DocumentTable t{
      "lrrrrrr", {"table", "questions", "rows", "floor", "mape", "ours", "our mape"}, {}};
  for (const AccuracyArea& a : areas) {
    for (const AccuracyTable& table : a.tables) {
      const auto add = [&](const char* kind, const NoiseFloor& f) {
        if (f.questions == 0) return;
        t.rows.push_back({name_of(a.name, table) + ", " + kind, std::to_string(f.questions),
                          std::to_string(f.best.n), percent(f.best.median), percent(f.best.mape),
                          percent(f.ours.median), percent(f.ours.mape)});
      };
      add("repeats", table.repeats);
      add("sources", table.sources);
    }
  }
  if (t.rows.empty()) return d.text("No question here was measured more than once.");
  d.table(std::move(t));
}

void add_table(Document& d, const AccuracyTable& table) {
  d.begin_fold(fmt::format("{}: {} rows, median {} %, MAPE {} %", name_of(table), table.all.n,
                           percent(table.all.median), percent(table.all.mape)));
  if (!table.groups.empty()) {
    DocumentTable t = error_table("rows");
    for (const GroupErrors& g : table.groups)
      t.rows.push_back(error_line(g.key + " " + g.value, g.errors, table.intervals));
    d.table(std::move(t));
  }
  std::vector<std::string> worst;
  for (const WorstRow& w : table.worst) {
    std::string text = w.row.substr(0, w.row.find(' '));
    text += ", " + (w.what.empty() ? w.row : w.what);
    worst.push_back(fmt::format(
        "{}: measured {} {}, predicted {}{}", text, number(w.measured), table.unit,
        number(w.predicted),
        w.low90 < w.high90 ? fmt::format(" [{}, {}]", number(w.low90), number(w.high90)) : ""));
  }
  d.text("The worst rows:");
  d.list(std::move(worst));
  d.end_fold();
}

void add_area(Document& d, const AccuracyArea& area) {
  d.heading(2, area.name);
  d.text(area.about);
  for (const std::string& remark : area.remarks) d.text(remark);
  for (const AccuracyTable& table : area.tables) add_table(d, table);
  if (area.tables.empty() && area.remarks.empty()) d.text("No row could be judged.");
  std::size_t refused = 0;
  std::vector<std::string> reasons;
  for (const RefusedRows& r : area.refused) {
    refused += r.rows;
    reasons.push_back(
        fmt::format("{}: {} (the first: {})", r.rows, r.why, r.first.substr(0, r.first.find(' '))));
  }
  if (refused == 0) return;
  d.begin_fold(fmt::format("{}: {} rows refused", area.name, refused));
  d.list(std::move(reasons));
  d.end_fold();
}

}  // namespace

Document accuracy_document(const std::vector<AccuracyArea>& areas, const std::string& command) {
  Document d(areas.size() == 1 ? "Accuracy: " + areas.front().name : "Accuracy");
  d.text(
      fmt::format("Written by `{} -o md` (or `-o html`), every line of it: do not edit.", command));
  add_reading(d);
  add_summary(d, areas);
  add_worst(d, areas);
  add_peers(d, areas);
  add_noise(d, areas);
  for (const AccuracyArea& area : areas) add_area(d, area);
  return d;
}

Document changes_document(const std::vector<TableChange>& changes, const std::string& file) {
  Document d("Predictions against " + file);
  const bool same =
      std::all_of(changes.begin(), changes.end(), [](const TableChange& c) { return c.same(); });
  std::size_t rows = 0;
  for (const TableChange& c : changes) rows += c.rows;
  if (same) {
    d.text(fmt::format("{} rows, none changed by more than {} %.", rows, 100 * kChanged));
    return d;
  }
  d.text(
      fmt::format("{} rows in both. Changed: by more than {} %; median and largest change of these "
                  "rows; median "
                  "error and MAPE of all rows in both, before and after.",
                  rows, 100 * kChanged));
  DocumentTable t{
      "lrrrrrrrrr",
      {"table", "rows", "changed", "gained", "lost", "change", "most", "error", "", "mape", ""},
      {}};
  t.align = "lrrrrrrrrrr";
  for (const TableChange& c : changes) {
    if (c.same()) continue;
    t.rows.push_back({c.area + " " + c.table, std::to_string(c.rows), std::to_string(c.changed),
                      std::to_string(c.gained), std::to_string(c.lost), percent(c.median),
                      percent(c.largest), percent(c.before.median), percent(c.after.median),
                      percent(c.before.mape), percent(c.after.mape)});
  }
  d.table(std::move(t));
  std::vector<std::string> most;
  for (const TableChange& c : changes) {
    for (const ChangedRow& r : c.most)
      most.push_back(fmt::format("{}{}: {} to {} ({} %), measured {}", r.key,
                                 r.what.empty() ? "" : ", " + r.what, number(r.before),
                                 number(r.after), signed_percent(r.change()), number(r.measured)));
  }
  if (most.empty()) return d;
  d.heading(2, "The most changed rows of each table");
  d.list(std::move(most));
  return d;
}

}  // namespace orrery::cli
