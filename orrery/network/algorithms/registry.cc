// The tables that find an algorithm's entries, and what the formulas of the tuner share.
#include <array>
#include <bit>

#include "orrery/base/index.h"
#include "orrery/network/algorithms/curve_algorithm.h"
#include "orrery/network/algorithms/tuner_algorithm.h"

namespace orrery {

namespace {

struct AnalyticalModels {
  const CurveAlgorithm* curve = nullptr;
  const TunerAlgorithm* tuner = nullptr;
};

constexpr std::array<AnalyticalModels, kCollectiveAlgorithms> kModels = {{
#define CURVE(name) .curve = &name##_curve,
#define TUNER(name) .tuner = &name##_tuner,
#define FLOW(name)
#define ALGORITHM(value, name, models, doc) {models},
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef CURVE
#undef TUNER
#undef FLOW
}};

}  // namespace

const CurveAlgorithm& curve_algorithm(CollectiveAlgorithm algorithm) {
  return *kModels[index(algorithm)].curve;
}

const TunerAlgorithm& tuner_algorithm(CollectiveAlgorithm algorithm) {
  return *kModels[index(algorithm)].tuner;
}

std::size_t generation_of(const TunerCall& call) {
  return static_cast<std::size_t>(call.graph.generation);
}

std::size_t nodes_column(const TunerCall& call) {
  return call.graph.nodes <= 2 ? static_cast<std::size_t>(call.graph.nodes - 1) : 2;
}

double channels_bandwidth(const TunerCall& call) {
  const NcclGraph& g = call.graph;
  return g.channels * ((g.nodes <= 2 ? g.intra : g.inter).value() / 1e9);
}

double ll_limit(const TunerCall& call) {
  const NcclTables& t = call.tables();
  if (call.graph.nodes == 1) return t.ll_one_node[generation_of(call)];
  return (call.graph.amd_cpu ? t.ll_amd : t.ll_intel)[nodes_column(call)];
}

double ring_steps(const TunerCall& call) {
  const int ranks = call.graph.ranks();
  if (call.is_all_reduce()) return 2.0 * (ranks - 1);
  return call.is_gather_or_scatter() ? ranks - 1 : ranks;
}

double ring_steps_across(const TunerCall& call) {
  const int nodes = call.graph.nodes;
  if (nodes == 1) return 0;
  if (call.is_all_reduce()) return 2.0 * (nodes - 1);
  return call.is_gather_or_scatter() ? nodes - 1 : nodes;
}

double tree_depth(const TunerCall& call) {
  return std::bit_width(static_cast<unsigned>(call.graph.nodes)) - 1;
}

}  // namespace orrery
