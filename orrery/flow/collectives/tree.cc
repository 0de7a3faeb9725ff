// Trees. A broadcast goes down a binary tree, a reduce up it, in chunks. An all-reduce does both on
// two trees, each with half of the buffer, where the leaves of one are inner vertices of the other
// (Sanders, Speck and Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35, 2009; NCCL does the same). The vertices are runs of `inner` ranks,
// a chain in each node. Channels are those of a ring.
#include <algorithm>

#include "orrery/base/index.h"
#include "orrery/flow/collectives/flow_algorithm.h"

namespace orrery {
namespace {

enum class Direction { kUp, kDown, kBoth };

// Binary tree over `runs`, whose root is the first: the children of run i are 2i + 1 and 2i + 2.
// The first rank of a run is its vertex; the others hang on it as a chain.
void add_tree(FlowPattern& p, const std::vector<std::vector<int>>& runs, double share, int chunks,
              Direction direction) {
  const bool up = direction != Direction::kDown, down = direction != Direction::kUp;
  const int n = static_cast<int>(runs.size());
  const auto run = [&](int i) -> const std::vector<int>& { return runs[index(i)]; };
  const auto send = [&](int from, int to, const std::vector<int>& after) {
    const int s = p.send(from, to, Bytes(share / chunks), chunks);
    for (int other : after) p.wait(s, other);
    return s;
  };
  std::vector<std::vector<int>> gathered(runs.size());  // streams into each vertex on the way up
  for (int i = n - 1; up && i >= 0; --i) {
    std::vector<int> chain;
    for (std::size_t k = run(i).size(); k-- > 1;) chain = {send(run(i)[k], run(i)[k - 1], chain)};
    auto& in = gathered[index(i)];
    in.insert(in.end(), chain.begin(), chain.end());
    if (i == 0) continue;
    const int parent = (i - 1) / 2;
    gathered[index(parent)].push_back(send(run(i)[0], run(parent)[0], in));
  }
  std::vector<std::vector<int>> came(runs.size());  // the stream into each vertex on the way down
  came[0] = gathered[0];
  for (int i = 0; down && i < n; ++i) {
    const int parent = (i - 1) / 2;
    if (i > 0) {
      came[index(i)] = {send(run(parent)[0], run(i)[0], came[index(parent)])};
    }
    std::vector<int> chain = came[index(i)];
    for (std::size_t k = 1; k < run(i).size(); ++k) chain = {send(run(i)[k - 1], run(i)[k], chain)};
  }
}

}  // namespace

constinit const FlowAlgorithmEntry tree_flow{
    .offers =
        [](Collective::Kind kind) {
          return kind == Collective::Kind::kAllReduce || is_rooted(kind);
        },
    .messages =
        [](FlowPattern& p, const FlowCollective& c, const std::vector<int>& ranks, int chunks) {
          if (is_rooted(c.kind)) {
            return add_tree(
                p, channel_runs(ranks, c.inner, 0), 1, chunks,
                c.kind == Collective::Kind::kBroadcast ? Direction::kDown : Direction::kUp);
          }
          for (int channel = 0; channel < c.channels; ++channel) {
            // The second tree has the first one's leaves as inner vertices.
            auto runs = channel_runs(ranks, c.inner, channel);
            add_tree(p, runs, 0.5 / c.channels, chunks, Direction::kBoth);
            std::reverse(runs.begin(), runs.end());
            add_tree(p, runs, 0.5 / c.channels, chunks, Direction::kBoth);
          }
        },
    .in_chunks = [](Collective::Kind) { return true; },
    .needs_runs = true,
};

}  // namespace orrery
