#include "apps/cli/output/output_plan.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"

namespace orrery::cli {
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

bool is_run(const Point& p) { return p.find("time_to_train") != nullptr; }

}  // namespace

std::string plan_table(const Answer& answer) {
  std::string out;
  std::size_t number_of_plan = 0;
  std::set<std::string> said;  // notes of the first plan
  for (const Point& p : answer.points) {
    out += wrapped(fmt::format("{}. {}", ++number_of_plan, place(p)), 80, "");
    const auto shown = is_run(p) ? std::span<const char* const>(kOfRun) : kOfService;
    for (const char* name : shown) {
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

}  // namespace orrery::cli
