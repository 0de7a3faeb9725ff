#include "orrery/scenario/kinds/accelerator/exact_detail.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/base/index.h"
#include "orrery/scenario/kinds/accelerator/cascade_detail.h"

namespace orrery {
namespace {

const ComputeArray& units_of(const ExactDetail& a, std::size_t step) {
  const int beside = a.mapping.steps[step].beside;
  return beside < 0 ? a.chip.compute : a.chip.beside[index(beside)].units;
}

std::string bound_of(const ExactDetail& a, std::size_t step) {
  const int level = a.cost.steps[step].bound;
  return level < 0 ? units_of(a, step).name : a.chip.levels[index(level)].name;
}

std::string share_of(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

std::string energy_text(const ExactDetail& a, double joules) {
  return a.energies ? joules_text(joules) : "";
}

std::string exact_einsums(const ExactDetail& a) {
  std::string out = fmt::format("{:<19} {:>12} {:>12} {:>10} {:>10}  {}\n", "einsum", "cycles",
                                "work", "filling", "draining", "bound by");
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) {
    const ExactCost& c = a.cost.steps[s];
    out += fmt::format("{:<19} {:>12.0f} {:>12.0f} {:>10.0f} {:>10.0f}  {}\n",
                       a.cascade.steps[s].einsum.name, c.cycles, c.compute_cycles, c.fill, c.drain,
                       bound_of(a, s));
  }
  return out;
}

std::string exact_parts(const ExactDetail& a) {
  std::string out = fmt::format("{:<20} {:>14} {:>10} {:>12} {:>12} {:>7}\n", "part", "busy cycles",
                                "of cycles", "leakage", "energy", "share");
  const auto line = [&](const std::string& name, double busy, double leakage, double energy) {
    out += fmt::format("{:<20} {:>14.0f} {:>10} {:>12} {:>12} {:>7}\n", name, busy,
                       share_of(busy, a.cost.cycles), energy_text(a, leakage),
                       energy_text(a, energy + leakage),
                       a.energies ? share_of(energy + leakage, a.cost.energy) : "");
  };
  for (std::size_t l = 0; l < a.chip.levels.size(); ++l) {
    if (a.chip.levels[l].kind == StorageLevel::Kind::kFanOut) continue;
    double busy = 0, leakage = 0, energy = 0;
    for (const ExactCost& c : a.cost.steps) {
      busy += c.memories[l].port_cycles;
      leakage += c.memories[l].leakage;
      energy += c.memories[l].energy;
    }
    line(a.chip.levels[l].name, busy, leakage, energy);
  }
  double busy = 0, leakage = 0, energy = 0;
  for (const ExactCost& c : a.cost.steps) {
    busy += c.compute_cycles;
    leakage += c.compute_leakage;
    energy += c.compute_energy;
  }
  line(a.chip.compute.name, busy, leakage, energy);
  return out;
}

std::string exact_holders(const ExactDetail& a, std::size_t step) {
  const Einsum& einsum = a.cascade.steps[step].einsum;
  std::string out = fmt::format("{:<14} {:<12} {:>11} {:>13} {:>13} {:>12}\n", "held in", "tensor",
                                "elements", "reads", "fills", "updates");
  for (const ExactTensorTraffic& h : a.cost.traffic[step].holders) {
    const StorageLevel& level = a.chip.levels[index(h.level)];
    const bool toll = level.kind == StorageLevel::Kind::kToll;
    const bool twice = a.options.double_buffered && h.changes;
    out += fmt::format("{:<14} {:<12} {:>11} {:>13.0f} {:>13.0f} {:>12.0f}\n", level.name,
                       einsum.tensors[index(h.tensor)].name,
                       toll ? "passes" : fmt::format("{}{:.0f}", twice ? "2 x " : "", h.tile),
                       h.all.reads, h.all.fills, h.all.updates);
  }
  return out;
}

std::string change_text(double exact, double other) {
  if (exact == 0) return "";
  return fmt::format("{:+.2f} %", 100 * (other / exact - 1));
}

std::string other_table(const ExactDetail& a) {
  std::string out = fmt::format("\nThe convention {} counts:\n{:<36} {:>14} {:>14} {:>12}\n",
                                a.other.name, "", "exact", a.other.name, "change");
  const auto line = [&](const std::string& what, const std::string& exact, const std::string& other,
                        const std::string& change) {
    out += fmt::format("{:<36} {:>14} {:>14} {:>12}\n", what, exact, other, change);
  };
  line("cycles", fmt::format("{:.0f}", a.cost.cycles), fmt::format("{:.0f}", a.other.cycles),
       change_text(a.cost.cycles, a.other.cycles));
  if (a.energies) {
    line("energy", joules_text(a.cost.energy), joules_text(a.other.energy),
         change_text(a.cost.energy, a.other.energy));
  }
  for (std::size_t s = 0; s < a.other.differences.size(); ++s) {
    const Einsum& einsum = a.cascade.steps[s].einsum;
    for (const AccessDifference& d : a.other.differences[s]) {
      line(fmt::format("{} {} {}", a.chip.levels[index(d.level)].name,
                       einsum.tensors[index(d.tensor)].name, d.access),
           fmt::format("{:.0f}", d.exact), fmt::format("{:.0f}", d.other),
           change_text(d.exact, d.other));
    }
  }
  return out;
}

nlohmann::ordered_json exact_step_json(const ExactDetail& a, std::size_t s) {
  const Einsum& einsum = a.cascade.steps[s].einsum;
  const ExactCost& c = a.cost.steps[s];
  nlohmann::ordered_json holders = nlohmann::ordered_json::array();
  for (const ExactTensorTraffic& h : a.cost.traffic[s].holders) {
    holders.push_back({{"level", a.chip.levels[index(h.level)].name},
                       {"tensor", einsum.tensors[index(h.tensor)].name},
                       {"tile", h.tile},
                       {"copies", a.options.double_buffered && h.changes ? 2 : 1},
                       {"reads", h.all.reads},
                       {"fills", h.all.fills},
                       {"updates", h.all.updates}});
  }
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (std::size_t l = 0; l < c.memories.size(); ++l) {
    nlohmann::ordered_json level = {{"level", a.chip.levels[l].name},
                                    {"port_cycles", c.memories[l].port_cycles}};
    if (a.energies) {
      level["energy_j"] = c.memories[l].energy;
      level["leakage_j"] = c.memories[l].leakage;
    }
    levels.push_back(std::move(level));
  }
  nlohmann::ordered_json json = {{"einsum", einsum.name},
                                 {"units", units_of(a, s).name},
                                 {"cycles", c.cycles},
                                 {"compute_cycles", c.compute_cycles},
                                 {"filling_cycles", c.fill},
                                 {"draining_cycles", c.drain},
                                 {"waiting_cycles", c.transfers},
                                 {"bound_by", bound_of(a, s)}};
  if (a.energies) json["energy_j"] = c.energy;
  json["levels"] = std::move(levels);
  json["holders"] = std::move(holders);
  return json;
}

}  // namespace

std::string ExactDetail::summary() const {
  const ExactDetail& a = *this;
  std::string out =
      fmt::format("{} on {}, convention exact, {} buffers:\n{:.0f} cycles", a.cascade.name,
                  a.chip.name, a.options.double_buffered ? "double" : "single", a.cost.cycles);
  if (a.energies) out += ", " + joules_text(a.cost.energy);
  return out + "\n\n" + exact_einsums(a) + "\n" + exact_parts(a);
}

std::string ExactDetail::explanation() const {
  const ExactDetail& a = *this;
  std::string out = summary();
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) {
    out +=
        fmt::format("\n{} on {}: {:.0f} operations, {:.0f} steps\n", a.cascade.steps[s].einsum.name,
                    units_of(a, s).name, a.cost.traffic[s].points, a.cost.traffic[s].steps);
    out += exact_holders(a, s);
  }
  return out + other_table(a);
}

nlohmann::ordered_json ExactDetail::json() const {
  const ExactDetail& a = *this;
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) steps.push_back(exact_step_json(a, s));
  nlohmann::ordered_json json = {{"chip", a.chip.name},
                                 {"workload", a.cascade.name},
                                 {"convention", "exact"},
                                 {"buffers", a.options.double_buffered ? "double" : "single"},
                                 {"cycles", a.cost.cycles}};
  if (a.energies) json["energy_j"] = a.cost.energy;
  json["other_convention"] = {{"name", a.other.name}, {"cycles", a.other.cycles}};
  if (a.energies) json["other_convention"]["energy_j"] = a.other.energy;
  json["einsums"] = std::move(steps);
  return json;
}

std::vector<DetailPicture> ExactDetail::pictures() const {
  DetailBars cycles{"Cycles of each einsum", "cycles", {}},
      energy{"Energy of each einsum", "uJ", {}};
  for (std::size_t s = 0; s < cost.steps.size(); ++s) {
    const std::string& name = cascade.steps[s].einsum.name;
    cycles.parts.emplace_back(name, cost.steps[s].cycles);
    energy.parts.emplace_back(name, cost.steps[s].energy * 1e6);
  }
  std::vector<DetailPicture> all = {{"cycles", {}, std::move(cycles)}};
  if (energies) all.push_back({"energy", {}, std::move(energy)});
  return all;
}

}  // namespace orrery
