#include "orrery/planner/space/board_settings.h"

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

// The data sheet's limit, and those of the plan that the board can be set to.
std::vector<std::optional<Watts>> listed_limits(const PlanChoice& plan, const Gpu& gpu) {
  std::vector<std::optional<Watts>> out = {std::nullopt};
  for (const std::string& text : plan.power_limits) {
    const auto watts = parse_quantity(Dimension::kPower, text);
    if (!watts || *watts <= 0)
      throw InputError(fmt::format("plan.power_limits {}: expected a power, as 500 W", text));
    const Watts limit(*watts);
    const bool settable = gpu.power && limit < *gpu.power &&
                          (!gpu.least_power_limit || limit >= *gpu.least_power_limit);
    if (settable) out.emplace_back(limit);
  }
  return out;
}

// The boost clock, and the clocks of the plan that the board can be locked to.
std::vector<std::optional<Hertz>> listed_clocks(const PlanChoice& plan, const Gpu& gpu) {
  std::vector<std::optional<Hertz>> out = {std::nullopt};
  for (const std::string& text : plan.clocks) {
    const auto hertz = parse_quantity(Dimension::kFrequency, text);
    if (!hertz || *hertz <= 0)
      throw InputError(fmt::format("plan.clocks {}: expected a clock, as 1410 MHz", text));
    const Hertz clock(*hertz);
    if (gpu.boost_clock && clock < *gpu.boost_clock && clock >= *gpu.boost_clock * kLowestClock)
      out.emplace_back(clock);
  }
  return out;
}

}  // namespace

std::vector<PowerKnobs> board_settings(const PlanChoice& plan, const Gpu& gpu) {
  std::vector<PowerKnobs> out;
  const auto clocks = listed_clocks(plan, gpu);
  for (const std::optional<Watts>& limit : listed_limits(plan, gpu))
    for (const std::optional<Hertz>& clock : clocks) out.push_back({limit, clock});
  return out;
}

std::string to_text(const PowerKnobs& boards) {
  return (boards.limit ? fmt::format(", {:.4g} W", boards.limit->value()) : "") +
         (boards.clock ? fmt::format(", {:.4g} MHz", boards.clock->value() / 1e6) : "");
}

std::string board_commands(const PowerKnobs& boards) {
  std::string out;
  if (boards.limit)
    out += fmt::format("# On each machine first: nvidia-smi -pl {:.0f}\n", boards.limit->value());
  if (boards.clock)
    out += fmt::format("# On each machine first: nvidia-smi -lgc 0,{:.0f}\n",
                       boards.clock->value() / 1e6);
  return out;
}

}  // namespace orrery
