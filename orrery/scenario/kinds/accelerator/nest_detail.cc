#include "orrery/scenario/kinds/accelerator/nest_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "orrery/accelerator/cost/mapping_svg.h"

namespace orrery {
namespace {

bool is_memory(const StorageLevel& level) { return level.kind == StorageLevel::Kind::kMemory; }

std::string picojoules(double pj) {
  if (pj >= 1e9) return fmt::format("{:.4g} mJ", pj * 1e-9);
  if (pj >= 1e6) return fmt::format("{:.4g} uJ", pj * 1e-6);
  if (pj >= 1e3) return fmt::format("{:.4g} nJ", pj * 1e-3);
  return fmt::format("{:.4g} pJ", pj);
}

// Words that an instance keeps, against its capacity.
std::string used(const NestDetail& a, std::size_t l) {
  double words = 0;
  for (const TensorCounts& t : a.evaluation.counts.levels[l].tensors) {
    if (t.kept) words += t.tile;
  }
  const std::optional<double>& built = a.architecture.chip.levels[l].words;
  if (!built) return fmt::format("{:.0f}", words);
  return fmt::format("{:.0f} of {:.0f}", words, *built);
}

std::string bound(const NestDetail& a) {
  const Chip& chip = a.architecture.chip;
  const Evaluation& e = a.evaluation;
  std::size_t slowest = chip.levels.size();
  double least = 1;
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    if (e.cost.levels[l].slowdown < least) {
      least = e.cost.levels[l].slowdown;
      slowest = l;
    }
  }
  if (slowest == chip.levels.size()) {
    return fmt::format("The compute units bound the cycles: no memory slows them down.");
  }
  return fmt::format("{} bounds the cycles: it serves {:.3g} % of what {} asks for.",
                     chip.levels[slowest].name, 100 * least, chip.compute.name);
}

std::string split(const SparseAccesses& a) {
  return fmt::format("{:.0f}/{:.0f}/{:.0f}", a.random, a.gated, a.skipped);
}

std::string accesses(const NestDetail& a) {
  std::string out = fmt::format("\nWords of an instance{}:\n{:<18} {:<10} {:>15} {:>15} {:>15}\n",
                                !a.sparse ? "" : ", made / gated / skipped", "level", "tensor",
                                "reads", "fills", "updates");
  for (std::size_t l = 0; l < a.architecture.chip.levels.size(); ++l) {
    const std::string& level = a.architecture.chip.levels[l].name;
    for (std::size_t t = 0; t < a.problem.tensors.size(); ++t) {
      const TensorCounts& c = a.evaluation.counts.levels[l].tensors[t];
      const std::string& tensor = a.problem.tensors[t].name;
      if (!c.kept) continue;
      if (!a.sparse) {
        out += fmt::format("{:<18} {:<10} {:>15.0f} {:>15.0f} {:>15.0f}\n", level, tensor, c.reads,
                           c.fills, c.updates);
        continue;
      }
      const SparseTensorCounts& s = a.sparse->levels[l][t];
      out += fmt::format("{:<18} {:<10} {:>15} {:>15} {:>15}\n", level, tensor, split(s.reads),
                         split(s.fills), split(s.updates));
      if (s.metadata_bits == 0) continue;
      out +=
          fmt::format("{:<18} {:<10} {:>15} {:>15} {:>15}\n", "", "  bits", split(s.metadata_reads),
                      split(s.metadata_fills), split(s.metadata_updates));
    }
  }
  if (a.sparse) {
    out += fmt::format("{:<18} {:<10} {:>15}\n", a.architecture.chip.compute.name, "operations",
                       split(a.sparse->computes));
  }
  return out;
}

nlohmann::ordered_json to_json(const SparseAccesses& a) {
  return {{"made", a.random}, {"gated", a.gated}, {"skipped", a.skipped}};
}

nlohmann::ordered_json to_json(const SparseTensorCounts& s) {
  return {{"reads", to_json(s.reads)},
          {"fills", to_json(s.fills)},
          {"updates", to_json(s.updates)},
          {"metadata_reads_bits", to_json(s.metadata_reads)},
          {"metadata_fills_bits", to_json(s.metadata_fills)},
          {"metadata_updates_bits", to_json(s.metadata_updates)},
          {"metadata_bits", s.metadata_bits},
          {"density", s.density},
          {"instances_share", s.held}};
}

// The energy of a level with its leakage and its network, in picojoules.
double level_energy(const LevelCost& cost) {
  double energy = cost.leakage + cost.network;
  for (const double e : cost.tensor_energy) energy += e;
  return energy;
}

std::string operation_of(const NestDetail& a) {
  return a.problem.name.empty() ? "operation" : a.problem.name;
}

}  // namespace

std::string NestDetail::summary() const {
  const NestDetail& a = *this;
  const Chip& chip = a.architecture.chip;
  const Evaluation& e = a.evaluation;
  std::string out = fmt::format("{} on {}: {:.0f} cycles, utilisation {:.1f} %\n", operation_of(a),
                                chip.name, e.cost.cycles, 100 * e.utilization);
  if (a.architecture.energies) {
    out += fmt::format("energy {} ({:.3g} pJ an operation), energy x delay {:.4g} J x cycle\n",
                       picojoules(e.cost.energy), e.cost.energy / e.operations,
                       e.cost.energy * 1e-12 * e.cost.cycles);
    if (a.architecture.estimated) {
      out += "energies are estimated from published tables, leakage and wires left out\n";
    }
  } else {
    out += fmt::format("energy unknown: none is given for {}\n",
                       fmt::join(a.architecture.without_energy, ", "));
  }
  if (e.area_mm2 > 0) out += fmt::format("area {:.3g} mm2\n", e.area_mm2);
  out += fmt::format("\n{:<18} {:>9} {:>20} {:>9} {:>10} {:>7}\n", "level", "in use",
                     "words an instance", "slow-down", "energy", "share");
  const auto share = [&](double energy) {
    return a.architecture.energies ? fmt::format("{:.1f} %", 100 * energy / e.cost.energy) : "";
  };
  const auto energy = [&](double pj) { return a.architecture.energies ? picojoules(pj) : ""; };
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    if (!is_memory(chip.levels[l])) continue;
    const double pj = level_energy(e.cost.levels[l]);
    out += fmt::format("{:<18} {:>9.0f} {:>20} {:>9.3f} {:>10} {:>7}\n", chip.levels[l].name,
                       e.counts.levels[l].active, used(a, l), e.cost.levels[l].slowdown, energy(pj),
                       share(pj));
  }
  out += fmt::format("{:<18} {:>9.0f} {:>20} {:>9} {:>10} {:>7}\n", chip.compute.name,
                     e.counts.active_units, "", "", energy(e.cost.compute_energy),
                     share(e.cost.compute_energy));
  return out;
}

std::string NestDetail::explanation() const {
  std::string out =
      summary() + "\n" + bound(*this) + "\n\nThe mapping, with the words of each tile:\n" +
      draw_mapping(architecture.chip, problem, mapping, &evaluation.counts) + accesses(*this);
  if (search) {
    out += fmt::format("\nBest of {} valid mappings, {} tried ({}).\n", search->valid,
                       search->tried, search->mapper);
  }
  return out;
}

nlohmann::ordered_json NestDetail::json() const {
  const NestDetail& a = *this;
  const Chip& chip = a.architecture.chip;
  const Evaluation& e = a.evaluation;
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    const LevelCost& cost = e.cost.levels[l];
    nlohmann::ordered_json tensors = nlohmann::ordered_json::object();
    for (std::size_t t = 0; t < a.problem.tensors.size(); ++t) {
      const TensorCounts& c = e.counts.levels[l].tensors[t];
      nlohmann::ordered_json deliveries = nlohmann::ordered_json::array();
      for (const Delivery& d : c.deliveries) {
        deliveries.push_back(
            {{"multicast", d.multicast}, {"scatter", d.scatter}, {"words", d.accesses}});
      }
      tensors[a.problem.tensors[t].name] = {
          {"kept", c.kept},           {"tile", c.tile},
          {"reads", c.reads},         {"fills", c.fills},
          {"updates", c.updates},     {"energy_pj", cost.tensor_energy[t]},
          {"deliveries", deliveries}, {"link_transfers", c.link_transfers}};
      if (a.sparse && c.kept) {
        tensors[a.problem.tensors[t].name]["sparse"] = to_json(a.sparse->levels[l][t]);
      }
    }
    levels.push_back({{"level", chip.levels[l].name},
                      {"instances", e.counts.levels[l].active},
                      {"cycles", cost.cycles},
                      {"slowdown", cost.slowdown},
                      {"leakage_pj", cost.leakage},
                      {"network_pj", cost.network},
                      {"tensors", tensors}});
  }
  nlohmann::ordered_json json = {{"chip", chip.name},
                                 {"operation", a.problem.name},
                                 {"cycles", e.cost.cycles},
                                 {"operations", e.operations},
                                 {"utilization", e.utilization}};
  if (a.architecture.energies) {
    json["energy_pj"] = e.cost.energy;
    json["energies_estimated"] = a.architecture.estimated;
  }
  if (a.sparse) json["sparse_operations"] = to_json(a.sparse->computes);
  if (e.area_mm2 > 0) json["area_mm2"] = e.area_mm2;
  json["levels"] = std::move(levels);
  if (search) json["tried"] = search->tried, json["valid"] = search->valid;
  return json;
}

std::vector<DetailPicture> NestDetail::pictures() const {
  const Chip& chip = architecture.chip;
  const NestCost& cost = evaluation.cost;
  std::vector<DetailPicture> all = {
      {"mapping", draw_mapping_svg(chip, problem, mapping, evaluation.counts), {}}};
  if (!architecture.energies) return all;
  DetailBars energies{"Energy of each level", "uJ", {}};
  for (std::size_t l = 0; l < chip.levels.size(); ++l) {
    if (is_memory(chip.levels[l]))
      energies.parts.emplace_back(chip.levels[l].name, level_energy(cost.levels[l]) * 1e-6);
  }
  energies.parts.emplace_back(chip.compute.name, cost.compute_energy * 1e-6);
  all.push_back({"energy", {}, std::move(energies)});
  return all;
}

}  // namespace orrery
