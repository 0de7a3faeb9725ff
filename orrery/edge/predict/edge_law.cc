#include "orrery/edge/predict/edge_law.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

std::vector<double> numbers(const Node& node, std::size_t count) {
  if (!node.is_list() || node.items().size() != count)
    node.fail(fmt::format("expected a list of {} numbers", count));
  std::vector<double> out;
  for (const Node& item : node.items()) out.push_back(item.as_double());
  return out;
}

std::string list_text(const Eigen::VectorXd& values) {
  std::string text;
  for (const double v : values) text += fmt::format("{}{:.4f}", text.empty() ? "" : ", ", v);
  return "[" + text + "]";
}

// A symmetric matrix as its lower triangle, a list for each row.
Eigen::MatrixXd triangle(const Node& node, std::size_t size) {
  if (node.items().size() != size) node.fail(fmt::format("expected {} rows", size));
  Eigen::MatrixXd m(size, size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto row = numbers(node.items()[i], i + 1);
    for (std::size_t k = 0; k <= i; ++k)
      m(Eigen::Index(i), Eigen::Index(k)) = m(Eigen::Index(k), Eigen::Index(i)) = row[k];
  }
  return m;
}

std::string triangle_text(const char* name, const Eigen::MatrixXd& m) {
  if (m.size() == 0) return fmt::format("{}: []\n", name);
  std::string text = fmt::format("{}:\n", name);
  for (Eigen::Index i = 0; i < m.rows(); ++i)
    text += fmt::format("  - {}\n", list_text(m.row(i).head(i + 1).transpose()));
  return text;
}

EdgeDesign read_design(const Node& node) {
  EdgeDesign d;
  d.name = node.at("name").as_string();
  d.devices = static_cast<int>(node.at("devices").as_int());
  const auto values = numbers(node.at("of"), kEdgeWorkKinds);
  d.beyond = Eigen::Map<const Eigen::VectorXd>(values.data(), kEdgeWorkKinds);
  return d;
}

}  // namespace

EdgeCosts EdgeLaw::costs(const EdgeFacts& of) const {
  Eigen::VectorXd at = Eigen::VectorXd::Zero(lines.rows());
  at[0] = 1;
  for (const EdgeFact& f : of.numbers) {
    const auto found = std::find(facts.begin(), facts.end(), f.name);
    if (found != facts.end()) at[found - facts.begin()] = f.value;
  }
  constexpr auto kKinds = static_cast<Eigen::Index>(kEdgeWorkKinds);
  const auto own = static_cast<Eigen::Index>(networks.size());
  EdgeCosts c{Eigen::VectorXd::Zero(kKinds + own),
              Eigen::MatrixXd::Zero(kKinds + own, kKinds + own), 0};
  c.mean.head(kKinds) = lines.transpose() * at;
  c.covariance.topLeftCorner(kKinds, kKinds) = covariance;
  if (own > 0) {
    c.covariance.bottomRightCorner(own, own) = deviations;
    c.unknown = deviations.trace() / double(own);
  }
  if (designs.empty()) return c;
  const auto design = std::find_if(designs.begin(), designs.end(),
                                   [&](const EdgeDesign& d) { return d.name == of.design; });
  const int devices = design == designs.end() ? 0 : design->devices;
  if (devices > 0) c.mean.head(kKinds) += design->beyond;
  // A design is known as well as the mean of its devices and one more, that of all designs, is.
  c.covariance.topLeftCorner(kKinds, kKinds) += design_covariance / (1.0 + devices);
  return c;
}

int EdgeLaw::deviation_of(std::string_view network) const {
  const auto found = std::find(networks.begin(), networks.end(), network);
  return found == networks.end() ? kNoDeviation : static_cast<int>(found - networks.begin());
}

EdgeLaw read_edge_law(const Bundle& bundle, const std::string& name) {
  const std::string path = fmt::format("edge/laws/{}.yaml", name);
  const auto file = bundle.find(path);
  if (!file) throw InputError(fmt::format("catalog/{}: no such law of latency", path));
  EdgeLaw law;
  Fields f;
  f.add("recipe", law.recipe, "what was fitted").required();
  f.add("residual", law.residual, "what a network differs by").range(1e-3, 2).required();
  const auto none = [] { return nlohmann::ordered_json(); };
  f.custom(
      "lines", Field::Type::kList,
      [&law](const Node& node) {
        law.lines.resize(static_cast<Eigen::Index>(node.items().size()), kEdgeWorkKinds);
        Eigen::Index row = 0;
        for (const Node& item : node.items()) {
          law.facts.push_back(item.at("fact").as_string());
          const auto values = numbers(item.at("of"), kEdgeWorkKinds);
          for (Eigen::Index k = 0; k < law.lines.cols(); ++k) law.lines(row, k) = values[index(k)];
          ++row;
        }
      },
      none, "slopes of the logarithms of the costs, by fact");
  const auto list = [&](const char* name, const char* about, auto read) {
    f.custom(name, Field::Type::kList, read, none, about);
  };
  list("covariance", "of the logarithms of the costs, its lower triangle",
       [&](const Node& node) { law.covariance = triangle(node, kEdgeWorkKinds); });
  list("designs", "what processors of one design cost beyond the lines", [&](const Node& node) {
    for (const Node& item : node.items()) law.designs.push_back(read_design(item));
  });
  list("design_covariance", "of the designs, as covariance", [&](const Node& node) {
    if (!node.items().empty()) law.design_covariance = triangle(node, kEdgeWorkKinds);
  });
  list("networks", "whose deviations are known", [&](const Node& node) {
    for (const Node& item : node.items()) law.networks.push_back(item.as_string());
  });
  list("deviations", "of the networks, their covariance",
       [&](const Node& node) { law.deviations = triangle(node, node.items().size()); });
  const Node node = parse_yaml(file->content, file->name);
  f.read(node);
  if (law.facts.empty() || !law.facts.front().empty())
    node.fail("expected the first line to be the constant one, of the fact ''");
  if (law.covariance.size() == 0) node.fail("expected a covariance");
  if (!law.designs.empty() && law.design_covariance.size() == 0)
    node.fail("expected a covariance of the designs");
  if (law.deviations.rows() != Eigen::Index(law.networks.size()))
    node.fail("expected a deviation of each network");
  return law;
}

std::string edge_law_text(const EdgeLaw& law) {
  std::string text = fmt::format(
      "# Made by `orrery fit edge`: do not edit. A law of latency "
      "(orrery/edge/predict/edge_law.h).\n"
      "recipe: \"{}\"\nresidual: {:.4f}\n# Kinds: ",
      law.recipe, law.residual);
  for (const EdgeWorkKind& k : edge_work_kinds()) text += fmt::format("{} ", k.name);
  text += "\nlines:\n";
  for (std::size_t i = 0; i < law.facts.size(); ++i)
    text += fmt::format("  - {{fact: \"{}\", of: {}}}\n", law.facts[i],
                        list_text(law.lines.row(Eigen::Index(i)).transpose()));
  text += triangle_text("covariance", law.covariance) + "designs:\n";
  for (const EdgeDesign& d : law.designs)
    text += fmt::format("  - {{name: \"{}\", devices: {}, of: {}}}\n", d.name, d.devices,
                        list_text(d.beyond));
  if (law.designs.empty()) text.replace(text.size() - 1, 1, " []\n");
  return text + triangle_text("design_covariance", law.design_covariance) +
         fmt::format("networks: [{}]\n", fmt::join(law.networks, ", ")) +
         triangle_text("deviations", law.deviations);
}

}  // namespace orrery
