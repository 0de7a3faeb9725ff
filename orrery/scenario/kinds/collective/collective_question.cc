#include "orrery/scenario/kinds/collective/collective_question.h"

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/network/algorithms/library_version.h"
#include "orrery/network/collectives/network_model.h"
#include "orrery/scenario/question/sweep.h"

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

std::string library_of(const std::string& stack, const std::string& of_trace) {
  if (!stack.empty()) return stack;
  return of_trace.empty() ? "nccl" : of_trace;
}

void declare(Fields& f, CollectiveQuestion& q) {
  const auto exchange = [&q] { return q.is_exchange(); };
  constexpr const char* kExchange = "kind moe-dispatch or moe-combine";
  const auto tuned = [&q] { return !q.is_exchange() && !q.flow.asked(); };
  constexpr const char* kTuned = "NCCL's kinds at analytical fidelity (flow level: flow_algorithm)";
  f.add("kind", q.kind, "the collective").one_of(collective_names());
  add_byte_sweep(f, "bytes", q.bytes, 1, kMostBytes,
                 "size of the message as nccl-tests counts it (for all-gather and reduce-scatter "
                 "the whole buffer)")
      .needs("another kind than moe-dispatch and moe-combine, and no trace",
             [&q] { return !q.is_exchange() && q.flow.chakra.empty(); });
  add_sweep(f, "gpus", q.gpus, kUsualCollectiveRanks, 2, kMostCollectiveRanks, "GPUs of the group");
  f.add("nodes", q.nodes,
        "nodes of different types, instead of hardware and gpus: 8 hgx-h100, 4 hgx-a100")
      .unit("nodes");
  f.add("stride", q.stride,
        "distance between the ranks of a group; the groups in between run at the same time")
      .range(1, kMostCollectiveRanks);
  f.add("stack", q.stack,
        "library or framework whose collectives are used; empty: nccl, or the one that a trace "
        "names")
      .one_of({"nccl", "rccl", "vllm", "trtllm", "sglang", "pytorch", "pytorch-loop"});
  f.add("algorithm", q.algorithm, "algorithm, as NCCL_ALGO; auto: NCCL's own choice")
      .one_of(algorithm_choices())
      .needs(kTuned, tuned);
  f.add("protocol", q.protocol, "protocol, as NCCL_PROTO; auto: NCCL's own choice")
      .one_of(protocol_choices())
      .needs(kTuned, tuned);
  f.custom(
       "nccl_version", Field::Type::kText,
       [&q](const Node& node) {
         q.nccl_version = node.as_string();
         if (q.nccl_version.empty()) return;
         try {
           asked_nccl_version(q.nccl_version);
         } catch (const InputError& e) {
           node.fail(e.what());
         }
       },
       [&q] { return nlohmann::ordered_json(q.nccl_version); },
       "version of NCCL, 2.7 or later (2.27, 2.27.3); empty: the one that was measured")
      .needs(kTuned, tuned);
  const auto library = [&q, tuned] {
    return tuned() && (q.stack.empty() || q.stack == "nccl" || q.stack == "rccl");
  };
  f.add("launch", q.launch,
        "launches of the kernels: eager, as nccl-tests does by default, or replayed from a CUDA "
        "graph")
      .one_of({"eager", "graph"})
      .needs("stack nccl or rccl at analytical fidelity", library);
  f.add("gpus_per_thread", q.gpus_per_thread,
        "GPUs for which one thread of the host launches, as -g of nccl-tests")
      .range(1, kMostCollectiveRanks)
      .needs("eager launches of stack nccl or rccl at analytical fidelity",
             [&q, library] { return library() && q.launch == "eager"; });
  f.add("mode", q.mode, "moe: which of DeepEP's kernels")
      .one_of({"normal", "low-latency"})
      .needs(kExchange, exchange);
  add_sweep(f, "tokens", q.tokens, 1, kMostTokens, "moe: tokens per rank")
      .needs(kExchange, exchange);
  f.add("hidden", q.exchange.hidden, "moe: hidden size").range(1, 1e6).needs(kExchange, exchange);
  f.add("top_k", q.exchange.top_k, "moe: experts per token")
      .range(1, 1000)
      .needs(kExchange, exchange);
  f.add("most_nodes", q.exchange.most_nodes,
        "moe: most nodes to which a token is sent; 0: any number")
      .range(0, kMostCollectiveRanks)
      .needs(kExchange, exchange);
  f.add("sms", q.exchange.sms, "moe: streaming multiprocessors that a normal kernel uses")
      .range(1, 1000)
      .needs("kind moe-dispatch or moe-combine in mode normal",
             [&q] { return q.is_exchange() && q.mode == "normal"; });
  f.add("imbalance", q.exchange.imbalance,
        "all-to-all, moe: load of the busiest rank relative to the mean")
      .range(1, 1e4);
  declare(f, q.flow);
}

}  // namespace orrery
