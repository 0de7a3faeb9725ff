// csv, md, html and the Perfetto timeline.
#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/output/output.h"
#include "apps/face/pictures.h"
#include "orrery/scenario/answer/optimum.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string cell(const Json& v) { return v.is_string() ? v.get<std::string>() : v.dump(); }

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::vector<std::string> metric_names(std::span<const Answer> answers) {
  std::vector<std::string> names;
  for (const Answer& a : answers) {
    for (const Point& p : a.points) {
      for (const Metric& m : p.metrics) add_once(names, m.name);
    }
  }
  return names;
}

}  // namespace

std::string escaped_html(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

std::string jsonl(std::span<const Answer> answers, bool breakdown) {
  std::string out;
  for (const Answer& a : answers) {
    for (const Point& p : a.points) {
      Json line = {{"format", kAnswerFormat}, {"scenario", a.scenario}};
      line.update(to_json(p, breakdown));
      out += line.dump() + "\n";
    }
  }
  return out;
}

std::string csv(std::span<const Answer> answers) {
  std::vector<std::string> keys;  // of places
  for (const Answer& a : answers) {
    for (const Point& p : a.points) {
      for (const auto& [key, value] : p.at.items()) add_once(keys, key);
    }
  }
  const std::vector<std::string> names = metric_names(answers);
  const bool limits = std::any_of(answers.begin(), answers.end(), [](const Answer& a) {
    return std::any_of(a.points.begin(), a.points.end(),
                       [](const Point& p) { return p.meets_slo.has_value(); });
  });
  std::string out = "scenario";
  for (const std::string& key : keys) out += "," + key;
  out += limits ? ",fits,reason,meets_slo" : ",fits,reason";
  for (const std::string& n : names) {
    // The chance that a job fits, next to whether it fits.
    out += fmt::format(",{0},{0}_low90,{0}_high90", n == "fits" ? "fits_chance" : n);
  }
  out += "\n";
  for (const Answer& a : answers) {
    for (const Point& p : a.points) {
      out += csv_field(a.scenario);
      for (const std::string& key : keys)
        out += "," + (p.at.contains(key) ? csv_field(cell(p.at[key])) : "");
      out += p.feasibility.fits ? ",yes," : ",no," + csv_field(p.feasibility.reason);
      if (limits) out += !p.meets_slo ? "," : *p.meets_slo ? ",yes" : ",no";
      for (const std::string& n : names) {
        const Metric* m = p.find(n);
        out += m ? fmt::format(",{:.6g},{:.6g},{:.6g}", m->value, m->low90, m->high90) : ",,,";
      }
      out += "\n";
    }
  }
  return out;
}

std::string markdown(const Answer& a, bool breakdown) {
  std::string out = fmt::format("# {}\n", a.scenario);
  for (const Point& p : a.points) {
    out += "\n## " + place(p) + "\n\n";
    if (!p.feasibility.fits) out += misfit(p) + "\n\n";
    out += "| metric | value | unit | 90 % interval | origin |\n|---|---:|---|---|---|\n";
    for (const Metric& own : p.metrics) {
      const Metric m = readable(own);
      out += fmt::format("| {} | {} | {} | {} | {} |\n", m.name, number(m.value), m.unit,
                         interval90(m), to_text(m.origin));
    }
    if (breakdown && !p.kernels.empty()) {
      out +=
          "\n| phase | kernel | calls | time | share | bound | of peak | tier "
          "|\n|---|---|---:|---:|---:|---|---:|---|\n";
      for (const KernelRow& k : p.kernels) {
        out += fmt::format("| {} | {} | {} | {} | {:.1f} % | {} | {} | {} |\n", k.phase, k.shown(),
                           number(k.calls), to_text(k.time.value), k.share * 100, k.bound,
                           k.of_peak > 0 ? fmt::format("{:.0f} %", k.of_peak * 100) : "",
                           to_text(k.time.origin));
      }
    }
    if (breakdown && p.detail) {
      if (const std::string own = p.detail->markdown(p); !own.empty()) out += "\n" + own;
    }
    if (!p.limit.empty()) out += "\n" + p.limit + "\n";
    if (breakdown && !p.notes.empty()) out += "\nassumed:\n\n";
    for (const std::string& note : p.notes)
      if (breakdown) out += "- " + note + "\n";
  }
  if (a.optimum) out += "\n" + describe(*a.optimum, a.points) + "\n";
  return out;
}

namespace {

constexpr std::string_view kPageHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{0}</title>
<style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 64em; padding: 0 1em; color: #1b1f24; background: #fff; }}
table {{ border-collapse: collapse; width: 100%; margin: 0.6em 0 1.4em; }}
th, td {{ text-align: left; padding: 0.2em 0.6em; border-bottom: 1px solid #dde; vertical-align: top; }}
th {{ color: #556; font-weight: 600; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
figure {{ margin: 1em 0; }}
.bar {{ background: #4a78c2; height: 0.7em; display: inline-block; max-width: 100%; }}
.bad {{ color: #a40000; font-weight: 600; }}
.dim {{ color: #667; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #e7eaef; background: #12151a; }}
  th, .dim {{ color: #a3adbc; }}
  th, td {{ border-color: #323945; }}
  pre {{ background: #1a1e25; }}
  .bad {{ color: #ff9d92; }}
}}
summary {{ cursor: pointer; font-weight: 600; padding: 0.2em 0; }}
pre {{ background: #f4f5f8; padding: 0.8em; overflow-x: auto; font-size: 13px; }}
</style></head><body>
)";

std::string bar(double em) {
  return fmt::format("<span class=\"bar\" style=\"width:{:.2f}em\"></span>", em);
}

void add_metrics(std::string& out, const Point& p) {
  out += "<table><tr><th>metric<th class=\"n\">value<th>unit<th>90 % interval<th>origin</tr>\n";
  for (const Metric& own : p.metrics) {
    const Metric m = readable(own);
    out += fmt::format("<tr><td>{}<td class=\"n\">{}<td>{}<td>{}<td class=\"dim\">{}</tr>\n",
                       escaped_html(m.name), number(m.value), escaped_html(m.unit), interval90(m),
                       to_text(m.origin));
  }
  out += "</table>\n";
}

void add_memory(std::string& out, const Point& p) {
  if (p.memory.empty()) return;
  constexpr double kBarOfCapacity = 30;  // em
  out += "<h3>Memory per " + p.memory_of + "</h3><table>\n";
  for (const MemoryRow& m : p.memory) {
    const double share = std::min(m.size / p.memory_capacity, 1.0);
    out += fmt::format("<tr><td>{}<td class=\"n\">{:.3f} GB<td>{}</tr>\n", escaped_html(m.name),
                       m.size.value() / 1e9, bar(share * kBarOfCapacity));
  }
  out += fmt::format("<tr><td>capacity<td class=\"n\">{:.3f} GB<td></tr></table>\n",
                     p.memory_capacity.value() / 1e9);
}

void add_energy(std::string& out, const std::vector<EnergyRow>& rows, const std::string& title) {
  if (rows.empty()) return;
  Joules total;
  for (const EnergyRow& e : rows) total += e.energy;
  constexpr double kBarOfTotal = 30;  // em
  out += fmt::format("<h3>{}</h3><table>\n", escaped_html(title));
  for (const EnergyRow& e : rows) {
    out += fmt::format("<tr><td>{}<td class=\"n\">{:.2f} J<td>{}</tr>\n", escaped_html(e.name),
                       e.energy.value(), bar(e.energy / total * kBarOfTotal));
  }
  out += fmt::format("<tr><td>total<td class=\"n\">{:.2f} J<td></tr></table>\n", total.value());
}

void add_kernels(std::string& out, const Point& p) {
  if (p.kernels.empty()) return;
  constexpr double kBarOfStep = 8;  // em
  out +=
      "<h3>Kernels of a step</h3><table><tr><th>phase<th>kernel<th class=\"n\">calls<th "
      "class=\"n\">time"
      "<th class=\"n\">share<th><th>bound<th class=\"n\">of peak<th>tier</tr>\n";
  for (const KernelRow& k : p.kernels) {
    out += fmt::format(
        "<tr><td>{}<td>{}<br><span class=\"dim\">{}</span><td class=\"n\">{}<td class=\"n\">{}<td "
        "class=\"n\">{:.1f} %"
        "<td>{}<td>{}<td class=\"n\">{}<td class=\"dim\">{}</tr>\n",
        k.phase, escaped_html(k.shown()), escaped_html(k.sizes), number(k.calls),
        to_text(k.time.value), k.share * 100, bar(k.share * kBarOfStep), k.bound,
        k.of_peak > 0 ? fmt::format("{:.0f} %", k.of_peak * 100) : "", to_text(k.time.origin));
  }
  out += "</table>\n";
}

void add_point(std::string& out, const Point& p) {
  if (!p.feasibility.fits) out += fmt::format("<p class=\"bad\">{}</p>\n", escaped_html(misfit(p)));
  if (!p.limit.empty()) out += fmt::format("<p>{}</p>\n", escaped_html(p.limit));
  add_metrics(out, p);
  add_memory(out, p);
  add_energy(out, p.energy, "Energy per " + p.energy_of);
  add_energy(out, p.energy_by_kernel, "Energy per " + p.energy_of + ", by kind of kernel");
  add_kernels(out, p);
  if (p.detail) {
    if (const std::string own = p.detail->text(p); !own.empty())
      out += "<div class=\"wide\"><pre>" + escaped_html(own) + "</pre></div>\n";
  }
  if (p.notes.empty()) return;
  out += "<h3>Assumed</h3><ul>\n";
  for (const std::string& n : p.notes) out += "<li>" + escaped_html(n) + "\n";
  out += "</ul>\n";
}

// One line a point of a sweep.
void add_summary(std::string& out, const Answer& a) {
  const std::vector<std::string> names = metric_names({&a, 1});
  out += "<table><tr>";
  for (const auto& [key, value] : a.points[0].at.items()) out += "<th>" + escaped_html(key);
  const std::vector<std::string> shown = {"latency",           "ttft",   "tpot", "e2e",
                                          "output_throughput", "memory", "time"};
  for (const std::string& n : shown) {
    if (std::find(names.begin(), names.end(), n) == names.end()) continue;
    std::string unit;
    for (const Point& p : a.points) {
      if (const Metric* m = p.find(n)) unit = m->unit;
    }
    out += fmt::format("<th class=\"n\">{} {}", escaped_html(n), escaped_html(unit));
  }
  out += "</tr>\n";
  for (const Point& p : a.points) {
    out += "<tr>";
    for (const auto& [key, value] : p.at.items()) out += "<td>" + escaped_html(cell(value));
    for (const std::string& n : shown) {
      if (std::find(names.begin(), names.end(), n) == names.end()) continue;
      const Metric* m = p.find(n);
      out += "<td class=\"n\">" + (m ? number(m->value) : std::string("does not fit"));
    }
    out += "</tr>\n";
  }
  out += "</table>\n";
}

}  // namespace

std::string html(std::span<const Answer> answers) {
  std::string out = fmt::format(fmt::runtime(kPageHead),
                                answers.empty() ? "" : escaped_html(answers[0].scenario));
  for (const Answer& a : answers) {
    out += fmt::format("<h1>{}</h1>\n", escaped_html(a.scenario));
    if (a.resolved.contains("question"))
      out += fmt::format("<p>{}</p>\n", escaped_html(cell(a.resolved["question"])));
    for (const face::Picture& picture : face::pictures_of(a, Catalog()))
      out += fmt::format("<figure>{}</figure>\n", picture.svg);
    const bool sweep = a.points.size() > 1;
    if (sweep) add_summary(out, a);
    for (const Point& p : a.points) {
      const std::string where = escaped_html(place(p));
      out += sweep ? "<details><summary>" + where + "</summary>\n" : "<h2>" + where + "</h2>\n";
      add_point(out, p);
      if (sweep) out += "</details>\n";
    }
    if (!a.resolved.is_null())
      out += "<details><summary>Configuration</summary><pre>" + escaped_html(a.resolved.dump(1)) +
             "</pre></details>\n";
  }
  out +=
      "<p class=\"dim\">TTFT: start of a request to its first token. TPOT: mean time between its "
      "later tokens, the "
      "first excluded. GB = 1e9 bytes. Shares are of the step; of peak: of the data sheet's rate "
      "or bandwidth.</p>\n";
  return out + "</body></html>\n";
}

// Chrome's trace event format: each phase a thread, each kind of kernel one slice of all its calls
// in a step.
std::string perfetto_trace(std::span<const Answer> answers) {
  Json events = Json::array();
  int process = 0;
  for (const Answer& a : answers) {
    for (const Point& p : a.points) {
      ++process;
      events.push_back({{"ph", "M"},
                        {"pid", process},
                        {"name", "process_name"},
                        {"args", {{"name", a.scenario + ": " + place(p)}}}});
      int thread = 0;
      std::string phase;
      double at = 0;
      for (const KernelRow& k : p.kernels) {
        if (k.phase != phase) {
          phase = k.phase;
          at = 0;
          events.push_back({{"ph", "M"},
                            {"pid", process},
                            {"tid", ++thread},
                            {"name", "thread_name"},
                            {"args", {{"name", phase + " step"}}}});
        }
        const double us = k.time.value.value() * 1e6;
        events.push_back({{"ph", "X"},
                          {"pid", process},
                          {"tid", thread},
                          {"ts", at},
                          {"dur", us},
                          {"name", k.shown()},
                          {"cat", k.part},
                          {"args",
                           {{"sizes", k.sizes},
                            {"calls", k.calls},
                            {"bound", k.bound},
                            {"of_peak", k.of_peak},
                            {"tier", std::string(to_text(k.time.origin))}}}});
        at += us;
      }
    }
  }
  return Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n";
}

}  // namespace orrery::cli
