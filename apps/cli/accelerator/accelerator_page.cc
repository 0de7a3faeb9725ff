#include "apps/cli/accelerator/accelerator_page.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "apps/cli/flags/document.h"
#include "apps/cli/output/output.h"
#include "apps/face/plot.h"
#include "orrery/accelerator/cost/mapping_svg.h"
#include "orrery/base/units.h"

namespace orrery::cli {
namespace {

using Parts = std::vector<std::pair<std::string, double>>;

// A bar for each part, the first on top. Empty where there are no parts.
std::string bars(const std::string& title, const std::string& unit, const Parts& parts) {
  if (parts.empty()) return "";
  face::PlotAxis y{"", false, {}};
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) y.names.push_back(part->first);
  face::Plot plot(title, {unit, false, {}}, y);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [name, value] = parts[parts.size() - 1 - i];
    plot.box(0, 0, value, static_cast<double>(i), 0.3,
             fmt::format("{}: {} {}", name, number(value), unit));
  }
  return plot.svg();
}

std::string page_of(const std::string& title, const std::string& pictures,
                    const std::string& text) {
  return html_page(title, fmt::format("<h1>{}</h1>\n{}<div class=wide><pre>{}</pre></div>\n",
                                      escaped_html(title), pictures, escaped_html(text)));
}

template <class Answer, class Value>
Parts each_step(const Answer& a, Value value) {
  Parts parts;
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s)
    parts.emplace_back(a.cascade.steps[s].einsum.name, value(a.cost.steps[s]));
  return parts;
}

}  // namespace

std::string page(const AcceleratorAnswer& a) {
  const Chip& chip = a.architecture.chip;
  const NestCost& cost = a.evaluation.cost;
  Parts energies;
  if (a.architecture.energies) {
    for (std::size_t l = 0; l < chip.levels.size(); ++l) {
      if (chip.levels[l].kind == StorageLevel::Kind::kMemory)
        energies.emplace_back(chip.levels[l].name, level_energy(cost.levels[l]) * 1e-6);
    }
    energies.emplace_back(chip.compute.name, cost.compute_energy * 1e-6);
  }
  const std::string operation = a.problem.name.empty() ? "operation" : a.problem.name;
  return page_of(fmt::format("{} on {}", operation, chip.name),
                 bars("Energy of each level", "uJ", energies) +
                     draw_mapping_svg(chip, a.problem, a.mapping, a.evaluation.counts),
                 explanation(a));
}

std::string page(const CascadeAnswer& a) {
  const auto time = [](const LooptreeCost& c) { return c.seconds * 1e6; };
  const auto energy = [](const LooptreeCost& c) { return c.energy * 1e6; };
  return page_of(fmt::format("{} on {}", a.cascade.name, a.chip.name),
                 bars("Time of each einsum", "us", each_step(a, time)) +
                     bars("Energy of each einsum", "uJ", each_step(a, energy)),
                 explanation(a));
}

std::string page(const ExactAnswer& a) {
  const auto cycles = [](const ExactCost& c) { return c.cycles; };
  const auto energy = [](const ExactCost& c) { return c.energy * 1e6; };
  std::string pictures = bars("Cycles of each einsum", "cycles", each_step(a, cycles));
  if (a.energies) pictures += bars("Energy of each einsum", "uJ", each_step(a, energy));
  return page_of(fmt::format("{} on {}", a.cascade.name, a.chip.name), pictures, explanation(a));
}

std::string page(const SystolicAnswer& a) {
  Parts cycles;
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    cycles.emplace_back(a.layers[i].name, real(a.layers[i].times) * real(a.runs[i].cycles));
  return page_of("Layers on a systolic array", bars("Cycles of each layer", "cycles", cycles),
                 table(a));
}

std::string page(const DirectiveAnswer& a) {
  Parts cycles;
  for (std::size_t i = 0; i < a.layers.size(); ++i)
    cycles.emplace_back(a.layers[i].name, a.costs[i].cycles);
  return page_of("Layers under directives", bars("Cycles of each layer", "cycles", cycles),
                 table(a));
}

}  // namespace orrery::cli
