#include "orrery/scenario/question/collective_question.h"

#include "orrery/network/collectives/network_model.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;  // a petabyte
constexpr std::int64_t kMostTokens = 100'000'000;

std::vector<std::string> algorithm_choices() {
  std::vector<std::string> names = {"auto"};
  for (const std::string& name : collective_algorithm_names(AlgorithmModel::kTuner))
    names.push_back(name);
  names.emplace_back(kHierarchicalAllReduce);
  return names;
}

std::vector<std::string> protocol_choices() {
  std::vector<std::string> names = {"auto"};
  for (const std::string& name : collective_protocol_names()) names.push_back(name);
  return names;
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = {"all-reduce", "all-gather",   "reduce-scatter",
                                                 "all-to-all", "broadcast",    "send",
                                                 "reduce",     "moe-dispatch", "moe-combine"};
  return names;
}

void declare(Fields& f, CollectiveQuestion& q) {
  const auto exchange = [&q] { return q.is_exchange(); };
  constexpr const char* kExchange = "kind moe-dispatch or moe-combine";
  const auto tuned = [&q] { return !q.is_exchange() && !q.flow.asked(); };
  constexpr const char* kTuned = "NCCL's kinds at analytical fidelity (flow level: flow_algorithm)";
  f.add("kind", q.kind, "which collective").one_of(collective_names());
  add_byte_sweep(f, "bytes", q.bytes, 1, kMostBytes,
                 "message: nccl-tests' size (all-gather, reduce-scatter: the whole buffer)")
      .needs("another kind than moe-dispatch and moe-combine, and no trace",
             [&q] { return !q.is_exchange() && q.flow.chakra.empty(); });
  add_sweep(f, "gpus", q.gpus, 2, kMostCollectiveRanks, "GPUs of the group");
  f.add("nodes", q.nodes,
        "nodes that differ, in place of hardware and gpus: 8 hgx-h100, 4 hgx-a100")
      .unit("nodes");
  f.add("stride", q.stride,
        "distance between members of the group; groups side by side run at once")
      .range(1, kMostCollectiveRanks);
  f.add("stack", q.stack, "whose collectives")
      .one_of({"nccl", "rccl", "vllm", "trtllm", "sglang", "pytorch", "pytorch-loop"});
  f.add("algorithm", q.algorithm, "as NCCL_ALGO; auto: NCCL's choice")
      .one_of(algorithm_choices())
      .needs(kTuned, tuned);
  f.add("protocol", q.protocol, "as NCCL_PROTO; auto: NCCL's choice")
      .one_of(protocol_choices())
      .needs(kTuned, tuned);
  f.add("mode", q.mode, "moe: DeepEP's kernels")
      .one_of({"normal", "low-latency"})
      .needs(kExchange, exchange);
  add_sweep(f, "tokens", q.tokens, 1, kMostTokens, "moe: tokens of one rank")
      .needs(kExchange, exchange);
  f.add("hidden", q.exchange.hidden, "moe: hidden size").range(1, 1e6).needs(kExchange, exchange);
  f.add("top_k", q.exchange.top_k, "moe: experts a token")
      .range(1, 1000)
      .needs(kExchange, exchange);
  f.add("most_nodes", q.exchange.most_nodes, "moe: nodes a token may go to; 0: any")
      .range(0, kMostCollectiveRanks)
      .needs(kExchange, exchange);
  f.add("sms", q.exchange.sms, "moe: multiprocessors of a normal kernel")
      .range(1, 1000)
      .needs("kind moe-dispatch or moe-combine in mode normal",
             [&q] { return q.is_exchange() && q.mode == "normal"; });
  f.add("imbalance", q.exchange.imbalance,
        "all-to-all, moe: load of the heaviest rank over the mean")
      .range(1, 1e4);
  declare(f, q.flow);
}

}  // namespace orrery
