#include "orrery/scenario/collective_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/network/network_model.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;  // a petabyte
constexpr std::int64_t kMostRanks = 1'000'000;
constexpr double kUs = 1e-6;

Collective::Kind kind_of(const std::string& name) {
  const auto& names = collective_names();
  return static_cast<Collective::Kind>(std::find(names.begin(), names.end(), name) - names.begin());
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = {"all-reduce", "all-gather", "reduce-scatter",
                                                 "all-to-all", "broadcast",  "send"};
  return names;
}

void declare(Fields& f, CollectiveQuestion& q) {
  f.add("kind", q.kind, "which collective").one_of(collective_names());
  add_byte_sweep(f, "bytes", q.bytes, 1, kMostBytes,
                 "message: nccl-tests' size (all-gather, reduce-scatter: the whole buffer)");
  add_sweep(f, "gpus", q.gpus, 2, kMostRanks, "GPUs of the group");
  f.add("stride", q.stride,
        "distance between members of the group; groups side by side run at once")
      .range(1, kMostRanks);
  f.add("stack", q.stack, "whose collectives").one_of({"nccl", "rccl", "vllm", "trtllm", "sglang"});
  declare(f, q.flow);
}

std::vector<Point> answer_collectives(const CollectiveQuestion& q, const std::string& gpu_name,
                                      const std::string& node, const Bundle& bundle) {
  if (q.flow.asked()) {
    return answer_flows(
        q.flow,
        {kind_of(q.kind), q.bytes, q.gpus, !q.gpus_given, q.stride, q.stack, gpu_name, node},
        bundle);
  }
  const Catalog catalog(bundle);
  const Gpu gpu = catalog.gpu(gpu_name.empty() ? catalog.node_type(node).gpus.at(0) : gpu_name);
  std::vector<Point> points;
  for (const std::int64_t ranks : q.gpus) {
    const int n = static_cast<int>(ranks);
    const Cluster cluster(catalog, gpu, n * q.stride, node);
    const ParallelPlan plan{.tp = q.stride, .pp = 1, .dp = n, .ep = 1};
    const auto network = make_network_model(cluster, plan, q.stack, bundle);
    for (const std::int64_t bytes : q.bytes) {
      const Collective c{kind_of(q.kind), Collective::Group::kData, n,
                         Bytes(static_cast<double>(bytes))};
      const CollectiveTime t = network->predict(c);
      Point p;
      p.at = {{"collective", q.kind},
              {"gpu", gpu.id},
              {"node", cluster.node_type().id},
              {"gpus", ranks},
              {"bytes", bytes},
              {"algorithm", t.algorithm},
              {"bound", to_text(t.bound)}};
      const double gb = static_cast<double>(bytes) / 1e9;
      p.metrics.push_back(metric("time", "us", t.time, kUs));
      p.metrics.push_back(rate_metric("algbw", "GB/s", gb, t.time));
      p.metrics.push_back(
          rate_metric("busbw", "GB/s", (t.bus_bandwidth * t.time.value).value() / 1e9, t.time));
      p.notes.push_back(network->provenance(c));
      points.push_back(std::move(p));
    }
  }
  return points;
}

}  // namespace orrery
