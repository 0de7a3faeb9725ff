#include "orrery/network/collectives/expert_exchange.h"

#include <algorithm>
#include <cmath>

#include "orrery/network/algorithms/cost.h"

namespace orrery {
namespace {

double token_bytes(const ExpertExchange& x) {
  const double hidden = x.hidden;
  return x.combine || !x.narrow ? 2 * hidden : hidden * (1 + 4.0 / 128) + 16;
}

// Expected number of ranks with experts of a token that goes to this many nodes.
double ranks_hit(const ExpertExchange& x, const GroupLink& link, double touched_nodes) {
  const double inner = link.ranks_per_node;
  const double picks = x.top_k / touched_nodes;  // for the ranks of one node
  return touched_nodes * inner * (1 - std::pow(1 - 1 / inner, picks));
}

}  // namespace

ExpertExchange exchange_of(const ExpertMove& move, int sms) {
  ExpertExchange x;
  x.combine = move.combine, x.low_latency = move.low_latency, x.narrow = move.narrow;
  x.tokens = move.tokens;
  x.hidden = move.hidden, x.top_k = move.top_k;
  x.most_nodes = move.most_nodes, x.groups = move.groups, x.top_groups = move.top_groups;
  x.sms = sms;
  x.imbalance = move.imbalance;
  return x;
}

double places_hit(double places, int picks) {
  return places * (1 - std::pow(1 - 1 / places, picks));
}

double nodes_hit(const ExpertExchange& x, double nodes) {
  double hit = places_hit(nodes, x.top_k);
  if (x.most_nodes > 0) hit = std::min<double>(hit, x.most_nodes);
  if (x.top_groups >= x.groups) return hit;
  const double groups = x.groups, picked = x.top_groups, each = groups / nodes;
  if (each < 1) return std::min(hit, places_hit(std::max(1.0, picked / each), x.top_k));
  // C(G - each, g) / C(G, g) with a real `each`: the product over the picks of (1 - each / left).
  double missed = 1;
  for (int i = 0; i < x.top_groups; ++i) missed *= std::max(0.0, 1 - each / (groups - i));
  return std::min(hit, nodes * (1 - missed));
}

ExpertBytes expert_bytes(const ExpertExchange& x, const GroupLink& link) {
  const double inner = link.ranks_per_node, nodes = link.nodes, ranks = inner * nodes;
  const double each = static_cast<double>(x.tokens) * token_bytes(x);
  if (x.low_latency) {
    const double all = each * x.top_k;
    return {Bytes(all * (inner - 1) / ranks), Bytes(all * (ranks - inner) / ranks), Bytes(all)};
  }
  const double touched_nodes = nodes_hit(x, nodes);
  const double touched_ranks = ranks_hit(x, link, touched_nodes);
  return {Bytes(each * touched_ranks * (inner - 1) / inner),
          Bytes(each * touched_nodes * (nodes - 1) / nodes),
          Bytes(each * (link.nodes > 1 ? touched_nodes : touched_ranks))};
}

ExpertTime expert_time(const ExpertExchange& x, const GroupLink& link, const ExpertCurve& inside,
                       BytesPerSecond scale_up, const ExpertCurve& between) {
  const ExpertBytes bytes = expert_bytes(x, link);
  BytesPerSecond rate = scale_up * inside.share;
  if (!x.low_latency && inside.each_sm > BytesPerSecond(0))
    rate = std::min(rate, inside.each_sm * x.sms);
  // A normal kernel sends at most one copy of a token to a place, so that the busiest place
  // receives at most all tokens.
  double by_ranks = x.imbalance, by_nodes = x.imbalance;
  if (!x.low_latency) {
    const double nodes = nodes_hit(x, link.nodes);
    by_nodes = std::min(by_nodes, link.nodes / nodes);
    by_ranks = std::min(by_ranks, link.nodes * link.ranks_per_node / ranks_hit(x, link, nodes));
  }
  ExpertTime t;
  t.start = inside.start;
  if (link.ranks_per_node > 1) t.inside = bytes.inside * by_ranks / rate;
  if (link.nodes > 1) {
    t.start += between.start;
    t.between = bytes.between * by_nodes / (link.bandwidth * between.share);
  }
  t.total = t.start + overlapped(t.inside, t.between);
  return t;
}

const ExpertCurve* expert_curve(const std::vector<ExpertCurve>& curves, const ExpertExchange& x) {
  for (const ExpertCurve& c : curves) {
    if (c.combine == x.combine && c.low_latency == x.low_latency) return &c;
  }
  return nullptr;
}

}  // namespace orrery
