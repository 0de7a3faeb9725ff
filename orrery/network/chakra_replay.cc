#include "orrery/network/chakra_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_map>

#include "orrery/base/error.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Comm = ChakraNode::Comm;
using Kind = Collective::Kind;
using Groups = std::vector<std::vector<int>>;

// Ranks with the same trace.
struct TraceClass {
  const ChakraTrace* trace = nullptr;
  std::vector<int> ranks;
  std::vector<std::vector<std::size_t>> after;  // of each node, by index; own and added ones
  std::vector<std::size_t> order;               // a topological order
};

// What runs as one: a computation of a class, a collective of a set of groups, messages.
struct Entity {
  enum class What { kCompute, kCollective, kMessages } what = What::kCompute;
  std::vector<std::pair<std::size_t, std::size_t>> nodes;  // class, node
  Groups groups;                                           // kCollective
  std::vector<std::pair<int, int>> pairs;                  // kMessages
  std::set<std::size_t> after;
};

class Replay {
 public:
  Replay(const std::vector<ChakraTrace>& traces, const ChakraReplay& options)
      : options_(options), collectives_(program_) {
    if (options.gpus < 1) throw InputError("a replay needs at least one GPU");
    classify(traces);
    for (TraceClass& c : classes_) order(c);
  }

  FlowProgram run() {
    entity_of_.resize(classes_.size());
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      entity_of_[c].resize(classes_[c].trace->nodes.size());
    }
    computations();
    collectives();
    messages();
    connect();
    emit();
    return std::move(program_);
  }

 private:
  const ChakraNode& node(std::size_t c, std::size_t i) const { return classes_[c].trace->nodes[i]; }

  // The peer of a send or receive, counted from the rank that has the node.
  static int offset(const ChakraNode& n, int rank) {
    const bool send = n.type == Type::kSend;
    const int peer = send ? n.to : n.from, own = send ? n.from : n.to;
    if (peer < 0) {
      throw InputError(
          fmt::format("node {} ('{}') has no {}", n.id, n.name, send ? "comm_dst" : "comm_src"));
    }
    return peer - (own >= 0 ? own : rank);
  }

  void classify(const std::vector<ChakraTrace>& traces) {
    if (traces.empty()) throw InputError("no traces to replay");
    std::map<std::string, std::size_t> known;
    for (std::size_t r = 0; r < traces.size(); ++r) {
      // Equal up to the ranks that it names.
      ChakraTrace plain = traces[r];
      plain.version.clear();
      for (ChakraNode& n : plain.nodes) {
        if (n.type != Type::kSend && n.type != Type::kRecv) continue;
        const int d = offset(n, static_cast<int>(r));
        n.name += fmt::format("@{}", d);
        n.from = n.to = -1;
      }
      const auto [it, fresh] = known.try_emplace(write_chakra(plain), classes_.size());
      if (fresh) {
        classes_.push_back({&traces[r], {}, {}, {}});
        first_rank_.push_back(static_cast<int>(r));
      }
      classes_[it->second].ranks.push_back(static_cast<int>(r));
    }
    if (classes_.size() == 1) {
      classes_[0].ranks.resize(static_cast<std::size_t>(options_.gpus));
      std::iota(classes_[0].ranks.begin(), classes_[0].ranks.end(), 0);
    } else if (static_cast<int>(traces.size()) != options_.gpus) {
      throw InputError(
          fmt::format("{} different traces do not fit {} GPUs: one for each, or all "
                      "the same, is needed",
                      traces.size(), options_.gpus));
    }
    class_of_.resize(static_cast<std::size_t>(options_.gpus));
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (int r : classes_[c].ranks) class_of_[static_cast<std::size_t>(r)] = c;
    }
  }

  // Nodes that use the same unit one at a time: the GPU's or the CPU's computations, a group's
  // communicator. Empty: none.
  std::string unit(const ChakraNode& n) const {
    if (n.type == Type::kComp) return n.on_cpu ? "cpu" : "gpu";
    return n.type == Type::kCollective ? "group " + group_key(n) : "";
  }

  void order(TraceClass& c) const {
    const auto& nodes = c.trace->nodes;
    std::unordered_map<std::uint64_t, std::size_t> index;
    for (std::size_t i = 0; i < nodes.size(); ++i) index[nodes[i].id] = i;
    std::vector<std::vector<std::size_t>> followers(nodes.size());
    std::vector<std::size_t> waits(nodes.size());
    c.after.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::uint64_t id : nodes[i].depends) {
        const std::size_t before = index.at(id);
        c.after[i].push_back(before);
        followers[before].push_back(i);
      }
      waits[i] = nodes[i].depends.size();
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (waits[i] == 0) ready.push(i);
    }
    std::map<std::string, std::size_t> last;
    while (!ready.empty()) {
      const std::size_t i = ready.top();
      ready.pop();
      c.order.push_back(i);
      if (const std::string u = unit(nodes[i]); !u.empty()) {
        const auto [it, fresh] = last.try_emplace(u, i);
        if (!fresh) c.after[i].push_back(it->second), it->second = i;
      }
      for (std::size_t f : followers[i]) {
        if (--waits[f] == 0) ready.push(f);
      }
    }
  }

  void computations() {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t i = 0; i < classes_[c].trace->nodes.size(); ++i) {
        const Type type = node(c, i).type;
        if (type == Type::kCollective || type == Type::kSend || type == Type::kRecv) continue;
        entity_of_[c][i].push_back(entities_.size());
        entities_.push_back({Entity::What::kCompute, {{c, i}}, {}, {}, {}});
      }
    }
  }

  // --- groups ---------------------------------------------------------------------------------

  std::string group_key(const ChakraNode& n) const {
    if (!n.group.empty() && options_.groups.contains(n.group)) return "=" + n.group;
    std::string mask;
    for (std::size_t d = 0; d < options_.dimensions.size(); ++d) {
      const bool involved = n.dimensions.empty() || (d < n.dimensions.size() && n.dimensions[d]);
      mask += involved ? '1' : '0';
    }
    return mask;
  }

  // For every rank the number of its group of this key; -1 where it has none.
  const std::vector<int>& groups_of(const ChakraNode& n) {
    const std::string key = group_key(n);
    const auto [it, fresh] = group_numbers_.try_emplace(key);
    if (!fresh) return it->second;
    std::vector<int>& number = it->second;
    number.assign(static_cast<std::size_t>(options_.gpus), -1);
    Groups groups;
    if (key.starts_with('=')) {
      groups = options_.groups.at(key.substr(1));
    } else {
      // Ranks that agree in the coordinates that are not involved.
      std::map<int, std::vector<int>> by_rest;
      for (int r = 0; r < options_.gpus; ++r) {
        int rest = 0, stride = 1, left = r;
        for (std::size_t d = 0; d < options_.dimensions.size(); ++d) {
          const int size = options_.dimensions[d];
          if (key[d] == '0') rest += left % size * stride;
          stride *= size;
          left /= size;
        }
        by_rest[rest].push_back(r);
      }
      for (auto& [rest, ranks] : by_rest) groups.push_back(std::move(ranks));
    }
    for (auto& ranks : groups) {
      for (int r : ranks) {
        if (r < 0 || r >= options_.gpus) {
          throw InputError(fmt::format("a communicator has rank {} of {}", r, options_.gpus));
        }
      }
      const auto [known, added] =
          group_ids_.try_emplace(ranks, static_cast<int>(all_groups_.size()));
      if (added) all_groups_.push_back(ranks);
      for (int r : ranks) number[static_cast<std::size_t>(r)] = known->second;
    }
    return number;
  }

  void collectives() {
    // Which nodes come together for the k-th time in a group.
    std::map<std::pair<int, int>, std::vector<std::pair<std::size_t, std::size_t>>> meetings;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      std::map<std::string, int> met;
      for (std::size_t i : classes_[c].order) {
        const ChakraNode& n = node(c, i);
        if (n.type != Type::kCollective) continue;
        const int k = met[group_key(n)]++;
        const std::vector<int>& number = groups_of(n);
        for (int r : classes_[c].ranks) {
          const int g = number[static_cast<std::size_t>(r)];
          if (g < 0) {
            throw InputError(fmt::format("node {} ('{}'): rank {} is in no group '{}'", n.id,
                                         n.name, r, n.group));
          }
          auto& at = meetings[{g, k}];
          if (at.empty() || at.back() != std::pair{c, i}) at.emplace_back(c, i);
        }
      }
    }
    std::map<std::vector<std::pair<std::size_t, std::size_t>>, std::size_t> known;
    for (auto& [group, nodes] : meetings) {
      std::sort(nodes.begin(), nodes.end());
      nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
      const auto& ranks = all_groups_[static_cast<std::size_t>(group.first)];
      const ChakraNode& n = node(nodes[0].first, nodes[0].second);
      for (const auto& [c, i] : nodes) {
        if (node(c, i).comm != n.comm || node(c, i).size != n.size) {
          throw InputError(
              fmt::format("nodes {} and {} ('{}', '{}') are one collective of different "
                          "types or sizes",
                          n.id, node(c, i).id, n.name, node(c, i).name));
        }
      }
      for (int r : ranks) {
        const std::size_t c = class_of_[static_cast<std::size_t>(r)];
        const bool comes =
            std::any_of(nodes.begin(), nodes.end(), [&](const auto& at) { return at.first == c; });
        if (!comes) {
          throw InputError(
              fmt::format("node {} ('{}'): rank {} of its group never comes", n.id, n.name, r));
        }
      }
      const auto [it, fresh] = known.try_emplace(nodes, entities_.size());
      if (fresh) {
        entities_.push_back({Entity::What::kCollective, nodes, {}, {}, {}});
        for (const auto& [c, i] : nodes) entity_of_[c][i].push_back(it->second);
      }
      entities_[it->second].groups.push_back(ranks);
    }
  }

  // --- messages -------------------------------------------------------------------------------

  void messages() {
    // Receives by (sender, receiver, tag), in order.
    struct Receives {
      std::vector<std::pair<std::size_t, std::size_t>> nodes;
      std::size_t taken = 0;
    };
    std::map<std::tuple<int, int, std::uint32_t>, Receives> receives;
    const int n = options_.gpus;
    const bool round = classes_.size() == 1;
    const auto peer = [&](std::size_t c, const ChakraNode& at, int rank) {
      const int p = rank + offset(at, first_rank_[c]);
      if (round) return (p % n + n) % n;
      if (p < 0 || p >= n) {
        throw InputError(fmt::format("node {} ('{}') names rank {} of {}", at.id, at.name, p, n));
      }
      return p;
    };
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t i : classes_[c].order) {
        const ChakraNode& at = node(c, i);
        if (at.type != Type::kRecv) continue;
        for (int r : classes_[c].ranks)
          receives[{peer(c, at, r), r, at.tag}].nodes.emplace_back(c, i);
      }
    }
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      for (std::size_t i : classes_[c].order) {
        const ChakraNode& at = node(c, i);
        if (at.type != Type::kSend) continue;
        const std::size_t number = entities_.size();
        Entity e{Entity::What::kMessages, {{c, i}}, {}, {}, {}};
        for (int r : classes_[c].ranks) {
          const int to = peer(c, at, r);
          const auto it = receives.find({r, to, at.tag});
          if (it == receives.end() || it->second.taken == it->second.nodes.size()) {
            throw InputError(fmt::format("node {} ('{}'): nobody receives what rank {} sends to {}",
                                         at.id, at.name, r, to));
          }
          e.nodes.push_back(it->second.nodes[it->second.taken++]);
          e.pairs.emplace_back(r, to);
        }
        std::sort(e.nodes.begin(), e.nodes.end());
        e.nodes.erase(std::unique(e.nodes.begin(), e.nodes.end()), e.nodes.end());
        for (const auto& [cc, ii] : e.nodes) entity_of_[cc][ii].push_back(number);
        entities_.push_back(std::move(e));
      }
    }
    for (const auto& [key, r] : receives) {
      if (r.taken == r.nodes.size()) continue;
      const ChakraNode& at = node(r.nodes[r.taken].first, r.nodes[r.taken].second);
      throw InputError(fmt::format("node {} ('{}'): rank {} receives what rank {} never sends",
                                   at.id, at.name, std::get<1>(key), std::get<0>(key)));
    }
  }

  // --- order and output -----------------------------------------------------------------------

  void connect() {
    for (std::size_t e = 0; e < entities_.size(); ++e) {
      for (const auto& [c, i] : entities_[e].nodes) {
        for (std::size_t before : classes_[c].after[i]) {
          for (std::size_t b : entity_of_[c][before]) {
            if (b != e) entities_[e].after.insert(b);
          }
        }
      }
    }
  }

  Seconds duration(const ChakraNode& n) const {
    if (n.duration > Seconds(0)) return n.duration;
    const bool computes = n.type == Type::kComp;
    const bool moves = n.type == Type::kMemLoad || n.type == Type::kMemStore;
    if (!computes && !moves) return Seconds(0);
    if (n.operations == 0 && n.tensor == Bytes(0)) return Seconds(0);
    if (!options_.peak || !options_.memory_bandwidth) {
      throw InputError(
          fmt::format("node {} ('{}') has no duration; name a GPU to time its num_ops "
                      "and tensor_size",
                      n.id, n.name));
    }
    return std::max(Flops(n.operations) / *options_.peak, n.tensor / *options_.memory_bandwidth);
  }

  void emit() {
    std::vector<std::size_t> waits(entities_.size(), 0);
    std::vector<std::vector<std::size_t>> followers(entities_.size());
    for (std::size_t e = 0; e < entities_.size(); ++e) {
      waits[e] = entities_[e].after.size();
      for (std::size_t b : entities_[e].after) followers[b].push_back(e);
    }
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
    for (std::size_t e = 0; e < entities_.size(); ++e) {
      if (waits[e] == 0) ready.push(e);
    }
    last_ops_.resize(entities_.size());
    std::size_t emitted = 0;
    while (!ready.empty()) {
      const std::size_t e = ready.top();
      ready.pop();
      emit(e);
      ++emitted;
      for (std::size_t f : followers[e]) {
        if (--waits[f] == 0) ready.push(f);
      }
    }
    if (emitted < entities_.size()) {
      throw InputError("the ranks' traces wait for each other in a circle");
    }
  }

  void emit(std::size_t number) {
    const Entity& e = entities_[number];
    std::vector<int> after;
    for (std::size_t b : e.after) {
      after.insert(after.end(), last_ops_[b].begin(), last_ops_[b].end());
    }
    const auto [c, i] = e.nodes[0];
    const ChakraNode& n = node(c, i);
    switch (e.what) {
      case Entity::What::kCompute:
        last_ops_[number] = {compute(n, duration(n), classes_[c].ranks, after)};
        return;
      case Entity::What::kCollective:
        last_ops_[number] = collective(n, e.groups, after);
        return;
      case Entity::What::kMessages: {
        FlowPattern p;
        for (const auto& [from, to] : e.pairs) p.send(from, to, n.size);
        last_ops_[number] = {messages(n, std::move(p), std::move(after))};
        return;
      }
    }
  }

  int messages(const ChakraNode& n, FlowPattern pattern, std::vector<int> after) {
    program_.patterns.push_back(std::move(pattern));
    FlowOp op = FlowOp::run(n.name, static_cast<int>(program_.patterns.size()) - 1);
    op.after = std::move(after);
    program_.ops.push_back(std::move(op));
    return static_cast<int>(program_.ops.size()) - 1;
  }

  // What one rank sends of a gather, or gets of a scatter.
  static Bytes part(const ChakraNode& n, std::size_t ranks) {
    return n.comm == Comm::kGather ? n.size : n.size / static_cast<double>(ranks);
  }

  int compute(const ChakraNode& n, Seconds time, const std::vector<int>& ranks,
              std::vector<int> after) {
    FlowOp op;
    op.name = n.name;
    op.time = time;
    op.after = std::move(after);
    if (static_cast<int>(ranks.size()) < options_.gpus) op.gpus = ranks;
    program_.ops.push_back(std::move(op));
    return static_cast<int>(program_.ops.size()) - 1;
  }

  std::vector<int> collective(const ChakraNode& n, const Groups& groups,
                              const std::vector<int>& after) {
    FlowCollective c;
    c.name = n.name;
    c.bytes = n.size;
    c.algorithm = options_.algorithm;
    const std::size_t ranks = groups[0].size();
    switch (n.comm) {
      case Comm::kBarrier:
        c.bytes = Bytes(0);
        break;
      case Comm::kAllReduce:
        break;
      case Comm::kAllGather:
        c.kind = Kind::kAllGather;
        c.bytes = n.size * static_cast<double>(ranks);
        break;
      case Comm::kReduceScatter:
      case Comm::kReduceScatterBlock:
        c.kind = Kind::kReduceScatter;
        break;
      case Comm::kAllToAll:
        c.kind = Kind::kAllToAll;
        c.algorithm = FlowAlgorithm::kDirect;
        break;
      case Comm::kBroadcast:
      case Comm::kReduce:
        c.kind = n.comm == Comm::kReduce ? Kind::kReduce : Kind::kBroadcast;
        c.algorithm = FlowAlgorithm::kTree;
        break;
      case Comm::kGather:
      case Comm::kScatter:
        // All passes the first rank's link.
        c.kind = Kind::kSend;
        c.bytes = part(n, ranks) * (static_cast<double>(ranks) - 1);
        break;
    }
    if (options_.collective_time) {
      const Collective asked{c.kind, Collective::Group::kTensor, static_cast<int>(ranks), c.bytes};
      const int stride = ranks > 1 ? groups[0][1] - groups[0][0] : 1;
      std::vector<int> all;
      for (const auto& g : groups) all.insert(all.end(), g.begin(), g.end());
      return {compute(n, options_.collective_time(asked, std::max(stride, 1)), all, after)};
    }
    if (c.kind == Kind::kSend) {
      FlowPattern p;
      for (const auto& g : groups) {
        p.include(g[0]);
        for (std::size_t i = 1; i < g.size(); ++i) {
          n.comm == Comm::kGather ? p.send(g[i], g[0], part(n, ranks))
                                  : p.send(g[0], g[i], part(n, ranks));
        }
      }
      return {messages(n, std::move(p), after)};
    }
    // Runs of neighbours only in groups that are made of them.
    const bool runs = std::all_of(groups.begin(), groups.end(), [&](const auto& g) {
      return g.size() % static_cast<std::size_t>(options_.inner) == 0 &&
             (g.size() < 2 || g[1] == g[0] + 1) &&
             g.size() > static_cast<std::size_t>(options_.inner);
    });
    if (runs) c.inner = options_.inner, c.channels = options_.channels;
    if (!runs && c.algorithm == FlowAlgorithm::kHierarchical) c.algorithm = FlowAlgorithm::kRing;
    const auto [it, fresh] = sets_.try_emplace(groups, 0);
    if (fresh) it->second = collectives_.groups(groups);
    return collectives_.add(c, it->second, after);
  }

  const ChakraReplay& options_;
  FlowProgram program_;
  FlowCollectives collectives_;
  std::vector<TraceClass> classes_;
  std::vector<int> first_rank_;  // whose trace stands for the class
  std::vector<std::size_t> class_of_;
  std::vector<std::vector<std::vector<std::size_t>>> entity_of_;  // of each node of each class
  std::vector<Entity> entities_;
  std::vector<std::vector<int>> last_ops_;
  std::map<std::string, std::vector<int>> group_numbers_;
  std::map<std::vector<int>, int> group_ids_;
  Groups all_groups_;
  std::map<Groups, int> sets_;
};

}  // namespace

FlowProgram chakra_program(const std::vector<ChakraTrace>& traces, const ChakraReplay& replay) {
  std::int64_t product = 1;
  for (int d : replay.dimensions) product *= d;
  if (!replay.dimensions.empty() && product != replay.gpus) {
    throw InputError(fmt::format("the dimensions make {} ranks, not {}", product, replay.gpus));
  }
  return Replay(traces, replay).run();
}

std::map<std::string, std::vector<std::vector<int>>> read_communicator_groups(
    const Node& document) {
  if (!document.is_map()) document.fail("expected a map of group names to lists of ranks");
  std::map<std::string, std::vector<std::vector<int>>> groups;
  for (std::size_t i = 0; i < document.keys().size(); ++i) {
    const Node& list = document.items()[i];
    if (!list.is_list() || list.items().empty()) list.fail("expected a list of ranks");
    std::vector<int> ranks;
    for (const Node& rank : list.items()) {
      const std::int64_t r = rank.as_int();
      if (r < 0 || r > 1'000'000) rank.fail("expected a rank");
      ranks.push_back(static_cast<int>(r));
    }
    groups[document.keys()[i]].push_back(std::move(ranks));
  }
  return groups;
}

}  // namespace orrery
