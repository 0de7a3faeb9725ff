#include "orrery/scenario/kinds/replay/replay_question.h"

#include "orrery/scenario/question/sweep.h"

namespace orrery {
namespace {

constexpr std::int64_t kMostReplayRanks = 1 << 22;
constexpr double kLastStep = 1e15;

}  // namespace

void declare(Fields& f, ReplayQuestion& q) {
  f.add("trace", q.trace, "one rank's trace: .json or .json.gz of torch.profiler").verbatim();
  f.add("step", q.step, "one ProfilerStep#N; empty: the mean of all steps").range(0, kLastStep);
  f.add("scale", q.scale,
        "factors of the time of a class of kernels (gemm, attention, elementwise, norm, optimizer, "
        "communication, copy, other) or of the host (cpu): gemm=0.5")
      .unit("factors")
      .repeats();
  f.add("from_gpu", q.from_gpu, "the GPU that was traced");
  f.add("from_node", q.from_node, "node type of the traced run; empty: the usual node of the GPU");
  const auto ranks = [&f](const char* name, std::int64_t& value, const char* doc) {
    add_sweep(f, name, value, 0, kMostReplayRanks, doc);
  };
  ranks("dp", q.dp, "number of data-parallel replicas in the what-if; 0: as traced");
  ranks("from_dp", q.from_dp,
        "data-parallel replicas of the traced run; 0: the only size of a group");
  ranks("tp", q.tp, "degree of tensor parallelism in the what-if, with from_tp; 0: as traced");
  ranks("from_tp", q.from_tp, "degree of tensor parallelism of the traced run");
  ranks("pp", q.pp,
        "pipeline stages in the what-if, with the same micro-batches and with from_pp; 0: as "
        "traced");
  ranks("from_pp", q.from_pp, "pipeline stages of the traced run");
}

}  // namespace orrery
