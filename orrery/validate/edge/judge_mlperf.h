// `orrery validate edge --table mlperf`: single-stream times of MLPerf inference (mlperf_rows.h).
//
// Networks on a GPU are predicted by a law of engines (edge/engine/engine_law.h) that was fitted on
// all runs of other accelerators, offline ones included. Networks on a host's cores are predicted
// by ncnn's law of cores with the engine's fusion.
#pragma once

#include <span>
#include <vector>

#include "orrery/edge/engine/engine_answer.h"
#include "orrery/edge/engine/engine_law.h"
#include "orrery/validate/edge/mlperf_rows.h"

namespace orrery {

// A run and its kernels' times, of an input, without a factor.
struct TimedRun {
  const MlperfRow* row = nullptr;
  std::string architecture;  // of the GPU: "ada"
  EngineTimes kernels;
};
std::vector<TimedRun> time_runs(const std::vector<MlperfRow>& rows, const Bundle& bundle);

// The law of the runs of all accelerators but one; an empty `left_out` leaves out none.
EngineLaw fit_engine_law(std::span<const TimedRun> runs, const std::string& left_out);

void judge_mlperf_networks(const std::filesystem::path& dir, const Bundle& bundle,
                           ValidationReport& report);

}  // namespace orrery
