#include "orrery/network/fit/measured_place.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

int number_at(std::string_view text) {
  int v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

struct Ports {
  std::string fabric;
  int ports;
};

// `count` ports of `gbit` as ports of a fabric of the catalog.
Ports ports_of(std::string_view kind, int count, int gbit) {
  struct Known {
    std::string_view kind, fabric;
    int gbit;
  };
  static constexpr Known kKnown[] = {
      {"IB", "ib-edr", 100},       {"IB", "ib-hdr", 200},        {"IB", "ib-ndr", 400},
      {"IB", "ib-xdr", 800},       {"gIB", "roce-gib-400", 400}, {"RoCE", "roce-100", 100},
      {"RoCE", "roce-200", 200},   {"RoCE", "roce-400", 400},    {"EFA", "efa-100", 100},
      {"TCPXO", "tcpxo-200", 200}, {"TCPX", "tcpx-200", 200},
  };
  const Known* best = nullptr;
  const auto distance = [gbit](const Known& k) {
    return std::abs(std::log(static_cast<double>(k.gbit) / gbit));
  };
  for (const Known& k : kKnown) {
    if (k.kind == kind && (best == nullptr || distance(k) < distance(*best))) best = &k;
  }
  if (best == nullptr) throw InputError(fmt::format("unknown network '{}'", kind));
  const int total = count * gbit;
  return {std::string(best->fabric), std::max(1, total / best->gbit)};
}

// Reads "IB_NDR_8x400G": the kind before the first '_', the ports after the last one.
Ports read_ports(std::string_view fabric) {
  const std::string_view kind = fabric.substr(0, fabric.find('_'));
  const std::string_view last = fabric.substr(fabric.rfind('_') + 1);
  const std::size_t times = last.find('x');
  const int count = number_at(last);
  int gbit = times == last.npos ? 0 : number_at(last.substr(times + 1));
  if (times != last.npos && last.substr(times + 1) == "CX7") gbit = 400;
  if (count <= 0 || gbit <= 0) throw InputError(fmt::format("cannot read the fabric '{}'", fabric));
  return ports_of(kind, count, gbit);
}

Gpu gpu_of(const Catalog& catalog, std::string_view name) {
  for (const std::string_view form : {"_NVLink_pairs"}) {
    if (const auto at = name.find(form); at != name.npos) name = name.substr(0, at);
  }
  if (name == "Blackwell_SXM") name = "B200_SXM";
  return catalog.gpu(name);
}

}  // namespace

std::string fabric_spelling(std::string_view fabric, std::string_view tuning) {
  const std::size_t end = fabric.find('_');
  if (tuning.find("gIB") == tuning.npos || !fabric.starts_with("RoCE") || end == fabric.npos)
    return std::string(fabric);
  return "gIB" + std::string(fabric.substr(end));
}

std::string measured_node(const Gpu& gpu) {
  // Rings of four and eight L40S reach 5.4 and 1.4 GB/s in the tables. First tokens of Llama 2 70B
  // on NVIDIA's servers with as many (inference/single_request.csv) leave room for 28 and 18 GB/s.
  if (gpu.id == "l40s") return "pcie4-8x-shared";
  // All rows of H100 PCIe are of cards bridged in pairs.
  return gpu.id == "h100-pcie" ? "h100-pcie-nvlink-8x" : gpu.node;
}

std::optional<Cluster> measured_place(const Catalog& catalog, std::string_view gpu_name, int ranks,
                                      int nodes, std::string_view fabric) {
  const Gpu gpu = gpu_of(catalog, gpu_name);
  if (fabric == "unspecified") return std::nullopt;
  const std::size_t racks = fabric.find("xNVL72+");
  const int domains = racks != fabric.npos ? number_at(fabric) : nodes;
  const bool across = fabric.find('_') != fabric.npos && fabric.find("pair") == fabric.npos;
  NodeType node = catalog.node_type(measured_node(gpu));
  if (racks == fabric.npos && (!across || nodes == 1)) {
    if (fabric.find("pair") != fabric.npos) {
      for (const std::string& id : catalog.node_type_ids()) {
        const NodeType other = catalog.node_type(id);
        if (!other.bridge.fabric.empty() && other.gpus.front() == gpu.id) node = other;
      }
    }
    if (ranks > node.gpu_count)
      throw InputError(fmt::format("{} GPUs do not fit one domain of {}", ranks, node.gpu_count));
    return Cluster(catalog, gpu, ranks, node);
  }
  if (domains < 1 || ranks % domains != 0)
    throw InputError(fmt::format("{} ranks on {} nodes", ranks, domains));
  node.gpu_count = ranks / domains;
  node.gpus_per_host = 0;
  node.bridge = {};
  if (racks != fabric.npos) {
    const bool roce = fabric.find("RoCE") != fabric.npos;
    node.network = {roce ? "roce-400" : "ib-ndr", node.gpu_count};
  } else {
    const Ports ports = read_ports(fabric);
    node.network = {ports.fabric, ports.ports};
  }
  return Cluster(catalog, gpu, ranks, node);
}

}  // namespace orrery
