// Facts of `orrery list devices` and `orrery list networks`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"

namespace orrery::cli {

// Phones, boards and computers: {"id", "cores": ["4 x cortex-a76 2.4 GHz"], "gpus": ["Mali-G610"]}.
std::vector<nlohmann::ordered_json> edge_device_facts(const Bundle& bundle);
// Bundled networks: {"id", "gmac", "weights", "nodes"}.
std::vector<nlohmann::ordered_json> edge_network_facts(const Bundle& bundle);

// The line of a device or of a network, within 80 columns.
std::string edge_device_line(const nlohmann::ordered_json& device);
std::string edge_network_line(const nlohmann::ordered_json& network);

}  // namespace orrery::cli
