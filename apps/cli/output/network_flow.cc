#include "apps/cli/output/network_flow.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/flags/help.h"
#include "apps/cli/output/output.h"

namespace orrery::cli {

bool print_replay(const Answer& answer) {
  if (answer.points.empty() || !answer.points[0].at.contains("trace")) return false;
  fmt::print("{:>6} {:>11} {:>19} {:>13} {:>11}  {}\n", "gpus", "time us", "90 %", "computing us",
             "exposed us", "fidelity");
  for (const Point& p : answer.points) {
    const Metric& time = *p.find("time");
    fmt::print("{:>6} {:>11} {:>19} {:>13} {:>11}  {}\n", p.at["gpus"].get<int>(),
               number(time.value), interval90(time), number(p.find("computing")->value),
               number(p.find("exposed")->value), p.at["fidelity"].get<std::string>());
    for (const std::string& note : p.notes) fmt::print("{}", wrapped(note, 80, "  "));
  }
  return true;
}

}  // namespace orrery::cli
