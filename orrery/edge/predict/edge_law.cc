#include "orrery/edge/predict/edge_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/fit.h"

namespace orrery {
namespace {

constexpr double kMicro = 1e-6;
constexpr double kHuberLimit = 2;  // in kEdgeNoise

Eigen::Map<const Eigen::VectorXd> amounts(const EdgeWork& work) {
  return {work.data(), static_cast<Eigen::Index>(work.size())};
}

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

}  // namespace

EdgeCosts EdgeLaw::costs(std::span<const EdgeFact> of) const {
  Eigen::VectorXd at = Eigen::VectorXd::Zero(lines.rows());
  at[0] = 1;
  for (const EdgeFact& f : of) {
    const auto found = std::find(facts.begin(), facts.end(), f.name);
    if (found != facts.end()) at[found - facts.begin()] = f.value;
  }
  return {lines.transpose() * at, covariance};
}

EdgeCosts calibrated(const EdgeCosts& before, std::span<const MeasuredNetwork> measured) {
  if (measured.empty()) return before;
  const Eigen::Index kinds = before.mean.size();
  const Eigen::MatrixXd stiffness =
      before.covariance.ldlt().solve(Eigen::MatrixXd::Identity(kinds, kinds));
  EdgeCosts out = before;
  Eigen::MatrixXd curvature;
  constexpr int kSteps = 40;
  constexpr double kLongest = 1, kConverged = 1e-6;
  for (int step = 0; step < kSteps; ++step) {
    curvature = stiffness;
    Eigen::VectorXd pull = -stiffness * (out.mean - before.mean);
    for (const MeasuredNetwork& m : measured) {
      const Eigen::VectorXd terms = out.mean.array().exp() * amounts(m.work).array();
      const double sum = terms.sum();
      const Eigen::VectorXd shares = terms / sum;
      const double off = std::log(m.time.value() / (sum * kMicro));
      const double weight = huber_weight(off / kEdgeNoise, kHuberLimit) / (kEdgeNoise * kEdgeNoise);
      curvature += weight * shares * shares.transpose();
      pull += weight * off * shares;
    }
    Eigen::VectorXd move = curvature.ldlt().solve(pull);
    const double longest = move.cwiseAbs().maxCoeff();
    if (longest > kLongest) move *= kLongest / longest;
    out.mean += move;
    if (longest < kConverged) break;
  }
  out.covariance = curvature.ldlt().solve(Eigen::MatrixXd::Identity(kinds, kinds));
  return out;
}

Estimate<Seconds> time_of(const EdgeCosts& costs, const EdgeWork& work, double residual,
                          Origin origin) {
  const Eigen::VectorXd terms = costs.mean.array().exp() * amounts(work).array();
  const double sum = terms.sum();
  if (sum <= 0) return {Seconds(0), 0, 0, origin};
  const Eigen::VectorXd shares = terms / sum;
  const double shared = std::sqrt(std::max(0.0, shares.dot(costs.covariance * shares)));
  return {Seconds(sum * kMicro), shared, residual, origin};
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
          for (Eigen::Index k = 0; k < law.lines.cols(); ++k)
            law.lines(row, k) = values[static_cast<std::size_t>(k)];
          ++row;
        }
      },
      none, "slopes of the logarithms of the costs, by fact");
  f.custom(
      "covariance", Field::Type::kList,
      [&law](const Node& node) {
        if (node.items().size() != kEdgeWorkKinds)
          node.fail(fmt::format("expected {} rows", kEdgeWorkKinds));
        law.covariance.resize(kEdgeWorkKinds, kEdgeWorkKinds);
        for (std::size_t i = 0; i < kEdgeWorkKinds; ++i) {
          const auto row = numbers(node.items()[i], i + 1);
          for (std::size_t k = 0; k <= i; ++k)
            law.covariance(Eigen::Index(i), Eigen::Index(k)) =
                law.covariance(Eigen::Index(k), Eigen::Index(i)) = row[k];
        }
      },
      none, "of the logarithms of the costs, its lower triangle");
  const Node node = parse_yaml(file->content, file->name);
  f.read(node);
  if (law.facts.empty() || !law.facts.front().empty())
    node.fail("expected the first line to be the constant one, of the fact ''");
  if (law.covariance.size() == 0) node.fail("expected a covariance");
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
  text += "covariance:\n";
  for (Eigen::Index i = 0; i < law.covariance.rows(); ++i)
    text += fmt::format("  - {}\n", list_text(law.covariance.row(i).head(i + 1).transpose()));
  return text;
}

}  // namespace orrery
