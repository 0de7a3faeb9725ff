#include "orrery/hardware/fabric.h"

#include <algorithm>

#include "orrery/hardware/catalog_file.h"

namespace orrery {

void declare(Fields& f, Fabric& x) {
  f.add("id", x.id, "short lower-case name").required();
  f.add("name", x.name, "full name");
  f.add("aliases", x.aliases, "other names of the fabric, on one line");
  f.add_enum("kind", x.kind, {"switch", "mesh", "torus", "bus", "nic"}, "kind of connection")
      .required();
  f.add("links", x.links, "links of one GPU, or of one port").range(1, 1024).required();
  f.add("link_bandwidth", x.link_bandwidth, "nominal bandwidth of one link, each way")
      .range(1e6, 1e14)
      .required();
  f.add("latency", x.latency, "latency of one hop, without software").range(1e-9, 1e-2).required();
  f.add("max_gpus", x.max_gpus, "GPUs of the largest domain; 0: no limit of its own")
      .range(0, 1'000'000);
  f.add("peer_to_peer", x.peer_to_peer, "false: messages pass through host memory");
  f.add("in_network_reduction", x.in_network_reduction, "the switches reduce (SHARP)");
  f.add("sources", x.sources, "sources of the figures").required();
  f.add("unsure", x.unsure, "keys of doubtful values");
}

Fabric read_fabric(const Node& document) {
  Fabric x;
  Fields fields;
  declare(fields, x);
  read_catalog_file(document, fields, x.id, x.sources, x.unsure);
  if (x.kind == FabricKind::kMesh && x.max_gpus < 2) {
    document.fail("a mesh needs max_gpus: its links are divided among the peers");
  }
  return x;
}

BytesPerSecond Fabric::bandwidth() const { return links * link_bandwidth; }

BytesPerSecond Fabric::bandwidth(int ranks) const {
  if (kind != FabricKind::kMesh) return bandwidth();
  return bandwidth() * (std::min(ranks, max_gpus) - 1.0) / (max_gpus - 1.0);
}

}  // namespace orrery
