#include "orrery/scenario/kinds/accelerator/fixed_detail.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "orrery/base/units.h"
#include "orrery/scenario/answer/answer_text.h"

namespace orrery {
namespace {

// A name in a column: cut, with a mark, where it is longer.
std::string column_text(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : name.substr(0, width - 2) + "..";
}

using Column = std::pair<const char*, double>;

// The figures of a layer: of all its products, but for shares.
std::vector<Column> figures(const ScaleSimLayer& layer, const SystolicRun& run) {
  const double n = real(layer.times);
  return {{"m", real(layer.product.m)},
          {"n", real(layer.product.n)},
          {"k", real(layer.product.k)},
          {"products", n},
          {"total_cycles", n * real(run.cycles)},
          {"stall_cycles", n * real(run.stalls)},
          {"overall_util_percent", 100 * run.utilization},
          {"mapping_efficiency_percent", 100 * run.mapping_efficiency},
          {"compute_util_percent", 100 * run.compute_utilization},
          {"ifmap_sram_reads", n * real(run.input_reads)},
          {"filter_sram_reads", n * real(run.filter_reads)},
          {"ofmap_sram_writes", n * real(run.output_writes)},
          {"ifmap_dram_reads", n * real(run.input_fetches)},
          {"filter_dram_reads", n * real(run.filter_fetches)},
          {"ofmap_dram_writes", n * real(run.output_drains)}};
}

std::vector<Column> figures(const DirectiveCost& c) {
  return {{"runtime_cycles", c.cycles},
          {"num_macs", c.multiply_adds},
          {"throughput_macs_cycle", c.multiply_adds / c.cycles},
          {"avg_number_of_utilized_pes", c.units},
          {"l1_sram_size_req", c.l1_words},
          {"l2_sram_size_req", c.l2_words},
          {"peak_bw_req", c.peak_bandwidth},
          {"avg_bw_req", c.mean_bandwidth},
          {"offchip_bw_req", c.offchip_bandwidth},
          {"arithmetic_intensity", c.arithmetic_intensity},
          {"input_l1_read", c.input.l1_reads},
          {"input_l1_write", c.input.l1_writes},
          {"input_l2_read", c.input.l2_reads},
          {"input_l2_write", c.input.l2_writes},
          {"filter_l1_read", c.filter.l1_reads},
          {"filter_l1_write", c.filter.l1_writes},
          {"filter_l2_read", c.filter.l2_reads},
          {"filter_l2_write", c.filter.l2_writes},
          {"output_l1_read", c.output.l1_reads},
          {"output_l1_write", c.output.l1_writes},
          {"output_l2_read", c.output.l2_reads},
          {"output_l2_write", c.output.l2_writes},
          {"l1_energy_nj", l1_energy(c)},
          {"l2_energy_nj", l2_energy(c)}};
}

nlohmann::ordered_json object(const std::string& layer, const std::vector<Column>& all) {
  nlohmann::ordered_json json = {{"layer", layer}};
  for (const auto& [name, value] : all) json[name] = value;
  return json;
}

std::string csv_lines(const std::vector<std::pair<std::string, std::vector<Column>>>& rows) {
  std::string out;
  for (const auto& [name, all] : rows) {
    if (out.empty()) {
      out = "layer";
      for (const auto& [figure, value] : all) out += fmt::format(",{}", figure);
      out += "\n";
    }
    out += csv_field(name);
    for (const auto& [figure, value] : all) out += fmt::format(",{:.10g}", value);
    out += "\n";
  }
  return out;
}

const char* dataflow_name(SystolicDataflow d) {
  return d == SystolicDataflow::kOutputStationary   ? "output-stationary"
         : d == SystolicDataflow::kWeightStationary ? "weight-stationary"
                                                    : "input-stationary";
}

std::string too_small(const DirectiveDetail& a) {
  std::string out;
  const auto warn = [&](const std::string& layer, const char* what, double needed, double given) {
    if (needed <= given) return;
    out +=
        fmt::format("{} needs {:.0f} {}; the hardware has {:.0f}.\n", layer, needed, what, given);
  };
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const DirectiveCost& c = a.costs[i];
    const std::string& name = a.layers[i].name;
    if (a.hardware.l1_words) warn(name, "words of L1", c.l1_words, real(*a.hardware.l1_words));
    if (a.hardware.l2_words) warn(name, "words of L2", c.l2_words, real(*a.hardware.l2_words));
  }
  return out.empty() ? "" : "\n" + out;
}

}  // namespace

std::string SystolicDetail::summary() const {
  const SystolicDetail& a = *this;
  const SystolicArray& array = a.config.array;
  std::string out = fmt::format(
      "{}: {} x {} units, {}, {}\n\n{:<16} {:>8} {:>8} {:>8} {:>12} {:>11} {:>9}\n",
      a.config.run_name.empty() ? "systolic array" : a.config.run_name, array.rows, array.columns,
      dataflow_name(array.dataflow), array.stall_free ? "stall-free" : "with stalls", "layer", "M",
      "N", "K", "cycles", "stalls", "in use");
  double cycles = 0, stalls = 0, work = 0;
  bool windows = false;
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const ScaleSimLayer& l = a.layers[i];
    const SystolicRun& r = a.runs[i];
    const double n = real(l.times);
    out += fmt::format("{:<16} {:>8} {:>8} {:>8} {:>12.0f} {:>11.0f} {:>7.1f} %\n",
                       column_text(l.name, 16), l.product.m, l.product.n, l.product.k,
                       n * real(r.cycles), n * real(r.stalls), 100 * r.utilization);
    cycles += n * real(r.cycles);
    stalls += n * real(r.stalls);
    work += n * real(l.product.m) * real(l.product.n) * real(l.product.k);
    windows = windows || l.windows;
  }
  const double units = real(array.rows) * real(array.columns);
  out += fmt::format("{:<16} {:>8} {:>8} {:>8} {:>12.0f} {:>11.0f} {:>7.1f} %\n", "all", "", "", "",
                     cycles, stalls, cycles > 0 ? 100 * work / (cycles * units) : 0);
  if (windows) {
    out += "\nConvolutions are products of windows: words that windows share count for each.\n";
  }
  return out;
}

std::string SystolicDetail::csv() const {
  const SystolicDetail& a = *this;
  std::vector<std::pair<std::string, std::vector<Column>>> rows;
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    rows.emplace_back(a.layers[i].name, figures(a.layers[i], a.runs[i]));
  }
  return csv_lines(rows);
}

nlohmann::ordered_json SystolicDetail::json() const {
  const SystolicDetail& a = *this;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    layers.push_back(object(a.layers[i].name, figures(a.layers[i], a.runs[i])));
  }
  return {{"run", a.config.run_name},
          {"rows", a.config.array.rows},
          {"columns", a.config.array.columns},
          {"dataflow", dataflow_name(a.config.array.dataflow)},
          {"stall_free", a.config.array.stall_free},
          {"layers", layers}};
}

std::string DirectiveDetail::summary() const {
  const DirectiveDetail& a = *this;
  const DirectiveMachine& m = a.hardware.machine;
  std::string out = fmt::format(
      "{} units, network {} and off-chip memory {} elements a cycle\n\n"
      "{:<14} {:>12} {:>9} {:>7} {:>8} {:>9} {:>13}\n",
      m.units, m.network_bandwidth, m.offchip_bandwidth, "layer", "cycles", "MAC/cycle", "units",
      "L1 words", "L2 words", "L1 + L2 energy");
  double cycles = 0, work = 0, energy = 0;
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    const DirectiveCost& c = a.costs[i];
    const double nj = l1_energy(c) + l2_energy(c);
    out += fmt::format("{:<14} {:>12.0f} {:>9.1f} {:>7.1f} {:>8.0f} {:>9.0f} {:>11.4g} nJ\n",
                       column_text(a.layers[i].name, 14), c.cycles, c.multiply_adds / c.cycles,
                       c.units, c.l1_words, c.l2_words, nj);
    cycles += c.cycles;
    work += c.multiply_adds;
    energy += nj;
  }
  out += fmt::format("{:<14} {:>12.0f} {:>9.1f} {:>7} {:>8} {:>9} {:>11.4g} nJ\n", "all", cycles,
                     cycles > 0 ? work / cycles : 0, "", "", "", energy);
  return out + too_small(a);
}

std::string DirectiveDetail::csv() const {
  const DirectiveDetail& a = *this;
  std::vector<std::pair<std::string, std::vector<Column>>> rows;
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    rows.emplace_back(a.layers[i].name, figures(a.costs[i]));
  }
  return csv_lines(rows);
}

nlohmann::ordered_json DirectiveDetail::json() const {
  const DirectiveDetail& a = *this;
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    layers.push_back(object(a.layers[i].name, figures(a.costs[i])));
  }
  const DirectiveMachine& m = a.hardware.machine;
  return {{"units", m.units},
          {"network_elements_cycle", m.network_bandwidth},
          {"offchip_elements_cycle", m.offchip_bandwidth},
          {"layers", layers}};
}

std::vector<DetailPicture> SystolicDetail::pictures() const {
  DetailBars cycles{"Cycles of each layer", "cycles", {}};
  for (std::size_t i = 0; i < layers.size(); ++i)
    cycles.parts.emplace_back(layers[i].name, real(layers[i].times) * real(runs[i].cycles));
  return {{"cycles", {}, std::move(cycles)}};
}

std::vector<DetailPicture> DirectiveDetail::pictures() const {
  DetailBars cycles{"Cycles of each layer", "cycles", {}};
  for (std::size_t i = 0; i < layers.size(); ++i)
    cycles.parts.emplace_back(layers[i].name, costs[i].cycles);
  return {{"cycles", {}, std::move(cycles)}};
}

}  // namespace orrery
