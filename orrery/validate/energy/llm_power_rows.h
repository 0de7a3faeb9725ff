// Power readings of LLM services: the table llm_energy of the measured energy tables
// (docs/data.md).
//
// A row is the mean power of the GPUs of a service at a steady load, read by the driver. Its
// question is an estimate of a closed loop of avg_batch users, or of a batch where requests started
// together. What a source leaves open is assumed, the same for all of its rows:
//
//   ml.energy v3   vLLM 0.11 (its repository's configurations: asynchronous scheduling, 8192 tokens
//                  a step); expert parallel over all GPUs. Prompt lengths are not published. A
//                  request of lm-arena-chat is a conversation up to one of its turns, of which the
//                  prefix cache holds the earlier turns: 400 tokens to compute, which the
//                  throughputs of dense models tell. A question of gpqa has 250.
//   ml.energy v2   vLLM 0.5.4 with --disable-frontend-multiprocessing, 0.95 of the memory and the
//                  stated max-num-seqs (benchmark_one_datapoint.py of ml-energy/leaderboard); 200
//                  tokens of a chat, 150 of code
//   ml.energy v1   Hugging Face transformers, one request at a time; 60 tokens
//   LLM-Inference-Bench   the stated lengths; the rows of figure 16, since those of figure 29 hold
//                  idle GPUs
//
// Rows of other sources, of images and of models that the catalog does not have are refused.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"
#include "orrery/energy/power/step_power.h"
#include "orrery/hardware/gpu.h"
#include "orrery/validate/report/report.h"
#include "orrery/validate/rows/scenario_keys.h"

namespace orrery {

struct LlmPowerRow {
  std::string name, source;
  std::string group;  // GPU and model: rows that are left out together
  Gpu gpu;
  std::string engine;     // id of the profile
  ScenarioKeys keys;      // the question
  StepWork work;          // of one GPU for a wave of requests, as predicted
  double time_error = 0;  // standard deviation of the logarithm of the predicted time
  // Steps of a wave times tensor-parallel ranks, and the sequences of all its steps, for a front
  // end in the engine's process, whose waits `work` is without (in_process_fit.h). Else 0.
  double rank_steps = 0, sequence_steps = 0;
  Seconds time;       // of a wave, as measured
  double tokens = 0;  // of a wave, as the source counts them
  double gpus = 1;
  Watts power;       // mean of one GPU's board
  Joules per_token;  // measured, of all GPUs, for a token as the source counts them
};

// The rows of `dir`/llm_energy.csv, with the work that the prediction gives them.
std::vector<LlmPowerRow> read_llm_power(const std::filesystem::path& dir, const Bundle& bundle,
                                        ValidationReport& report);

}  // namespace orrery
