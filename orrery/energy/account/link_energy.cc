#include "orrery/energy/account/link_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kLinksPath = "plant/links.yaml";
constexpr double kPicojoule = 1e-12;

LinkPart read_part(const Node& node) {
  LinkPart part;
  Fields f;
  f.add("name", part.name, "the part").required();
  f.add("pj_a_bit", part.pj_a_bit, "energy of a bit on its way over the fabric, in pJ")
      .range(0, 1e6);
  f.add("error", part.error, "deviation of its logarithm").range(0, 2);
  f.add("source", part.source, "where it can be read, or where it was looked for").required();
  f.add("fabrics", part.fabrics, "ids of the fabrics that have it").required();
  f.read(node);
  return part;
}

}  // namespace

LinkEnergies::LinkEnergies(const Bundle& bundle) {
  const auto file = bundle.find(kLinksPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kLinksPath));
  Fields fields;
  fields
      .custom(
          "parts", Field::Type::kList,
          [this](const Node& list) {
            for (const Node& node : list.items()) parts_.push_back(read_part(node));
          },
          [] { return nlohmann::ordered_json(nullptr); }, "parts of links")
      .required();
  fields.read(parse_yaml(file->content, file->name));
}

LinkWay LinkEnergies::way(std::string_view fabric) const {
  LinkWay way;
  double sum = 0, square = 0;
  for (const LinkPart& part : parts_) {
    if (std::find(part.fabrics.begin(), part.fabrics.end(), fabric) == part.fabrics.end()) continue;
    if (!part.pj_a_bit) {
      way.without.push_back(part.name);
      continue;
    }
    sum += *part.pj_a_bit;
    square += std::pow(*part.pj_a_bit * part.error, 2);
  }
  if (sum > 0)
    way.bit = {Joules(sum * kPicojoule), std::sqrt(square) / sum, 0, Origin::kTransferred};
  return way;
}

}  // namespace orrery
