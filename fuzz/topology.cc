// read_topology on any YAML: a topology whose paths join their ends and carry a ring all-reduce, or
// a refusal.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/flow/collectives/flow_collectives.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::TopologyFile file =
        orrery::read_topology(orrery::parse_yaml(text, "fuzz.yaml"), orrery::Catalog());
    const orrery::Topology& t = file.topology;
    const int gpus = std::min(t.gpus(), 16);
    std::vector<orrery::LinkId> path;
    for (int to = 0; to < gpus; ++to) {
      path.clear();
      t.route(0, to, path);
      orrery::VertexId at = 0;
      for (orrery::LinkId id : path) {
        const orrery::Link& link = t.links()[static_cast<std::size_t>(id)];
        if (link.from != at) std::abort();
        at = link.to;
      }
      if (at != to) std::abort();
    }
    orrery::FlowProgram program;
    orrery::FlowCollectives collectives(program);
    orrery::FlowCollective c;
    c.bytes = orrery::Bytes(1e6);
    collectives.add(c, collectives.groups(orrery::strided_groups(gpus, 1, gpus)));
    orrery::FlowOptions options;
    options.most_events = 100'000;
    const auto result = orrery::simulate_flows(t, program, options);
    if (!(result.makespan >= orrery::Seconds(0))) std::abort();
  });
  return 0;
}
