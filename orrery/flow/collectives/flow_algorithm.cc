#include "orrery/flow/collectives/flow_algorithm.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery {
namespace {

struct Slot {
  const FlowAlgorithmEntry* entry = nullptr;
};

constexpr std::array<Slot, kCollectiveAlgorithms> kSlots = {{
#define FLOW(name) .entry = &name##_flow
#define CURVE(name)
#define TUNER(name)
#define ALGORITHM(value, name, models, doc) {models},
#include "orrery/base/index.h"
#include "orrery/workload/ops/collective_algorithms.def"
#undef ALGORITHM
#undef TUNER
#undef CURVE
#undef FLOW
}};

}  // namespace

const FlowAlgorithmEntry* flow_algorithm(CollectiveAlgorithm algorithm) {
  return kSlots[index(algorithm)].entry;
}

int default_chunks(Bytes bytes, int most) {
  constexpr double kSliceBytes = 512 * 1024;
  return static_cast<int>(
      std::clamp(std::ceil(bytes.value() / kSliceBytes), 1.0, static_cast<double>(most)));
}

bool is_rooted(Collective::Kind kind) {
  return kind == Collective::Kind::kBroadcast || kind == Collective::Kind::kReduce;
}

bool reduces_or_gathers(Collective::Kind kind) {
  return kind == Collective::Kind::kAllReduce || kind == Collective::Kind::kAllGather ||
         kind == Collective::Kind::kReduceScatter;
}

std::vector<std::vector<int>> channel_runs(const std::vector<int>& ranks, int inner, int channel) {
  std::vector<std::vector<int>> runs;
  for (std::size_t base = 0; base < ranks.size(); base += static_cast<std::size_t>(inner)) {
    runs.emplace_back();
    for (int k = 0; k < inner; ++k) {
      runs.back().push_back(ranks[base + index((channel + k) % inner)]);
    }
  }
  return runs;
}

}  // namespace orrery
