// Readings of whole servers at the wall: the table mlperf_power of the measured energy tables
// (docs/data.md), MLPerf inference v4.1 and v5.1.
//
// A row is one benchmark on a server with eight GPUs. Its question is a closed loop on one engine,
// of which the server runs as many as its GPUs hold. What the results do not state is NVIDIA's
// configuration of the round (closed/NVIDIA/configs of mlcommons/inference_results_v4.1), and the
// mean length of a prompt in the benchmark's data set:
//
//   llama2-70b      fp8, one GPU an engine, 806 (Offline) or 896 (Server) sequences; OpenOrca: 300
//                   tokens of at most 1,024 (assumed), answers as counted
//   gptj            fp8, one GPU an engine, 396 requests of four beams, which share a prompt;
//                   CNN/DailyMail: 870 tokens (assumed), 69 of the answer
//   mixtral-8x7b    fp8, one GPU an engine, 3,072 sequences; 300 tokens (assumed), 146 of the
//                   answer
//   llama3.1-405b   fp4, all GPUs an engine, 512 sequences; 9,400 tokens (assumed)
//
// MaxQ caps the power of the boards: 500 W in llama2-70b and mixtral-8x7b and 350 W in gptj
// (power_limit in these configurations). The accuracy targets 99 and 99.9 are the same run and
// count once. Benchmarks of models that the program does not have are refused.
//
// No constant is fitted on these rows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {

struct MlperfPowerRow {
  std::string name, benchmark, scenario, system;
  std::string server;  // the server in catalog/plant/plant.yaml that was measured
  NodeType node;       // without the figures that come from this server
  Gpu gpu;
  int gpus = 8;
  std::optional<Watts> cap;  // of a board; absent: the data sheet's limit
  std::string engine;        // id of the profile
  ScenarioKeys keys;         // the question of one engine
  double requests = 0;       // of a wave on one engine
  StepWork work;             // of one GPU for a wave, as predicted without a cap
  // The power of a board and the time of a wave that are predicted under the cap.
  Estimate<Watts> power;
  Estimate<Seconds> alone;
  double clock_error = 0;  // relative, of the clock under the cap
  Seconds time;            // of a wave, as measured
  Watts wall;
};

// Throughput of a benchmark under a cap and without one, of the same submitter, server and round:
// rows of inference/offline_throughput.csv. Those of Server are what the submitter has offered.
struct CappedPair {
  MlperfPowerRow row;           // the capped run; no wall power
  double capped = 0, free = 0;  // requests a second
};

// The rows of `dir`/mlperf_power.csv.
std::vector<MlperfPowerRow> read_mlperf_power(const std::filesystem::path& dir,
                                              const Bundle& bundle, ValidationReport& report);
// `dir`: as above; the other table is in the folder beside it.
std::vector<CappedPair> read_capped_pairs(const std::filesystem::path& dir, const Bundle& bundle,
                                          ValidationReport& report);

}  // namespace orrery
