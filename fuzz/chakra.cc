// parse_chakra on any bytes: read or refused; what is read is written and read back the same, and
// replays on a few GPUs or is refused.
#include "orrery/flow/chakra/chakra.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/flow/chakra/chakra_replay.h"
#include "orrery/flow/simulation/flow_simulation.h"
#include "orrery/flow/topology/topology_build.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::ChakraTrace trace = orrery::parse_chakra(bytes, "fuzz.et");
    const std::string written = orrery::write_chakra(trace);
    if (orrery::parse_chakra(written, "written.et").nodes != trace.nodes) std::abort();
    orrery::ChakraReplay replay;
    replay.gpus = 4;
    replay.dimensions = {2, 2};
    replay.peak = orrery::FlopsPerSecond(1e15);
    replay.memory_bandwidth = orrery::BytesPerSecond(1e12);
    const orrery::Topology topology = orrery::dimensions_topology(
        {{orrery::Wiring::kRing, 4, orrery::BytesPerSecond(1e11), orrery::Seconds(1e-6)}});
    orrery::FlowOptions options;
    options.most_events = 100'000;
    const auto result =
        orrery::simulate_flows(topology, orrery::chakra_program({trace}, replay), options);
    if (!(result.makespan >= orrery::Seconds(0))) std::abort();
  });
  return 0;
}
