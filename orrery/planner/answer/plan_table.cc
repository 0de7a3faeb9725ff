#include "orrery/planner/answer/plan_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "orrery/scenario/answer/answer_text.h"

namespace orrery {
namespace {

// The metrics that the paragraph of a plan shows, where it has them. A service is simulated for
// some minutes only: its money and energy are shown for an hour, a token, or a request.
constexpr const char* kOfService[] = {"cost_per_hour",
                                      "cost_per_million_output_tokens",
                                      "chance",
                                      "headroom",
                                      "ttft_p50",
                                      "ttft_p99",
                                      "tpot_p50",
                                      "tpot_p99",
                                      "e2e_p99",
                                      "slo_attainment",
                                      "output_throughput",
                                      "running",
                                      "kv_use",
                                      "power",
                                      "energy_per_token"};
constexpr const char* kOfRun[] = {
    "in_time", "time_to_train", "cost",    "energy",        "gpu_hours", "iteration_time",  "mfu",
    "memory",  "fits",          "goodput", "cost_per_hour", "power",     "energy_per_token"};

// The columns of the table of plans on their page.
constexpr const char* kColumnsOfService[] = {"cost_per_hour",   "chance",   "headroom",
                                             "ttft_p99",        "tpot_p99", "output_throughput",
                                             "energy_per_token"};
constexpr const char* kColumnsOfRun[] = {"time_to_train", "cost", "in_time",
                                         "fits",          "mfu",  "energy"};

bool is_run(const Point& p) { return p.find("time_to_train") != nullptr; }

// Latencies of a service at the percentiles of its limits, beside those that are always shown.
std::vector<std::string> held_latencies(const Point& p) {
  std::vector<std::string> out;
  for (const char* name : {"ttft", "tpot", "e2e"}) {
    for (const Metric& m : p.metrics) {
      if (!m.percentile) continue;
      const double at = *m.percentile;
      const bool usual = at == 50 || at == 90 || at == 99;
      if (!usual && m.name == percentile_name(name, at)) out.push_back(m.name);
    }
  }
  return out;
}

std::vector<std::string> shown_of(const Point& p) {
  if (is_run(p)) return {std::begin(kOfRun), std::end(kOfRun)};
  std::vector<std::string> out(std::begin(kOfService), std::end(kOfService));
  const std::vector<std::string> more = held_latencies(p);
  out.insert(std::find(out.begin(), out.end(), "slo_attainment"), more.begin(), more.end());
  return out;
}

// The fleet or layout of a plan, which its first note says.
std::string name_of(const Point& p) {
  constexpr std::string_view kLead = "plan: ";
  const bool named = !p.notes.empty() && p.notes.front().starts_with(kLead);
  return named ? p.notes.front().substr(kLead.size()) : place(p);
}

// The plans against each other, one line each.
std::string plans_markdown(const Answer& answer) {
  const bool run = is_run(answer.points.front());
  const auto columns = run ? std::span<const char* const>(kColumnsOfRun) : kColumnsOfService;
  std::string head = "| plan |", rule = "|---|", rows;
  for (const char* name : columns) {
    const Metric* m = answer.points.front().find(name);
    if (m == nullptr) continue;
    head += fmt::format(" {} [{}] |", name, m->unit);
    rule += "---:|";
  }
  std::size_t number_of_plan = 0;
  for (const Point& p : answer.points) {
    rows += fmt::format("| {}. {} |", ++number_of_plan, name_of(p));
    for (const char* name : columns) {
      if (answer.points.front().find(name) == nullptr) continue;
      const Metric* m = p.find(name);
      rows += m == nullptr ? " |" : fmt::format(" {} |", number(m->value));
    }
    rows += '\n';
  }
  return head + '\n' + rule + '\n' + rows;
}

}  // namespace

std::string plan_table(const Answer& answer) {
  std::string out;
  std::size_t number_of_plan = 0;
  std::set<std::string> said;  // notes of the first plan
  for (const Point& p : answer.points) {
    out += wrapped(fmt::format("{}. {}", ++number_of_plan, place(p)), 80, "");
    for (const std::string& name : shown_of(p)) {
      const Metric* m = p.find(name);
      if (m == nullptr) continue;
      out +=
          fmt::format("  {:<32} {:>10} {:<12} {}", name, number(m->value), m->unit, interval90(*m));
      out.erase(out.find_last_not_of(' ') + 1);
      out += '\n';
    }
    for (const std::string& note : p.notes) {
      if (number_of_plan > 1 && said.count(note) > 0) continue;
      if (number_of_plan == 1) said.insert(note);
      std::string lines = wrapped(note, 80, "    ");
      out += lines.replace(2, 1, "-");
    }
  }
  return out;
}

std::string plan_page(const Answer& answer) {
  const Point& best = answer.points.front();
  std::string out =
      fmt::format("# {}\n\n{}\n## Plan 1\n\n| | | 90 % interval | origin |\n|---|---|---|---|\n",
                  answer.scenario, plans_markdown(answer));
  for (const std::string& name : shown_of(best)) {
    const Metric* own = best.find(name);
    if (own == nullptr) continue;
    const Metric m = readable(*own);
    out += fmt::format("| {} | {} {} | {} | {} |\n", m.name, number(m.value), m.unit, interval90(m),
                       to_text(m.origin));
  }
  out += '\n';
  for (const std::string& note : best.notes) out += "- " + note + "\n";
  return out;
}

}  // namespace orrery
