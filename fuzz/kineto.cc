// parse_kineto on any bytes: read or refused in one line; what is read is in order, every index in
// it leads somewhere, and its graph, if it has one, replays: in order, the parts adding up to the
// whole.
#include "orrery/replay/kineto.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "fuzz/refusal.h"
#include "orrery/replay/trace_replay.h"

namespace {

void check(const orrery::KinetoTrace& t) {
  const orrery::KinetoEvent* last = nullptr;
  for (const orrery::KinetoEvent& e : t.events) {
    if (last != nullptr && e.start < last->start) std::abort();
    if (e.duration.count() < 0 || e.name >= t.names.size() || e.lane >= t.lanes.size() ||
        e.detail >= t.details.size()) {
      std::abort();
    }
    last = &e;
  }
}

void check(const orrery::KinetoTrace& t, const orrery::TraceGraph& g) {
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    for (auto e = g.nodes[i].first_edge; e < g.edges_end(i); ++e) {
      if (g.edges[e].from >= i) std::abort();
    }
  }
  const orrery::ReplayedTrace r = orrery::replay_trace(g);
  const orrery::ReplayBreakdown b = orrery::break_down(t, g, r);
  orrery::Seconds path = b.cpu + b.lags + b.unexplained;
  for (const auto& c : b.classes) path += c.critical;
  if (!(std::abs((path - b.total).value()) <= 1e-6 * (1 + b.total.value()))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  orrery::read_or_refuse([&] {
    const orrery::KinetoTrace t = orrery::parse_kineto(text, "fuzz.json");
    check(t);
    check(t, orrery::build_trace_graph(t, "fuzz.json"));
  });
  return 0;
}
