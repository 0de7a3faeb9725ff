#include "orrery/planner/space/space.h"

#include <algorithm>

#include "orrery/base/error.h"
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
    for (const std::string& engine : plan.engines) {
      for (const std::string& format : plan.formats) {
        for (const std::int64_t tp : degrees(plan.tp, std::min(node, most))) {
          for (const std::int64_t pp : degrees(plan.pp, most / tp)) {
            EngineOption option{stock, engine, format == "checkpoint" ? "" : format,
                                static_cast<int>(tp), static_cast<int>(pp)};
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
          const auto ranks = static_cast<int>(n);
          out.push_back({stock, engine, format == "checkpoint" ? "" : format, 1, 1, ranks, ranks});
        }
      }
    }
  }
  if (out.empty()) throw InputError("plan: its lists name no engine");
  return out;
}

}  // namespace orrery
