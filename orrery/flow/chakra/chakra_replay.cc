#include "orrery/flow/chakra/chakra_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <unordered_map>

#include "orrery/base/error.h"
#include "orrery/flow/chakra/chakra_groups.h"
#include "orrery/flow/chakra/chakra_ops.h"

namespace orrery {
namespace {

using Type = ChakraNode::Type;
using Groups = std::vector<std::vector<int>>;

// Ranks with the same trace.
struct TraceClass {
  const ChakraTrace* trace = nullptr;
  std::vector<int> ranks;
  std::vector<std::vector<std::size_t>> after;  // of each node, by index; own and added ones
  std::vector<std::size_t> order;               // a topological order
};

// A unit of the replay: a computation of a class, a collective of a set of groups, messages.
struct Entity {
  enum class What { kCompute, kCollective, kMessages } what = What::kCompute;
  std::vector<std::pair<std::size_t, std::size_t>> nodes;  // class, node
  Groups groups;                                           // kCollective
  std::vector<std::pair<int, int>> pairs;                  // kMessages
  std::set<std::size_t> after;
};

template <class Number>
std::size_t at(Number n) {
  return static_cast<std::size_t>(n);
}

class Replay {
 public:
  Replay(const std::vector<ChakraTrace>& traces, const ChakraReplay& options)
      : options_(options), groups_(options), ops_(options) {
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
    return ops_.take();
  }

 private:
  const ChakraNode& node(std::size_t c, std::size_t i) const { return classes_[c].trace->nodes[i]; }

  // The distance from the rank that has the node to its peer.
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
      // Equal up to the ranks and groups that it names.
      ChakraTrace plain = traces[r];
      plain.version.clear();
      std::map<std::string, std::string> roles;  // of groups: the order in which they are named
      std::vector<std::string> named;
      for (ChakraNode& n : plain.nodes) {
        if (n.type == Type::kCollective && groups_.knows(n.group)) {
          const auto [role, first] = roles.try_emplace(n.group, "");
          if (first) role->second = fmt::format("#{}", roles.size()), named.push_back(n.group);
          n.group = role->second;
        }
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
      named_.push_back(std::move(named));
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

  // The group of a rank of a class on which a node's collective runs; -1: none.
  int group_of(std::size_t c, const ChakraNode& n, int rank) {
    const std::vector<std::string>& own = named_[at(first_rank_[c])];
    const auto role = std::find(own.begin(), own.end(), n.group);
    if (role == own.end() || at(rank) >= named_.size()) return groups_.of_rank(n)[at(rank)];
    return groups_.of_rank("=" + named_[at(rank)][at(role - own.begin())])[at(rank)];
  }

  // The unit that a node occupies, one node at a time: the GPU or the CPU of a computation, the
  // communicator of a collective. Empty: none.
  std::string unit(const ChakraNode& n) const {
    if (n.type == Type::kComp) return n.on_cpu ? "cpu" : "gpu";
    return n.type == Type::kCollective ? "group " + groups_.key(n) : "";
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

  void collectives() {
    // The nodes that are the k-th collective of a group.
    std::map<std::pair<int, int>, std::vector<std::pair<std::size_t, std::size_t>>> meetings;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      std::map<std::string, int> met;
      for (std::size_t i : classes_[c].order) {
        const ChakraNode& n = node(c, i);
        if (n.type != Type::kCollective) continue;
        const int k = met[groups_.key(n)]++;
        for (int r : classes_[c].ranks) {
          const int g = group_of(c, n, r);
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
      const auto& ranks = groups_.ranks(group.first);
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
        last_ops_[number] = ops_.compute(n, classes_[c].ranks, after);
        return;
      case Entity::What::kCollective:
        last_ops_[number] = ops_.collective(n, e.groups, after);
        return;
      case Entity::What::kMessages: {
        FlowPattern p;
        for (const auto& [from, to] : e.pairs) p.send(from, to, n.size);
        last_ops_[number] = ops_.messages(n, std::move(p), after);
        return;
      }
    }
  }

  const ChakraReplay& options_;
  ChakraGroups groups_;
  ChakraOps ops_;
  std::vector<TraceClass> classes_;
  std::vector<std::vector<std::string>>
      named_;                    // by rank: groups, in the order in which it names them
  std::vector<int> first_rank_;  // whose trace stands for the class
  std::vector<std::size_t> class_of_;
  std::vector<std::vector<std::vector<std::size_t>>> entity_of_;  // of each node of each class
  std::vector<Entity> entities_;
  std::vector<std::vector<int>> last_ops_;
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

}  // namespace orrery
