#include "orrery/edge/device/throttling.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kThrottlingPath = "edge/throttling.yaml";
constexpr double kLeastSpeed = 0.01;

}  // namespace

EdgeThrottlings::EdgeThrottlings(const Bundle& bundle) {
  const auto file = bundle.find(kThrottlingPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kThrottlingPath));
  const Node node = parse_yaml(file->content, file->name);
  Fields f;
  f.custom(
      "throttling", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) {
          EdgeThrottling t;
          Fields of;
          of.add("devices", t.devices, "ids").required();
          of.add("least", t.least, "part of the speed of a short load")
              .range(kLeastSpeed, 1)
              .required();
          of.add("source", t.source, "what states it").required();
          of.read(item);
          all_.push_back(std::move(t));
        }
      },
      [] { return nlohmann::ordered_json(); }, "what heat leaves");
  f.read(node);
  std::set<std::string> seen;
  for (const EdgeThrottling& t : all_) {
    for (const std::string& id : t.devices)
      if (!seen.insert(id).second) node.fail(fmt::format("'{}' stands in two entries", id));
  }
}

const EdgeThrottling* EdgeThrottlings::of(std::string_view device) const {
  for (const EdgeThrottling& t : all_)
    if (std::ranges::find(t.devices, device) != t.devices.end()) return &t;
  return nullptr;
}

}  // namespace orrery
