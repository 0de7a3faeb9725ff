#include "orrery/edge/small/small_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/index.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr const char* kSmallLawFile = "edge/laws/small.yaml";

SmallWorkKind small_kind_of(EdgeFamily family) {
  switch (family) {
    case EdgeFamily::kConvolution:
    case EdgeFamily::kGroupedConvolution:
    case EdgeFamily::kDeconvolution:
      return SmallWorkKind::kConvolution;
    case EdgeFamily::kDepthwise:
      return SmallWorkKind::kDepthwise;
    default:
      return SmallWorkKind::kMatrix;
  }
}

}  // namespace

std::string_view to_text(SmallWorkKind kind) {
  constexpr std::string_view kNames[] = {"convolution", "depthwise", "matrix"};
  return kNames[index(kind)];
}

SmallWork small_work_of(std::span<const EdgeKernel> kernels) {
  SmallWork work{};
  for (const EdgeKernel& k : kernels) work[index(small_kind_of(k.family))] += double(k.macs);
  return work;
}

Estimate<Seconds> SmallLaw::time(const SmallWork& work, const SmallProcessor& p) const {
  double all = 0, macs = 0;
  for (std::size_t k = 0; k < kSmallWorkKinds; ++k)
    all += work[k] * std::exp(cycles[k]), macs += work[k];
  all *= std::exp(effect_of(cores, p.core.name) + effect_of(processors, p.id));
  if (p.core.macs_per_cycle) all = std::max(all, macs / *p.core.macs_per_cycle);
  const double of_core = cores.contains(p.core.name) ? 0 : unknown_core;
  const double of_processor = processors.contains(p.id) ? 0 : unknown_processor;
  return {Seconds(all / p.clock.value()), std::hypot(known, of_core, of_processor), 0,
          processors.contains(p.id) ? Origin::kFitted : Origin::kTransferred, Tails::kHeavy};
}

std::optional<Estimate<Joules>> SmallLaw::energy(const Estimate<Seconds>& time,
                                                 const SmallProcessor& p) const {
  const auto found = powers.find(p.id);
  if (found == powers.end()) return std::nullopt;
  return Estimate<Joules>{found->second * time.value, std::max(time.sigma(), energy_spread), 0,
                          time.origin, Tails::kHeavy};
}

SmallLaw read_small_law(const Bundle& bundle) {
  const auto file = bundle.find(kSmallLawFile);
  if (!file) throw InputError(fmt::format("catalog/{}: no such law", kSmallLawFile));
  SmallLaw law;
  Fields f;
  f.add("recipe", law.recipe, "what was fitted").required();
  for (std::size_t k = 0; k < kSmallWorkKinds; ++k)
    f.add(std::string(to_text(SmallWorkKind(k))), law.cycles[k],
          "logarithm of the cycles of a multiply-add")
        .range(-10, 10)
        .required();
  f.add("known", law.known, "deviation of a time on a measured processor").range(0.01, 3);
  f.add("unknown_processor", law.unknown_processor, "deviation of a processor that was not")
      .range(0.01, 3);
  f.add("unknown_core", law.unknown_core, "deviation of a core that was not").range(0.01, 5);
  f.add("energy", law.energy_spread, "deviation of an energy on a measured board").range(0.01, 3);
  add_effects(f, "cores", law.cores);
  add_effects(f, "processors", law.processors);
  f.custom(
      "powers", Field::Type::kList,
      [&law](const Node& node) {
        for (const Node& item : node.items())
          law.powers[item.at("name").as_string()] = Watts(item.at("milliwatts").as_double() * 1e-3);
      },
      [] { return nlohmann::ordered_json(); }, "of boards while they compute");
  f.read(parse_yaml(file->content, file->name));
  return law;
}

std::string small_law_text(const SmallLaw& law) {
  std::string text = fmt::format(
      "# Made by `orrery fit edge`: do not edit. A law of small processors "
      "(orrery/edge/small/small_law.h).\nrecipe: \"{}\"\n",
      law.recipe);
  for (std::size_t k = 0; k < kSmallWorkKinds; ++k)
    text += fmt::format("{}: {:.4f}\n", to_text(SmallWorkKind(k)), law.cycles[k]);
  text += fmt::format("known: {:.4f}\nunknown_processor: {:.4f}\nunknown_core: {:.4f}\n", law.known,
                      law.unknown_processor, law.unknown_core);
  text += fmt::format("energy: {:.4f}\n", law.energy_spread) + effects_text("cores", law.cores) +
          effects_text("processors", law.processors) + "powers:\n";
  for (const auto& [of, power] : law.powers)
    text += fmt::format("  - {{name: {}, milliwatts: {:.3f}}}\n", of, power.value() * 1e3);
  return text;
}

}  // namespace orrery
