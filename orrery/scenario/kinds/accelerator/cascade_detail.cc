#include "orrery/scenario/kinds/accelerator/cascade_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "orrery/base/index.h"

namespace orrery {
namespace {

std::string with_prefix(double value, const char* unit) {
  if (value == 0) return "0";
  constexpr std::pair<double, const char*> kPrefixes[] = {
      {1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  for (const auto& [scale, prefix] : kPrefixes) {
    if (value >= scale) return fmt::format("{:.4g} {}{}", value / scale, prefix, unit);
  }
  return fmt::format("{:.4g} p{}", value * 1e12, unit);
}

const ComputeArray& units(const CascadeDetail& a, std::size_t step) {
  const int beside = a.mapping.steps[step].beside;
  return beside < 0 ? a.chip.compute : a.chip.beside[index(beside)].units;
}

// The part that takes longest: a memory or the compute units.
std::string bound(const CascadeDetail& a, std::size_t step) {
  const LooptreeCost& cost = a.cost.steps[step];
  std::string name = a.cascade.steps[step].copy ? "nothing" : units(a, step).name;
  double longest = cost.compute_seconds;
  for (std::size_t l = 0; l < cost.memories.size(); ++l) {
    if (cost.memories[l].seconds <= longest) continue;
    longest = cost.memories[l].seconds;
    name = a.chip.levels[l].name;
  }
  return name;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "";
}

double compute_energy(const LooptreeCost& c) { return c.compute_energy + c.compute_leakage; }

double memory_energy(const LooptreeCost& c, std::size_t level) {
  const MemoryCost& m = c.memories[level];
  return m.read_energy + m.write_energy + m.leakage;
}

std::string einsum_table(const CascadeDetail& a) {
  std::string out = fmt::format("{:<19} {:>12} {:<16} {:>9} {:>12} {:>7}\n", "einsum", "time",
                                "  bound by", "units", "energy", "share");
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) {
    const LooptreeCost& c = a.cost.steps[s];
    out +=
        fmt::format("{:<19} {:>12}   {:<14} {:>9} {:>12} {:>7}\n", a.cascade.steps[s].einsum.name,
                    seconds_text(c.seconds), bound(a, s), percent(c.compute_seconds, c.seconds),
                    joules_text(c.energy), percent(c.energy, a.cost.energy));
  }
  return out;
}

std::string memory_table(const CascadeDetail& a) {
  std::string out = fmt::format("{:<20} {:>12} {:>9} {:>12} {:>12} {:>7}\n", "part", "busy",
                                "of time", "leakage", "energy", "share");
  const auto line = [&](const std::string& name, double busy, double leakage, double energy) {
    out += fmt::format("{:<20} {:>12} {:>9} {:>12} {:>12} {:>7}\n", name, seconds_text(busy),
                       percent(busy, a.cost.seconds), joules_text(leakage), joules_text(energy),
                       percent(energy, a.cost.energy));
  };
  for (std::size_t l = 0; l < a.chip.levels.size(); ++l) {
    if (a.chip.levels[l].kind == StorageLevel::Kind::kFanOut) continue;
    double busy = 0, leakage = 0, energy = 0;
    for (const LooptreeCost& c : a.cost.steps) {
      busy += c.memories[l].seconds;
      leakage += c.memories[l].leakage;
      energy += memory_energy(c, l);
    }
    line(a.chip.levels[l].name, busy, leakage, energy);
  }
  double busy = 0, leakage = 0, energy = 0;
  for (const LooptreeCost& c : a.cost.steps) {
    busy += c.compute_seconds;
    leakage += c.compute_leakage;
    energy += compute_energy(c);
  }
  std::string all = a.chip.compute.name;
  for (const SideCompute& side : a.chip.beside) all += ", " + side.units.name;
  line(all, busy, leakage, energy);
  return out;
}

std::string holder_table(const CascadeDetail& a, std::size_t step) {
  const Einsum& einsum = a.cascade.steps[step].einsum;
  std::string out = fmt::format("{:<16} {:<14} {:>13} {:>16} {:>16}\n", "held in", "tensor",
                                "elements", "reads", "writes");
  for (const HolderCounts& h : a.cost.counts[step].holders) {
    const StorageLevel& level = a.chip.levels[index(h.level)];
    const bool toll = level.kind == StorageLevel::Kind::kToll;
    out += fmt::format("{:<16} {:<14} {:>13} {:>16.0f} {:>16.0f}\n", level.name,
                       einsum.tensors[index(h.tensor)].name,
                       toll ? "passes" : fmt::format("{:.0f}", h.tile), h.reads, h.writes);
  }
  return out;
}

nlohmann::ordered_json step_json(const CascadeDetail& a, std::size_t s) {
  const CascadeStep& step = a.cascade.steps[s];
  const LooptreeCost& c = a.cost.steps[s];
  nlohmann::ordered_json holders = nlohmann::ordered_json::array();
  for (const HolderCounts& h : a.cost.counts[s].holders) {
    holders.push_back({{"level", a.chip.levels[index(h.level)].name},
                       {"tensor", step.einsum.tensors[index(h.tensor)].name},
                       {"tile", h.tile},
                       {"reads", h.reads},
                       {"writes", h.writes},
                       {"reads_of_busiest", h.unit_reads},
                       {"writes_of_busiest", h.unit_writes}});
  }
  nlohmann::ordered_json levels = nlohmann::ordered_json::array();
  for (std::size_t l = 0; l < c.memories.size(); ++l) {
    const MemoryCost& m = c.memories[l];
    levels.push_back({{"level", a.chip.levels[l].name},
                      {"seconds", m.seconds},
                      {"read_j", m.read_energy},
                      {"write_j", m.write_energy},
                      {"leakage_j", m.leakage}});
  }
  return {{"einsum", step.einsum.name},
          {"units", units(a, s).name},
          {"seconds", c.seconds},
          {"bound_by", bound(a, s)},
          {"energy_j", c.energy},
          {"operations", step.copy ? 0 : a.cost.counts[s].operations},
          {"compute_seconds", c.compute_seconds},
          {"compute_j", c.compute_energy},
          {"compute_leakage_j", c.compute_leakage},
          {"levels", levels},
          {"holders", holders}};
}

}  // namespace

std::string seconds_text(double seconds) { return with_prefix(seconds, "s"); }
std::string joules_text(double joules) { return with_prefix(joules, "J"); }

std::string CascadeDetail::summary() const {
  const CascadeDetail& a = *this;
  return fmt::format("{} on {}, convention looptree:\n{}, {}\n\n", a.cascade.name, a.chip.name,
                     seconds_text(a.cost.seconds), joules_text(a.cost.energy)) +
         einsum_table(a) + "\n" + memory_table(a);
}

std::string CascadeDetail::explanation() const {
  const CascadeDetail& a = *this;
  std::string out = summary();
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) {
    const LooptreeCost& c = a.cost.steps[s];
    const CascadeStep& step = a.cascade.steps[s];
    out +=
        fmt::format("\n{} on {}: {} operations in {}\n", step.einsum.name, units(a, s).name,
                    step.copy ? 0 : a.cost.counts[s].operations, seconds_text(c.compute_seconds));
    for (std::size_t l = 0; l < c.memories.size(); ++l) {
      if (c.memories[l].seconds <= 0) continue;
      out += fmt::format("  {} busy for {}{}\n", a.chip.levels[l].name,
                         seconds_text(c.memories[l].seconds),
                         a.chip.levels[l].name == bound(a, s) ? ", which bounds the time" : "");
    }
    out += holder_table(a, s);
  }
  return out;
}

nlohmann::ordered_json CascadeDetail::json() const {
  const CascadeDetail& a = *this;
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < a.cost.steps.size(); ++s) steps.push_back(step_json(a, s));
  return {{"chip", a.chip.name},       {"workload", a.cascade.name}, {"convention", "looptree"},
          {"seconds", a.cost.seconds}, {"energy_j", a.cost.energy},  {"einsums", steps}};
}

std::vector<DetailPicture> CascadeDetail::pictures() const {
  DetailBars times{"Time of each einsum", "us", {}}, energies{"Energy of each einsum", "uJ", {}};
  for (std::size_t s = 0; s < cost.steps.size(); ++s) {
    const std::string& name = cascade.steps[s].einsum.name;
    times.parts.emplace_back(name, cost.steps[s].seconds * 1e6);
    energies.parts.emplace_back(name, cost.steps[s].energy * 1e6);
  }
  return {{"time", {}, std::move(times)}, {"energy", {}, std::move(energies)}};
}

}  // namespace orrery
