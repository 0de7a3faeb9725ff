#include "apps/cli/facts/edge_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/llm/llm_chip.h"
#include "orrery/edge/small/small_processor.h"

namespace orrery::cli {
namespace {

using Json = nlohmann::ordered_json;

// The texts of a list one after the other, cut to `columns`.
std::string cut_list(const Json& texts, std::size_t columns) {
  std::string out;
  for (const Json& t : texts) out += (out.empty() ? "" : ", ") + t.get<std::string>();
  return out.size() > columns ? out.substr(0, columns - 3) + "..." : out;
}

}  // namespace

std::vector<Json> edge_device_facts(const Bundle& bundle) {
  std::vector<Json> rows;
  const EdgeDevices devices(bundle);
  for (const EdgeDevice& d : devices.all()) {
    Json cores = Json::array(), gpus = Json::array();
    for (const EdgeCluster& c : d.clusters)
      cores.push_back(fmt::format("{} x {} {:.4g} GHz", c.cores, c.core, c.clock.value() / 1e9));
    for (const EdgeGpu& g : d.gpus) gpus.push_back(g.row);
    rows.push_back({{"id", d.id}, {"name", d.row}, {"cores", cores}, {"gpus", gpus}});
  }
  const SmallProcessors small(bundle);
  for (const SmallProcessor& p : small.all()) {
    rows.push_back(
        {{"id", p.id},
         {"name", p.names.front()},
         {"cores", {fmt::format("1 x {} {:.4g} MHz", p.core.name, p.clock.value() / 1e6)}},
         {"gpus", {fmt::format("{}, int8", p.core.kind)}}});
  }
  const LlmChips chips(bundle);
  for (const LlmChip& c : chips.all()) {
    const std::string family = fmt::format("LLMs: {}", c.family->name);
    const std::string memory =
        fmt::format("{:.4g} GiB, {:.4g} GB/s", c.memory / gibibytes(1), c.bandwidth.value() / 1e9);
    const auto same =
        std::find_if(rows.begin(), rows.end(), [&](const Json& r) { return r["id"] == c.id; });
    if (same != rows.end()) {
      (*same)["memory"] = memory;
    } else {
      rows.push_back({{"id", c.id},
                      {"name", c.names.front()},
                      {"cores", {family}},
                      {"gpus", {memory}},
                      {"memory", memory}});
    }
  }
  return rows;
}

std::vector<Json> edge_network_facts(const Bundle& bundle) {
  std::vector<Json> rows;
  for (const std::string& name : edge_model_names(bundle)) {
    const EdgeGraph g = edge_model(bundle, name);
    rows.push_back({{"id", name},
                    {"gmac", double(g.macs()) / 1e9},
                    {"weights", g.weights()},
                    {"nodes", g.nodes.size()}});
  }
  return rows;
}

std::string edge_device_line(const Json& d) {
  constexpr std::size_t kId = 22, kCores = 34, kGpus = 21;
  return fmt::format("{:<{}} {:<{}} {}", d["id"].get<std::string>(), kId,
                     cut_list(d["cores"], kCores), kCores, cut_list(d["gpus"], kGpus));
}

std::string edge_network_line(const Json& n) {
  return fmt::format("{:<22} {:>8.3f} {:>11.2f} {:>7}", n["id"].get<std::string>(),
                     n["gmac"].get<double>(), n["weights"].get<double>() / 1e6,
                     n["nodes"].get<std::size_t>());
}

}  // namespace orrery::cli
