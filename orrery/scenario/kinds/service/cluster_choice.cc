#include "orrery/scenario/kinds/service/cluster_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/kinds.h"
#include "orrery/serving/routers/router.h"

namespace orrery {
namespace {

constexpr std::int64_t kMost = 1'000'000;

[[noreturn]] void refuse(std::string_view text, std::string_view part) {
  throw InputError(fmt::format(
      "pool '{}': '{}' is not understood; expected REPLICAS*GPU:tpN:ppN:dpN:epN:seqsN:tokensN, as "
      "in 2*a100-80g-sxm:tp4 or 4:tp2",
      text, part));
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMost) return {};
  return n;
}

// Reads one part such as "tp4".
bool set_part(PoolChoice& p, std::string_view part) {
  const std::size_t digits = part.find_first_of("0123456789");
  if (digits == std::string_view::npos) return false;
  const std::string_view key = part.substr(0, digits);
  const auto n = number(part.substr(digits));
  if (!n) return false;
  for (const auto& [name, size] :
       {std::pair{"tp", &p.tp}, {"pp", &p.pp}, {"dp", &p.dp}, {"ep", &p.ep}}) {
    if (key == name) return *size = static_cast<int>(*n), true;
  }
  if (key == "seqs") return p.seqs = n, true;
  if (key == "tokens") return p.tokens = n, true;
  return false;
}

// Reads a pool. A malformed one is refused with its place in the document.
PoolChoice read_pool(const Node& n) {
  try {
    return PoolChoice::parse(n.text());
  } catch (const InputError& e) {
    n.fail(e.what());
  }
}

}  // namespace

PoolChoice PoolChoice::parse(std::string_view text) {
  PoolChoice p;
  std::size_t at = std::min(text.find(':'), text.size());
  const std::string_view head = text.substr(0, at);
  const std::size_t star = head.find('*');
  if (star != std::string_view::npos) {
    const auto n = number(head.substr(0, star));
    if (!n) refuse(text, head);
    p.engines = *n;
    p.gpu = head.substr(star + 1);
  } else if (const auto n = number(head)) {
    p.engines = *n;
  } else {
    p.gpu = head;
  }
  if (head.empty()) refuse(text, head);
  while (at < text.size()) {
    const std::size_t next = std::min(text.find(':', at + 1), text.size());
    const std::string_view part = text.substr(at + 1, next - at - 1);
    if (!set_part(p, part)) refuse(text, part);
    at = next;
  }
  return p;
}

std::string PoolChoice::text() const {
  std::string out = engines ? std::to_string(*engines) : std::string();
  if (!gpu.empty()) out += (out.empty() ? "" : "*") + gpu;
  for (const auto& [name, size] : {std::pair{"tp", tp}, {"pp", pp}, {"dp", dp}, {"ep", ep}})
    if (size) out += fmt::format(":{}{}", name, *size);
  for (const auto& [name, limit] : {std::pair{"seqs", seqs}, {"tokens", tokens}})
    if (limit) out += fmt::format(":{}{}", name, *limit);
  return out;
}

ParallelPlan PoolChoice::layout(const ParallelPlan& first) const {
  return {.tp = tp.value_or(first.tp),
          .pp = pp.value_or(first.pp),
          .dp = dp.value_or(first.dp),
          .ep = ep.value_or(first.ep),
          .experts = first.experts};
}

namespace {

void declare_cluster(Fields& g, ClusterChoice& c) {
  g.add("replicas", c.replicas,
        "engines, each with its own GPUs; with autoscaling the number at the start, with "
        "disaggregation the engines that prefill")
      .range(1, 1e5);
  g.add("router", c.router, "how a replica is chosen for a request")
      .one_of(names_of(router_kinds()));
  g.add("router_refresh", c.router_refresh,
        "interval at which the router learns the loads of the replicas; 0 s: it always knows "
        "them");
  g.add("power_limit", c.power_limit,
        "power that all engines together may draw, as energy.scope counts it: their boards "
        "are capped at equal shares (rack_limit.h); default: no limit");
  g.custom(
       "pools", Field::Type::kList,
       [&c](const Node& n) {
         c.pools.clear();
         const std::vector<Node> items = n.is_list() ? n.items() : std::vector<Node>{n};
         for (const Node& item : items) {
           for (std::size_t at = 0; at <= item.text().size();) {  // flags: separated by commas
             const std::size_t next = std::min(item.text().find(',', at), item.text().size());
             c.pools.push_back(
                 read_pool(scalar_node(item.text().substr(at, next - at), n.where())));
             at = next + 1;
           }
         }
       },
       [&c] {
         nlohmann::ordered_json texts = nlohmann::ordered_json::array();
         for (const PoolChoice& pool : c.pools) texts.push_back(pool.text());
         return texts;
       },
       "further engines behind the same router: 2*a100-80g-sxm:tp4 (docs/serving.md)")
      .unit("pools");
}

void declare_disaggregation(Fields& g, ClusterChoice& c) {
  constexpr const char* kDecode = "disaggregation.decode";
  const auto apart = [&c] { return c.disaggregation.on(); };
  g.custom(
      "decode", Field::Type::kText,
      [&c](const Node& n) {
        c.disaggregation.decode.reset();
        if (!n.text().empty()) c.disaggregation.decode = read_pool(n);
      },
      [&c] {
        const auto& decode = c.disaggregation.decode;
        return nlohmann::ordered_json(decode ? decode->text() : std::string());
      },
      "engines that only decode, written as a pool (4:tp2); those of cluster.replicas then "
      "only prefill");
  g.add("transfer", c.disaggregation.transfer,
        "transfer of the KV cache: whole (after the prompt), or layerwise (while the prompt "
        "is computed)")
      .one_of({"whole", "layerwise"})
      .needs(kDecode, apart);
  g.add("router", c.disaggregation.router, "how a replica is chosen to decode a request")
      .one_of(names_of(router_kinds()))
      .needs(kDecode, apart);
}

void declare_failures(Fields& g, ClusterChoice& c, const CostChoice& cost) {
  g.add("mean_time", c.failures.mean_time,
        "mean time between failures of a replica; 0 s: no failures");
  g.add("restart", c.failures.restart, "time until a failed replica works again")
      .needs("failures.mean_time, failures.at, cost.tier spot or cost.preemptions_per_day",
             [&c, &cost] {
               return c.failures.mean_time > Seconds(0) || !c.failures.at.empty() ||
                      cost.may_lose();
             });
  g.add("at", c.failures.at,
        "times at which replicas fail: the first value for the first replica, and so on")
      .unit("s")
      .range(0, 1e7);
}

}  // namespace

void declare(Fields& f, ClusterChoice& c, const CostChoice& cost) {
  f.group("cluster", [&c](Fields& g) { declare_cluster(g, c); }, "replicas and their router");
  f.group(
      "disaggregation", [&c](Fields& g) { declare_disaggregation(g, c); },
      "disaggregated prefill and decode");
  f.group(
      "autoscale",
      [&c](Fields& g) { declare(g, c.autoscale, [&c] { return c.disaggregation.on(); }); },
      "autoscaling");
  f.group(
      "failures", [&c, &cost](Fields& g) { declare_failures(g, c, cost); }, "failures of replicas");
}

}  // namespace orrery
