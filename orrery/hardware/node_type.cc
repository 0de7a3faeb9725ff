#include "orrery/hardware/node_type.h"

#include "orrery/hardware/catalog_file.h"

namespace orrery {

void declare(Fields& f, NodeType& n) {
  f.add("id", n.id, "short lower-case name").required();
  f.add("name", n.name, "full name");
  f.add("aliases", n.aliases, "other names of the node type, on one line");
  f.add("gpus", n.gpus, "ids of the GPUs with which it is built").required();
  f.add("gpu_count", n.gpu_count, "GPUs of one node").range(1, 1'000'000).required();
  f.add("gpus_per_host", n.gpus_per_host, "GPUs of one host computer; 0: all of the node")
      .range(0, 1024);
  f.add("scale_up", n.scale_up, "fabric that connects all GPUs of the node");
  f.group(
      "bridge",
      [&n](Fields& b) {
        b.add("fabric", n.bridge.fabric, "fabric of the group").required();
        b.add("gpus", n.bridge.gpus, "GPUs of one group").range(2, 1024);
      },
      "links within groups of neighbouring GPUs, in addition to scale_up");
  f.group(
      "pcie", [&n](Fields& p) { declare(p, n.pcie); },
      "switches and sockets of a node whose cards PCI Express connects");
  f.group(
      "network",
      [&n](Fields& w) {
        w.add("fabric", n.network.fabric, "fabric of the ports").required();
        w.add("ports", n.network.ports, "ports of the whole node").range(1, 1'000'000).required();
        w.add("leaf_nodes", n.network.leaf_nodes, "nodes below one leaf switch; 0: all")
            .range(0, 1'000'000);
        w.add("oversubscription", n.network.oversubscription,
              "bandwidth of a leaf's ports over that of its uplinks")
            .range(1, 1000);
      },
      "ports that leave the node");
  f.add("host_memory", n.host_memory, "main memory of the whole node").range(1e9, 1e16);
  f.group(
      "power",
      [&n](Fields& p) {
        p.add("idle", n.power.idle, "power of all but the GPUs' boards while the GPUs wait")
            .range(0, 1e7);
        p.add("loaded", n.power.loaded, "the same while the GPUs draw their limit").range(0, 1e7);
        p.add("supply_efficiency", n.power.supply_efficiency,
              "share of the power at the wall that the power supplies pass on")
            .range(0.5, 1);
      },
      "power of everything but the GPUs' boards, behind the power supplies");
  f.add("sources", n.sources, "sources of the figures").required();
  f.add("unsure", n.unsure, "keys of doubtful values");
}

NodeType read_node_type(const Node& document) {
  NodeType n;
  Fields fields;
  declare(fields, n);
  read_catalog_file(document, fields, n.id, n.sources, n.unsure);
  if (n.gpu_count > 1 && n.scale_up.empty()) {
    document.fail("'scale_up' is missing: a fabric must connect the GPUs of the node");
  }
  if (n.power.idle.has_value() != n.power.loaded.has_value())
    document.at("power").fail("expected both idle and loaded");
  if (n.power.idle && *n.power.loaded < *n.power.idle)
    document.at("power").fail("loaded is less than idle");
  if (n.gpus.empty()) document.at("gpus").fail("expected at least one GPU's id");
  if (n.gpus_per_host > 0 && n.gpu_count % n.gpus_per_host != 0) {
    document.at("gpus_per_host").fail("does not divide gpu_count");
  }
  if (n.network.oversubscription > 1 && n.network.leaf_nodes == 0)
    document.at("network").fail("oversubscription needs leaf_nodes: the nodes below one leaf");
  if (n.pcie.described()) check(n.pcie, n.gpu_count, document);
  if (!n.bridge.fabric.empty() && n.gpu_count % n.bridge.gpus != 0) {
    document.at("bridge").fail("bridge.gpus does not divide gpu_count");
  }
  return n;
}

}  // namespace orrery
