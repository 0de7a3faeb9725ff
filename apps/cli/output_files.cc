// csv, md, html and the Perfetto timeline.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/output.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::vector<std::string> metric_names(const Answer& a) {
  std::vector<std::string> names;
  for (const Point& p : a.points) {
    for (const Metric& m : p.metrics) {
      if (std::find(names.begin(), names.end(), m.name) == names.end()) names.push_back(m.name);
    }
  }
  return names;
}

}  // namespace

std::string csv(const Answer& a) {
  if (a.points.empty()) return "";
  const std::vector<std::string> names = metric_names(a);
  std::string out;
  for (const auto& [key, value] : a.points[0].at.items()) out += key + ",";
  out += "fits";
  for (const std::string& n : names) out += fmt::format(",{0},{0}_low90,{0}_high90", n);
  out += "\n";
  for (const Point& p : a.points) {
    for (const auto& [key, value] : p.at.items()) out += cell(value) + ",";
    out += p.feasibility.fits ? "yes" : "no";
    for (const std::string& n : names) {
      const Metric* m = p.find(n);
      out += m ? fmt::format(",{:.6g},{:.6g},{:.6g}", m->value, m->low90, m->high90) : ",,,";
    }
    out += "\n";
  }
  return out;
}

std::string markdown(const Answer& a, bool breakdown) {
  std::string out = fmt::format("# {}\n", a.scenario);
  for (const Point& p : a.points) {
    out += "\n##";
    for (const auto& [key, value] : p.at.items()) out += fmt::format(" {} {}", key, cell(value));
    out += "\n\n";
    if (!p.feasibility.fits) out += fmt::format("**Does not fit**: {}\n\n", p.feasibility.reason);
    out += "| metric | value | unit | 90 % interval | origin |\n|---|---:|---|---|---|\n";
    for (const Metric& m : p.metrics) {
      out += fmt::format("| {} | {} | {} | {} | {} |\n", m.name, number(m.value), m.unit, interval90(m), to_text(m.origin));
    }
    if (breakdown && !p.kernels.empty()) {
      out += "\n| phase | kernel | calls | time | share | bound | of peak | tier |\n|---|---|---:|---:|---:|---|---:|---|\n";
      for (const KernelRow& k : p.kernels) {
        out += fmt::format("| {} | {} | {} | {} | {:.1f} % | {} | {} | {} |\n", k.phase, k.name, number(k.calls),
                           to_text(k.time.value), k.share * 100, k.bound,
                           k.of_peak > 0 ? fmt::format("{:.0f} %", k.of_peak * 100) : "", to_text(k.time.origin));
      }
    }
    if (!p.limit.empty()) out += "\n" + p.limit + "\n";
  }
  return out;
}

std::string html(const Answer& a) {
  std::string out = fmt::format(R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{0}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #1b1f24; }}
table {{ border-collapse: collapse; width: 100%; margin: 0.6em 0 1.4em; }}
th, td {{ text-align: left; padding: 0.2em 0.6em; border-bottom: 1px solid #dde; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
.bar {{ background: #4a78c2; height: 0.7em; display: inline-block; }}
.bad {{ color: #a40000; font-weight: 600; }}
.dim {{ color: #667; }}
pre {{ background: #f4f5f8; padding: 0.8em; overflow-x: auto; }}
</style></head><body>
<h1>{0}</h1>
)", escaped(a.scenario));
  for (const Point& p : a.points) {
    out += "<h2>";
    for (const auto& [key, value] : p.at.items()) out += fmt::format("{} {} &nbsp; ", escaped(key), escaped(cell(value)));
    out += "</h2>\n";
    if (!p.feasibility.fits) out += fmt::format("<p class=\"bad\">Does not fit: {}</p>\n", escaped(p.feasibility.reason));
    if (!p.limit.empty()) out += fmt::format("<p>{}</p>\n", escaped(p.limit));
    out += "<table><tr><th>metric<th class=\"n\">value<th>unit<th>90 % interval<th>origin</tr>\n";
    for (const Metric& m : p.metrics) {
      out += fmt::format("<tr><td>{}<td class=\"n\">{}<td>{}<td>{}<td class=\"dim\">{}</tr>\n", escaped(m.name), number(m.value),
                         escaped(m.unit), interval90(m), to_text(m.origin));
    }
    out += "</table>\n";
    if (!p.memory.empty()) {
      out += "<h3>Memory per GPU</h3><table>\n";
      for (const MemoryRow& m : p.memory) {
        const double share = m.size / p.memory_capacity;
        out += fmt::format("<tr><td>{}<td class=\"n\">{:.3f} GB<td><span class=\"bar\" style=\"width:{:.2f}em\"></span></tr>\n",
                           escaped(m.name), m.size.value() / 1e9, share * 30);
      }
      out += fmt::format("<tr><td>capacity<td class=\"n\">{:.3f} GB<td></tr></table>\n", p.memory_capacity.value() / 1e9);
    }
    if (!p.kernels.empty()) {
      out += "<h3>Kernels of a step</h3><table><tr><th>phase<th>kernel<th>sizes<th class=\"n\">calls<th class=\"n\">time"
             "<th class=\"n\">share<th><th>bound<th class=\"n\">of peak<th>tier</tr>\n";
      for (const KernelRow& k : p.kernels) {
        out += fmt::format("<tr><td>{}<td>{}<td class=\"dim\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1f} %"
                           "<td><span class=\"bar\" style=\"width:{:.2f}em\"></span><td>{}<td class=\"n\">{}<td class=\"dim\">{}</tr>\n",
                           k.phase, escaped(k.name), escaped(k.sizes), number(k.calls), to_text(k.time.value), k.share * 100,
                           k.share * 8, k.bound, k.of_peak > 0 ? fmt::format("{:.0f} %", k.of_peak * 100) : "",
                           to_text(k.time.origin));
      }
      out += "</table>\n";
    }
    if (!p.notes.empty()) {
      out += "<h3>Assumed</h3><ul>\n";
      for (const std::string& n : p.notes) out += "<li>" + escaped(n) + "\n";
      out += "</ul>\n";
    }
  }
  out += "<h3>Configuration</h3><pre>" + escaped(a.resolved.dump(1)) + "</pre>\n</body></html>\n";
  return out;
}

// Chrome's trace event format: each phase a thread, each kind of kernel one slice of all its calls in a step.
std::string perfetto_trace(const Answer& a) {
  Json events = Json::array();
  int process = 0;
  for (const Point& p : a.points) {
    ++process;
    Json name = p.at;
    events.push_back({{"ph", "M"}, {"pid", process}, {"name", "process_name"}, {"args", {{"name", name.dump()}}}});
    int thread = 0;
    std::string phase;
    double at = 0;
    for (const KernelRow& k : p.kernels) {
      if (k.phase != phase) {
        phase = k.phase;
        at = 0;
        events.push_back({{"ph", "M"}, {"pid", process}, {"tid", ++thread}, {"name", "thread_name"},
                          {"args", {{"name", phase + " step"}}}});
      }
      const double us = k.time.value.value() * 1e6;
      events.push_back({{"ph", "X"}, {"pid", process}, {"tid", thread}, {"ts", at}, {"dur", us}, {"name", k.name},
                        {"cat", k.part},
                        {"args", {{"sizes", k.sizes}, {"calls", k.calls}, {"bound", k.bound}, {"of_peak", k.of_peak},
                                  {"tier", std::string(to_text(k.time.origin))}}}});
      at += us;
    }
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace orrery::cli
