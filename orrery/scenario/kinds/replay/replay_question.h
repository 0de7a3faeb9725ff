// A question about a recorded trace: the time of a traced training iteration, run again as it was
// and as it might be (orrery/replay/trace_what_if.h).
//
//   replay: {trace: rank0.json.gz, scale: [attention=0.5, cpu=0.8]}
//   replay: {trace: rank0.json.gz, from_gpu: a100-80g-sxm}      # on another GPU
//   hardware: {gpu: h100-sxm}
//   replay: {trace: rank0.json.gz, dp: [16, 64]}                # with other numbers of replicas
//
// `hardware` names the GPU and the node type to which the measured times are carried over; without
// it they stay. The answer has a point for each combination of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/fields.h"

namespace orrery {

struct QuestionKind;

struct ReplayQuestion {
  // One rank's file, .json or .json.gz of torch.profiler, or the text of such a JSON file.
  std::string trace;
  std::optional<std::int64_t> step;  // the n of one ProfilerStep#n; absent: the mean of all
  std::vector<std::string> scale;    // "gemm=0.5": factors of a class of work or of the host
  std::string from_gpu, from_node;   // catalog names of the machine that was traced
  std::int64_t dp = 0, from_dp = 0;  // data-parallel replicas; 0: as traced
  std::int64_t tp = 0, from_tp = 0;  // tensor-parallel ranks; 0: as traced
  std::int64_t pp = 0, from_pp = 0;  // pipeline stages; 0: as traced
};

// Defined by the kind (replay_kind.cc).
const QuestionKind& kind_of(const ReplayQuestion& question);

void declare(Fields& fields, ReplayQuestion& question);

}  // namespace orrery
