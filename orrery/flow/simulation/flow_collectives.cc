#include "orrery/flow/simulation/flow_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "orrery/base/error.h"

namespace orrery {
namespace {

using CollectiveKind = Collective::Kind;
constexpr std::array<std::string_view, 6> kNames = {
    "ring", "bidirectional-ring", "tree", "halving-doubling", "direct", "hierarchical"};

// NCCL's Simple protocol: a buffer of 4 MiB a channel in 8 steps.
constexpr double kSliceBytes = 512 * 1024;
constexpr int kMostChunks = 64, kMostHierarchyChunks = 4;

[[noreturn]] void refuse(const FlowCollective& c) {
  throw InputError(
      fmt::format("no {} algorithm for {} at flow level", to_text(c.algorithm), to_text(c.kind)));
}

// From or to the first rank.
bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

// `share` of the buffer around the ring that `order` gives.
void add_ring(FlowPattern& p, CollectiveKind kind, const std::vector<int>& order, double share,
              int chunks) {
  const int n = static_cast<int>(order.size());
  const auto at = [&](int i) { return order[static_cast<std::size_t>(i % n)]; };
  if (is_rooted(kind)) {
    const bool out = kind == CollectiveKind::kBroadcast;
    for (int i = 0, before = -1; i + 1 < n; ++i) {
      const int from = out ? at(i) : at(n - 1 - i), to = out ? at(i + 1) : at(n - 2 - i);
      const int s = p.send(from, to, Bytes(share / chunks), chunks);
      if (before >= 0) p.wait(s, before);
      before = s;
    }
    return;
  }
  const int count = kind == CollectiveKind::kAllReduce ? 2 * (n - 1) : n - 1;
  const int first = static_cast<int>(p.streams().size());
  for (int i = 0; i < n; ++i) p.send(at(i), at(i + 1), Bytes(share / n), count);
  for (int i = 0; i < n; ++i) p.wait(first + (i + 1) % n, first + i, 1);
}

// Binary tree over `runs`, whose root is the first: the children of run i are 2i + 1 and 2i + 2.
// The first rank of a run is its vertex, the others hang on it as a chain.
void add_tree(FlowPattern& p, const std::vector<std::vector<int>>& runs, double share, int chunks,
              bool up, bool down) {
  const int n = static_cast<int>(runs.size());
  const auto run = [&](int i) -> const std::vector<int>& {
    return runs[static_cast<std::size_t>(i)];
  };
  const auto send = [&](int from, int to, const std::vector<int>& after) {
    const int s = p.send(from, to, Bytes(share / chunks), chunks);
    for (int other : after) p.wait(s, other);
    return s;
  };
  std::vector<std::vector<int>> gathered(runs.size());  // streams into each vertex on the way up
  for (int i = n - 1; up && i >= 0; --i) {
    std::vector<int> chain;
    for (std::size_t k = run(i).size(); k-- > 1;) chain = {send(run(i)[k], run(i)[k - 1], chain)};
    auto& in = gathered[static_cast<std::size_t>(i)];
    in.insert(in.end(), chain.begin(), chain.end());
    if (i == 0) continue;
    const int parent = (i - 1) / 2;
    gathered[static_cast<std::size_t>(parent)].push_back(send(run(i)[0], run(parent)[0], in));
  }
  std::vector<std::vector<int>> came(runs.size());  // the stream into each vertex on the way down
  came[0] = gathered[0];
  for (int i = 0; down && i < n; ++i) {
    const int parent = (i - 1) / 2;
    if (i > 0) {
      came[static_cast<std::size_t>(i)] = {
          send(run(parent)[0], run(i)[0], came[static_cast<std::size_t>(parent)])};
    }
    std::vector<int> chain = came[static_cast<std::size_t>(i)];
    for (std::size_t k = 1; k < run(i).size(); ++k) chain = {send(run(i)[k - 1], run(i)[k], chain)};
  }
}

// The ranks in runs of `inner`, each entered at the channel's one.
std::vector<std::vector<int>> channel_runs(const std::vector<int>& ranks, int inner, int channel) {
  std::vector<std::vector<int>> runs;
  for (std::size_t base = 0; base < ranks.size(); base += static_cast<std::size_t>(inner)) {
    runs.emplace_back();
    for (int k = 0; k < inner; ++k) {
      runs.back().push_back(ranks[base + static_cast<std::size_t>((channel + k) % inner)]);
    }
  }
  return runs;
}

// Halving (reduce-scatter) with partners n/2, n/4, ... away and doubling (all-gather) back.
void add_exchanges(FlowPattern& p, CollectiveKind kind, const std::vector<int>& ranks) {
  const int n = static_cast<int>(ranks.size());
  std::vector<std::pair<int, double>> steps;  // distance, share of the buffer
  for (int d = n / 2; d >= 1; d /= 2) steps.emplace_back(d, static_cast<double>(d) / n);
  if (kind == CollectiveKind::kAllGather) std::reverse(steps.begin(), steps.end());
  if (kind == CollectiveKind::kAllReduce) {
    auto back = steps;
    steps.insert(steps.end(), back.rbegin(), back.rend());
  }
  std::vector<int> sent(ranks.size(), -1), before(ranks.size(), -1);
  int last = 0;  // distance of the step before
  for (const auto& [distance, share] : steps) {
    before = sent;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      sent[i] = p.send(ranks[i], ranks[i ^ static_cast<std::size_t>(distance)], Bytes(share));
      if (last == 0) continue;
      // After what came in at the step before, and what went out.
      p.wait(sent[i], before[i ^ static_cast<std::size_t>(last)]);
      p.wait(sent[i], before[i]);
    }
    last = distance;
  }
}

void add_direct(FlowPattern& p, CollectiveKind kind, const std::vector<int>& ranks) {
  const std::size_t n = ranks.size();
  if (kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kSend) {
    for (std::size_t i = 1; i < n; ++i) p.send(ranks[0], ranks[i], Bytes(1));
    return;
  }
  if (kind == CollectiveKind::kReduce) {
    for (std::size_t i = 1; i < n; ++i) p.send(ranks[i], ranks[0], Bytes(1));
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 1; k < n; ++k) {
      p.send(ranks[i], ranks[(i + k) % n], Bytes(1.0 / static_cast<double>(n)));
    }
  }
}

// One after the other: the ring of a channel.
std::vector<int> joined_runs(const std::vector<std::vector<int>>& runs) {
  std::vector<int> order;
  for (const auto& run : runs) order.insert(order.end(), run.begin(), run.end());
  return order;
}

int default_chunks(Bytes bytes, int most) {
  return static_cast<int>(
      std::clamp(std::ceil(bytes.value() / kSliceBytes), 1.0, static_cast<double>(most)));
}

}  // namespace

std::string_view to_text(FlowAlgorithm algorithm) {
  return kNames[static_cast<std::size_t>(algorithm)];
}

FlowAlgorithm parse_flow_algorithm(std::string_view text) {
  const std::string name = canonical_name(text);
  const auto it = std::find(kNames.begin(), kNames.end(), name);
  if (it != kNames.end()) return static_cast<FlowAlgorithm>(it - kNames.begin());
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  throw InputError(fmt::format("unknown algorithm '{}'{}; at flow level: {}", text,
                               did_you_mean(text, known), fmt::join(known, ", ")));
}

std::vector<std::vector<int>> strided_groups(int ranks, int stride, int gpus) {
  if (ranks < 1 || stride < 1 || gpus < 1 || stride > gpus / ranks ||
      gpus % (ranks * stride) != 0) {
    throw InputError(
        fmt::format("groups of {} ranks {} apart do not divide {} GPUs", ranks, stride, gpus));
  }
  std::vector<std::vector<int>> groups;
  for (int base = 0; base < gpus; base += ranks * stride) {
    for (int first = base; first < base + stride; ++first) {
      groups.emplace_back();
      for (int k = 0; k < ranks; ++k) groups.back().push_back(first + k * stride);
    }
  }
  return groups;
}

int FlowCollectives::groups(std::vector<std::vector<int>> groups) {
  std::vector<int> all;
  for (const auto& g : groups) {
    if (g.empty()) throw InputError("a group without ranks");
    all.insert(all.end(), g.begin(), g.end());
  }
  std::sort(all.begin(), all.end());
  const auto twice = std::adjacent_find(all.begin(), all.end());
  if (twice != all.end()) throw InputError(fmt::format("gpu{} is in a group twice", *twice));
  groups_.push_back(std::move(groups));
  return static_cast<int>(groups_.size()) - 1;
}

template <class Make>
int FlowCollectives::pattern(const Key& key, Make make) {
  const auto [it, fresh] = patterns_.try_emplace(key, static_cast<int>(program_.patterns.size()));
  if (fresh) {
    FlowPattern p;
    for (const auto& ranks : groups_[static_cast<std::size_t>(std::get<0>(key))]) {
      for (int r : ranks) p.include(r);
      if (ranks.size() > 1) make(p, ranks);
    }
    program_.patterns.push_back(std::move(p));
  }
  return it->second;
}

int FlowCollectives::op(const FlowCollective& c, int pattern, std::vector<int> after) {
  FlowOp op;
  op.name = c.name.empty() ? std::string(to_text(c.kind)) : c.name;
  op.pattern = pattern;
  op.scale = c.bytes.value();
  op.after = std::move(after);
  program_.ops.push_back(std::move(op));
  return static_cast<int>(program_.ops.size()) - 1;
}

std::vector<int> FlowCollectives::add(const FlowCollective& c, int groups,
                                      const std::vector<int>& after) {
  if (!(c.bytes >= Bytes(0)) || !std::isfinite(c.bytes.value())) {
    throw InputError(fmt::format("a collective of {} bytes", c.bytes.value()));
  }
  if (c.channels < 1 || c.inner < 1 || c.channels > c.inner || c.chunks < 0) {
    throw InputError(
        fmt::format("{} channels of {} inner ranks, {} chunks: channels are 1 to inner, "
                    "chunks not negative",
                    c.channels, c.inner, c.chunks));
  }
  const CollectiveKind kind = c.kind;
  const int chunks = c.chunks > 0 ? c.chunks : default_chunks(c.bytes / c.channels, kMostChunks);
  const auto key = [&](int phase, int part) {
    return Key{groups, static_cast<int>(kind),        static_cast<int>(c.algorithm), phase,
               part,   c.inner * 100'000 + c.channels};
  };
  const auto single = [&](int k, auto make) {
    return std::vector<int>{op(c, pattern(key(0, k), make), after)};
  };
  for (const auto& ranks : groups_[static_cast<std::size_t>(groups)]) {
    const auto n = ranks.size();
    const bool divided = c.algorithm == FlowAlgorithm::kHierarchical ||
                         c.algorithm == FlowAlgorithm::kTree || c.channels > 1;
    if (divided && n % static_cast<std::size_t>(c.inner) != 0) {
      throw InputError(fmt::format("a group of {} ranks is not made of runs of {}", n, c.inner));
    }
    if (c.algorithm == FlowAlgorithm::kHalvingDoubling && !std::has_single_bit(n)) {
      throw InputError(
          fmt::format("halving-doubling needs a power of two ranks, the group has {}", n));
    }
    if (kind == CollectiveKind::kSend && n > 2) {
      throw InputError(fmt::format("a send is between two ranks, the group has {}", n));
    }
  }
  switch (c.algorithm) {
    case FlowAlgorithm::kRing:
    case FlowAlgorithm::kBidirectionalRing: {
      if (kind == CollectiveKind::kAllToAll || kind == CollectiveKind::kSend) refuse(c);
      const bool both = c.algorithm == FlowAlgorithm::kBidirectionalRing;
      const int parts = is_rooted(kind) ? chunks : 1;
      return single(parts, [&](FlowPattern& p, const std::vector<int>& ranks) {
        const double share = (both ? 0.5 : 1.0) / c.channels;
        for (int channel = 0; channel < c.channels; ++channel) {
          const auto order =
              c.channels > 1 ? joined_runs(channel_runs(ranks, c.inner, channel)) : ranks;
          add_ring(p, kind, order, share, parts);
          if (!both) continue;
          // The same ring the other way round, from the same first rank.
          auto back = order;
          std::reverse(back.begin() + 1, back.end());
          add_ring(p, kind, back, share, parts);
        }
      });
    }
    case FlowAlgorithm::kTree:
      if (kind != CollectiveKind::kAllReduce && !is_rooted(kind)) refuse(c);
      return single(chunks, [&](FlowPattern& p, const std::vector<int>& ranks) {
        if (is_rooted(kind)) {
          const bool out = kind == CollectiveKind::kBroadcast;
          return add_tree(p, channel_runs(ranks, c.inner, 0), 1, chunks, !out, out);
        }
        for (int channel = 0; channel < c.channels; ++channel) {
          // The second tree has the first one's leaves as inner vertices.
          auto runs = channel_runs(ranks, c.inner, channel);
          add_tree(p, runs, 0.5 / c.channels, chunks, true, true);
          std::reverse(runs.begin(), runs.end());
          add_tree(p, runs, 0.5 / c.channels, chunks, true, true);
        }
      });
    case FlowAlgorithm::kHalvingDoubling:
      if (kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kAllGather &&
          kind != CollectiveKind::kReduceScatter) {
        refuse(c);
      }
      return single(
          0, [&](FlowPattern& p, const std::vector<int>& ranks) { add_exchanges(p, kind, ranks); });
    case FlowAlgorithm::kDirect: {
      const auto make = [&](FlowPattern& p, const std::vector<int>& ranks) {
        add_direct(p, kind, ranks);
      };
      auto done = single(0, make);
      if (kind == CollectiveKind::kAllReduce) done = {op(c, pattern(key(0, 0), make), done)};
      return done;
    }
    case FlowAlgorithm::kHierarchical:
      return hierarchical(c, groups, after);
  }
  return {};
}

std::vector<int> FlowCollectives::hierarchical(const FlowCollective& c, int groups,
                                               const std::vector<int>& after) {
  if (c.kind != CollectiveKind::kAllReduce && c.kind != CollectiveKind::kAllGather &&
      c.kind != CollectiveKind::kReduceScatter) {
    refuse(c);
  }
  auto [it, fresh] = split_.try_emplace({groups, c.inner});
  if (fresh) {
    std::vector<std::vector<int>> inside, between;
    for (const auto& ranks : groups_[static_cast<std::size_t>(groups)]) {
      const auto inner = static_cast<std::size_t>(c.inner);
      for (std::size_t base = 0; base < ranks.size(); base += inner) {
        const auto first = ranks.begin() + static_cast<std::ptrdiff_t>(base);
        inside.emplace_back(first, first + c.inner);
      }
      for (std::size_t place = 0; place < inner; ++place) {
        between.emplace_back();
        for (std::size_t r = place; r < ranks.size(); r += inner)
          between.back().push_back(ranks[r]);
      }
    }
    const int in = this->groups(std::move(inside));
    const int out = this->groups(std::move(between));
    it->second = {in, out};
  }
  const auto [in, out] = it->second;
  const int chunks = c.chunks > 0 ? c.chunks : default_chunks(c.bytes, kMostHierarchyChunks);
  FlowCollective inner;
  inner.bytes = c.bytes / chunks;
  inner.name = c.name;
  FlowCollective outer = inner;
  outer.kind = c.kind;
  outer.bytes = inner.bytes / c.inner;
  // Each phase of a chunk after the phase before and after the same phase of the chunk before.
  std::vector<int> scattered, joined, gathered;
  const auto both = [](const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  };
  for (int k = 0; k < chunks; ++k) {
    std::vector<int> ready = after;
    if (c.kind != CollectiveKind::kAllGather) {
      inner.kind = CollectiveKind::kReduceScatter;
      ready = scattered = add(inner, in, scattered.empty() ? after : scattered);
    }
    ready = joined = add(outer, out, joined.empty() ? ready : both(ready, joined));
    if (c.kind != CollectiveKind::kReduceScatter) {
      inner.kind = CollectiveKind::kAllGather;
      gathered = add(inner, in, gathered.empty() ? ready : both(ready, gathered));
    }
  }
  return c.kind == CollectiveKind::kReduceScatter ? joined : gathered;
}

}  // namespace orrery
