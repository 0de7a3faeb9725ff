#include "apps/cli/output/output_suite.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/cli/flags/document.h"
#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"
#include "apps/face/plot.h"

namespace orrery::cli {
namespace {

using Status = SuiteOutcome::Status;

// "6.94 ms", or a list of such values.
std::string value_text(const SuiteFigure& f) {
  std::string out;
  for (const SuiteCell& c : f.cells) {
    out += (out.empty() ? "" : ", ");
    if (!c.at.empty()) out += c.at + ": ";
    out += number(c.value);
  }
  return f.unit.empty() ? out : out + " " + f.unit;
}

std::string interval_text(const SuiteFigure& f) {
  std::string out;
  for (const SuiteCell& c : f.cells) {
    if (!(c.low90 < c.high90)) continue;
    out += fmt::format("{}[{}, {}]", out.empty() ? "" : " ", number(c.low90), number(c.high90));
  }
  return out;
}

std::string check_mark(Status s) {
  return s == Status::kPass ? "ok" : s == Status::kFail ? "FAILS" : "NO ANSWER";
}

// A line for each single value that has an interval: the interval in percent of the value.
std::string intervals_picture(const std::vector<SuiteOutcome>& outcomes) {
  struct Line {
    const SuiteOutcome* of;
    std::string name, text;
    double low, high;
  };
  std::vector<Line> lines;
  for (const SuiteOutcome& o : outcomes) {
    for (const auto& m : o.metrics) {
      if (!m.figure || m.figure->cells.size() != 1) continue;
      const SuiteCell& c = m.figure->cells.front();
      if (!(c.low90 < c.high90) || !(c.value > 0)) continue;
      lines.push_back(
          {&o, fmt::format("{} {}", o.id, m.name),
           fmt::format("{}: {} {}", m.name, value_text(*m.figure), interval_text(*m.figure)),
           100 * c.low90 / c.value, 100 * c.high90 / c.value});
    }
  }
  if (lines.empty()) return "";
  std::reverse(lines.begin(), lines.end());
  face::PlotAxis y{"", false, {}};
  for (const Line& line : lines) y.names.push_back(line.name);
  face::Plot plot("90 % intervals, in percent of the value", {"%", false, {}}, y);
  constexpr int kGood = 2, kBad = 1;  // series
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool good = lines[i].of->status == Status::kPass;
    plot.box(good ? kGood : kBad, lines[i].low, lines[i].high, static_cast<double>(i), 0.26,
             lines[i].text);
    plot.key(good ? kGood : kBad, good ? "the question passes" : "it does not");
  }
  return plot.svg();
}

}  // namespace

std::string suite_summary(const std::vector<SuiteOutcome>& outcomes) {
  const auto with = [&](Status s) {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [s](const SuiteOutcome& o) { return o.status == s; });
  };
  double seconds = 0;
  for (const SuiteOutcome& o : outcomes) seconds += o.seconds;
  return fmt::format("{} questions: {} pass, {} fail, {} unanswered; {:.2f} s\n", outcomes.size(),
                     with(Status::kPass), with(Status::kFail), with(Status::kUnanswered), seconds);
}

std::string suite_table(const std::vector<SuiteOutcome>& outcomes, bool colour) {
  std::string out;
  for (const SuiteOutcome& o : outcomes) {
    const bool good = o.status == Status::kPass;
    const std::string status(to_text(o.status));
    out += fmt::format("{:<8} {}  {:.3f} s\n", o.id,
                       colour ? fmt::format("\x1b[{}m{}\x1b[0m", good ? 32 : 31, status) : status,
                       o.seconds);
    for (const auto& m : o.metrics) {
      std::string line = m.name + ": " + (m.figure ? value_text(*m.figure) : m.why);
      if (m.figure) {
        // The intervals of the items of a list are printed by the other formats only.
        const std::string interval = interval_text(*m.figure);
        if (m.figure->cells.size() == 1 && !interval.empty()) line += " " + interval;
        line += fmt::format(" ({})", to_text(m.figure->origin));
      }
      out += wrapped(line, 80, "    ");
    }
    for (const auto& c : o.checks) {
      out += wrapped(fmt::format("{} - {} ({})", check_mark(c.status), c.claim, c.seen), 80, "  ");
    }
  }
  return out + suite_summary(outcomes);
}

std::string suite_markdown(const std::vector<SuiteOutcome>& outcomes) {
  std::string out =
      "| question | status | metric or check | answer | 90 % interval | tier | s |\n"
      "|---|---|---|---|---|---|---|\n";
  for (const SuiteOutcome& o : outcomes) {
    bool first = true;
    const auto row = [&](const std::string& name, const std::string& answer,
                         const std::string& interval, const std::string& tier) {
      const std::string cells[] = {first ? o.id : "",
                                   first ? std::string(to_text(o.status)) : "",
                                   name,
                                   answer,
                                   interval,
                                   tier,
                                   first ? fmt::format("{:.3f}", o.seconds) : ""};
      out += markdown_row(cells);
      first = false;
    };
    for (const auto& m : o.metrics) {
      if (m.figure) {
        row(m.name, value_text(*m.figure), interval_text(*m.figure),
            std::string(to_text(m.figure->origin)));
      } else {
        row(m.name, m.why, "", "");
      }
    }
    for (const auto& c : o.checks)
      row(fmt::format("{}: {}", check_mark(c.status), c.claim), c.seen, "", "");
  }
  return out + "\n" + suite_summary(outcomes);
}

std::string suite_html(const std::vector<Suite>& suites,
                       const std::vector<SuiteOutcome>& outcomes) {
  const auto question_of = [&](const SuiteOutcome& o) -> const SuiteQuestion* {
    for (const Suite& s : suites) {
      for (const SuiteQuestion& q : s.questions) {
        if (s.id == o.suite && q.id == o.id) return &q;
      }
    }
    return nullptr;
  };
  std::string out = fmt::format(
      "<h1>Suites</h1><p>{}</p>{}<div class=wide><table><tr><th>question<th>answer, 90 % interval, "
      "tier<th>checks<th>s</tr>\n",
      escaped_html(suite_summary(outcomes)), intervals_picture(outcomes));
  for (const SuiteOutcome& o : outcomes) {
    const SuiteQuestion* q = question_of(o);
    const std::string status(to_text(o.status));
    out += fmt::format("<tr><td><b>{}</b> <span class={}>{}</span>", escaped_html(o.id), status,
                       status);
    if (q != nullptr) {
      out += "<br>" + escaped_html(q->question);
      if (!q->erratum.empty())
        out += "<br><small>Erratum: " + escaped_html(q->erratum) + "</small>";
    }
    out += "<td>";
    for (const auto& m : o.metrics) {
      out += escaped_html(m.name + ": " + (m.figure ? value_text(*m.figure) : m.why));
      if (m.figure) {
        out += fmt::format(" <small>{} {}</small>", escaped_html(interval_text(*m.figure)),
                           to_text(m.figure->origin));
      }
      out += "<br>";
    }
    out += "<td>";
    for (const auto& c : o.checks) {
      out += fmt::format("<span class={}>{}</span> {} <small>{}</small><br>", to_text(c.status),
                         check_mark(c.status), escaped_html(c.claim), escaped_html(c.seen));
    }
    out += fmt::format("<td>{:.3f}</tr>\n", o.seconds);
  }
  return html_page("Suites", out + "</table></div>\n");
}

}  // namespace orrery::cli
