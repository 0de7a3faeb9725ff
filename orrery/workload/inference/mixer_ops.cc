#include "orrery/workload/inference/mixer_ops.h"

namespace orrery {

void add_mixer(OpList& ops, const RankStep& step, const Mixer& mixer) {
  std::visit([&](const auto& m) { add_ops(ops, step, m); }, mixer);
  ops.depend_on(OpSource::kTokens);
}

}  // namespace orrery
