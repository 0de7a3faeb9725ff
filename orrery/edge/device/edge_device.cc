#include "orrery/edge/device/edge_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kCoresPath = "edge/cores.yaml";
constexpr const char* kDevicesPath = "edge/devices.yaml";
constexpr FlopsPerSecond kCoresRate(20e9);  // of "rate"
constexpr FlopsPerSecond kGpuRate(1e12);

Node document(const Bundle& bundle, const char* path) {
  const auto file = bundle.find(path);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", path));
  return parse_yaml(file->content, file->name);
}

EdgeCore read_core(const Node& node) {
  EdgeCore c;
  Fields f;
  f.add("name", c.name, "of the core").required();
  f.add("isa", c.isa, "instruction set").required();
  f.add("flops_per_cycle", c.flops_per_cycle, "of floats").range(0.1, 1024).required();
  f.add("half", c.half, "arithmetic of 16-bit floats");
  f.add("dot_product", c.dot_product, "dot products of bytes");
  f.add("assumed", c.assumed, "not looked up in a document");
  f.read(node);
  return c;
}

EdgeCluster read_cluster(const Node& node) {
  EdgeCluster c;
  Fields f;
  f.add("core", c.core, "name of the core").required();
  f.add("clock", c.clock, "highest clock").required();
  f.add("cores", c.cores, "number of them").range(1, 1024).required();
  f.read(node);
  return c;
}

EdgeGpu read_edge_gpu(const Node& node) {
  EdgeGpu g;
  Fields f;
  f.add("row", g.row, "the name that tables give it").required();
  f.add("kind", g.kind, "whose design").required();
  f.add("rate", g.rate, "of floats at the highest clock").required();
  f.add("source", g.source, "the document that states the rate");
  f.read(node);
  return g;
}

template <class T>
void list_of(Fields& f, const char* name, std::vector<T>& into, T (*read)(const Node&)) {
  f.custom(
      name, Field::Type::kList,
      [&into, read](const Node& node) {
        for (const Node& item : node.items()) into.push_back(read(item));
      },
      [] { return nlohmann::ordered_json(); }, name);
}

EdgeDevice read_device(const Node& node) {
  EdgeDevice d;
  Fields f;
  f.add("id", d.id, "how it is asked for").required();
  f.add("row", d.row, "the name that tables give it").required();
  list_of(f, "clusters", d.clusters, read_cluster);
  list_of(f, "gpus", d.gpus, read_edge_gpu);
  f.read(node);
  return d;
}

}  // namespace

EdgeDevices::EdgeDevices(const Bundle& bundle) {
  std::vector<EdgeCore> cores;
  Fields of_cores, of_devices;
  list_of(of_cores, "cores", cores, read_core);
  of_cores.read(document(bundle, kCoresPath));
  for (EdgeCore& c : cores) cores_[c.name] = c;
  list_of(of_devices, "devices", devices_, read_device);
  const Node node = document(bundle, kDevicesPath);
  of_devices.read(node);
  std::set<std::string> ids;
  for (const EdgeDevice& d : devices_) {
    if (!ids.insert(d.id).second) node.fail(fmt::format("two devices are called '{}'", d.id));
    for (const EdgeCluster& c : d.clusters) {
      if (cores_.count(c.core) == 0)
        node.fail(fmt::format("{}: catalog/{} has no core '{}'", d.id, kCoresPath, c.core));
    }
  }
}

const EdgeDevice& EdgeDevices::device(std::string_view id) const {
  for (const EdgeDevice& d : devices_) {
    if (d.id == id) return d;
  }
  std::vector<std::string> ids;
  for (const EdgeDevice& d : devices_) ids.push_back(d.id);
  throw InputError(fmt::format("unknown device '{}'{}", id, did_you_mean(id, ids)));
}

const EdgeDevice* EdgeDevices::of_row(std::string_view row) const {
  const auto found =
      std::find_if(devices_.begin(), devices_.end(), [&](const auto& d) { return d.row == row; });
  return found == devices_.end() ? nullptr : &*found;
}

std::vector<EdgeShare> EdgeDevices::split(const EdgeDevice& device, int threads,
                                          EdgePlacement from) const {
  std::vector<EdgeCluster> order = device.clusters;
  if (from == EdgePlacement::kSlow) std::reverse(order.begin(), order.end());
  std::vector<EdgeShare> shares;
  FlopsPerSecond all;
  int left = threads;
  for (const EdgeCluster& c : order) {
    const int taken = std::min(left, c.cores);
    if (taken == 0) break;
    const FlopsPerSecond rate = c.clock * Flops(core(c.core).flops_per_cycle) * taken;
    shares.push_back({c.core, taken, rate});
    all += rate, left -= taken;
  }
  for (EdgeShare& s : shares) s.of_work = s.rate / all;
  return shares;
}

EdgeFacts EdgeDevices::facts(const EdgeDevice& device, int threads, EdgePlacement from) const {
  FlopsPerSecond rate;
  int cores = 0;
  const std::vector<EdgeShare> shares = split(device, threads, from);
  for (const EdgeShare& s : shares) rate += s.rate, cores += s.cores;
  const EdgeCore& first = core(shares.front().core);
  return {{{"rate", std::log(rate / kCoresRate)},
           {"threads", std::log(cores)},
           {"dot_product", first.dot_product ? 1.0 : 0.0},
           {first.isa, 1}},
          first.name};
}

EdgeFacts EdgeDevices::facts(const EdgeGpu& gpu) {
  return {{{"rate", std::log(gpu.rate / kGpuRate)}, {gpu.kind, 1}}, ""};
}

}  // namespace orrery
