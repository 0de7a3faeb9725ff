#include "orrery/planner/space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "orrery/base/error.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/hardware/cluster.h"
#include "orrery/model/architecture/mixers.h"

namespace orrery {
namespace {

bool has_routed_experts(const Architecture& model) {
  const auto& specs = model.layers.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const LayerSpec& s) { return std::holds_alternative<MoeMlp>(s.mlp); });
}

// `wanted`, or the powers of two up to `most`.
std::vector<std::int64_t> degrees(const std::vector<std::int64_t>& wanted, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (const std::int64_t n : wanted)
    if (n <= most) out.push_back(n);
  if (wanted.empty())
    for (std::int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// The layouts of an engine, of at most `most` GPUs in nodes of `node`.
void add_layouts(const PlanChoice& plan, std::int64_t node, std::int64_t most, bool experts,
                 const EngineOption& engine, std::vector<EngineOption>& out) {
  for (const std::int64_t tp : degrees(plan.tp, std::min(node, most))) {
    for (const std::int64_t pp : degrees(plan.pp, most / tp)) {
      EngineOption option = engine;
      option.tp = static_cast<int>(tp), option.pp = static_cast<int>(pp);
      out.push_back(option);
      if (!experts || tp == 1) continue;
      option.ep = option.tp;
      out.push_back(option);
      if (!plan.dp.empty()) continue;
      option.dp = option.tp, option.tp = 1;
      out.push_back(option);
    }
  }
  for (const std::int64_t n : plan.dp) {
    if (!experts || n > most) continue;
    EngineOption option = engine;
    option.dp = option.ep = static_cast<int>(n);
    out.push_back(option);
  }
}

// The data sheet's limit, and those of the question that the board can be set to.
std::vector<std::optional<Watts>> power_limits(const PlanChoice& plan, const Gpu& gpu) {
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

// The boost clock, and the clocks of the question that the board can be locked to.
std::vector<std::optional<Hertz>> clocks_of(const PlanChoice& plan, const Gpu& gpu) {
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

std::vector<EngineOption> engine_options(const Scenario& question, const Catalog& catalog,
                                         const Architecture& model) {
  const PlanChoice& plan = question.as<PlanQuestion>().choice;
  const bool experts = has_routed_experts(model);
  std::vector<EngineOption> out;
  for (const std::string& text : plan.gpu) {
    GpuStock stock = GpuStock::parse(text);
    const Gpu gpu = catalog.gpu(stock.gpu);
    if (stock.gpu.find('/') == std::string::npos) stock.gpu = gpu.id;
    const std::int64_t node = node_of(catalog, gpu, "").gpu_count;
    std::int64_t most = plan.engine_gpus > 0 ? plan.engine_gpus : node;
    if (stock.gpus > 0) most = std::min(most, stock.gpus);
    if (plan.gpus > 0) most = std::min(most, plan.gpus);
    std::vector<EngineOption> layouts;
    for (const std::string& engine : plan.engines) {
      for (const std::string& format : plan.formats) {
        EngineOption option{stock, engine, format == "checkpoint" ? "" : format};
        add_layouts(plan, node, most, experts, option, layouts);
      }
    }
    const auto clocks = clocks_of(plan, gpu);
    for (const std::optional<Watts>& limit : power_limits(plan, gpu)) {
      for (const std::optional<Hertz>& clock : clocks) {
        for (EngineOption& option : layouts) {
          option.power_limit = limit, option.clock = clock;
          out.push_back(option);
        }
      }
    }
  }
  if (out.empty()) throw InputError("plan: its lists name no engine");
  return out;
}

}  // namespace orrery
