#include "orrery/validate/questions/node_name.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/segments.h"

namespace orrery {
namespace {

// The facts of a node without its names.
std::string resolved(NodeType node) {
  node.id.clear();
  Fields fields;
  declare(fields, node);
  nlohmann::ordered_json facts = fields.json();
  for (const char* name : {"name", "aliases", "sources"}) facts.erase(name);
  return facts.dump();
}

}  // namespace

std::optional<std::string> node_name(const Catalog& catalog, const Gpu& gpu, const NodeType& node,
                                     int job) {
  const NodeNetwork& network = node.network;
  for (const std::string& name : {std::string(), node.id, network.fabric,
                                  fmt::format("{}x{}", network.ports, network.fabric)}) {
    try {
      NodeType its = node_of(catalog, gpu, name);
      if (job > 0) its = in_segments(std::move(its), job);
      if (resolved(std::move(its)) == resolved(node)) return name;
    } catch (const InputError&) {  // no node or network of that name goes with the GPU
    }
  }
  return std::nullopt;
}

}  // namespace orrery
