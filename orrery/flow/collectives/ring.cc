// Rings of n ranks for a buffer of S bytes.
//
// All-reduce: 2(n-1) messages of S/n from each rank to the next; reduce-scatter and all-gather:
// n-1. Each message follows the one that came in before it. Broadcast and reduce: a chain from the
// first rank, or to it, in chunks. Several channels divide the buffer: channel c passes every node
// from its GPU c on, and so through port c. A bidirectional ring sends half of the buffer each way
// round.
#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {
namespace {

// `share` of the buffer around the ring that `order` gives.
void add_ring(FlowPattern& p, Collective::Kind kind, const std::vector<int>& order, double share,
              int chunks) {
  const int n = static_cast<int>(order.size());
  const auto at = [&](int i) { return order[index(i % n)]; };
  if (is_rooted(kind)) {
    const bool out = kind == Collective::Kind::kBroadcast;
    for (int i = 0, before = -1; i + 1 < n; ++i) {
      const int from = out ? at(i) : at(n - 1 - i), to = out ? at(i + 1) : at(n - 2 - i);
      const int s = p.send(from, to, Bytes(share / chunks), chunks);
      if (before >= 0) p.wait(s, before);
      before = s;
    }
    return;
  }
  const int count = kind == Collective::Kind::kAllReduce ? 2 * (n - 1) : n - 1;
  const int first = static_cast<int>(p.streams().size());
  for (int i = 0; i < n; ++i) p.send(at(i), at(i + 1), Bytes(share / n), count);
  for (int i = 0; i < n; ++i) p.wait(first + (i + 1) % n, first + i, 1);
}

// The ring of a channel: the runs one after the other.
std::vector<int> channel_ring(const FlowCollective& c, const std::vector<int>& ranks, int channel) {
  if (c.channels == 1) return ranks;
  std::vector<int> order;
  for (const auto& run : channel_runs(ranks, c.inner, channel))
    order.insert(order.end(), run.begin(), run.end());
  return order;
}

bool has_ring(Collective::Kind kind) {
  return kind != Collective::Kind::kAllToAll && kind != Collective::Kind::kSend;
}

}  // namespace

constinit const FlowAlgorithmEntry ring_flow{
    .offers = has_ring,
    .messages =
        [](FlowPattern& p, const FlowCollective& c, const std::vector<int>& ranks, int chunks) {
          for (int channel = 0; channel < c.channels; ++channel)
            add_ring(p, c.kind, channel_ring(c, ranks, channel), 1.0 / c.channels, chunks);
        },
    .in_chunks = is_rooted,
};

constinit const FlowAlgorithmEntry bidirectional_ring_flow{
    .offers = has_ring,
    .messages =
        [](FlowPattern& p, const FlowCollective& c, const std::vector<int>& ranks, int chunks) {
          for (int channel = 0; channel < c.channels; ++channel) {
            std::vector<int> order = channel_ring(c, ranks, channel);
            add_ring(p, c.kind, order, 0.5 / c.channels, chunks);
            // The same ring the other way round, from the same first rank.
            std::reverse(order.begin() + 1, order.end());
            add_ring(p, c.kind, order, 0.5 / c.channels, chunks);
          }
        },
    .in_chunks = is_rooted,
};

}  // namespace orrery
