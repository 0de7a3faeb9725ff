#include "orrery/planner/space/board_settings.h"

#include <fmt/format.h>

#include <utility>

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

void check_board_settings(const PlanChoice& plan, const Catalog& catalog) {
  if (plan.power_limits.empty() && plan.clocks.empty()) return;
  std::vector<Gpu> gpus;
  for (const std::string& text : plan.gpu) gpus.push_back(catalog.gpu(GpuStock::parse(text).gpu));
  // `value`: in the base unit. `range`: of a GPU, its lowest and highest value.
  const auto check = [&](const char* key, Dimension dimension, const char* unit, double scale,
                         const std::vector<std::string>& texts, auto range) {
    for (const std::string& text : texts) {
      const double value = parse_quantity(dimension, text).value_or(0);
      std::string ranges;
      bool settable = value <= 0;  // no such quantity: board_settings says so
      for (const Gpu& gpu : gpus) {
        const auto [low, high] = range(gpu);
        settable = settable || (value >= low && value <= high);
        ranges += fmt::format("{}{} from {:.4g} to {:.4g} {}", ranges.empty() ? "" : ", ", gpu.id,
                              low / scale, high / scale, unit);
      }
      if (!settable)
        throw InputError(fmt::format("{} {}: no GPU of the plan takes it: {}", key, text, ranges));
    }
  };
  check("plan.power_limits", Dimension::kPower, "W", 1, plan.power_limits, [](const Gpu& gpu) {
    return std::pair{gpu.least_power_limit.value_or(Watts(0)).value(),
                     gpu.power.value_or(Watts(0)).value()};
  });
  check("plan.clocks", Dimension::kFrequency, "MHz", 1e6, plan.clocks, [](const Gpu& gpu) {
    const double boost = gpu.boost_clock.value_or(Hertz(0)).value();
    return std::pair{boost * kLowestClock, boost};
  });
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
