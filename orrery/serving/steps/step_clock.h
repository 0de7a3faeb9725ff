// Step times from the step room, fast enough for a simulation.
//
// Steps that only decode depend on two numbers, sequences and cached tokens: a table by the number
// of sequences and by the mean context, 16 nodes an octave, filled where it is asked, linear
// between the nodes (tests: within 0.5 % of the step room). Steps that also verify drafts or
// use adapters have such a table for every number of decoding sequences, verifying ones, tokens of
// these, and adapters. Steps that carry prompts are asked of the step room as they are.
//
// Under attention data parallel a step is that of the slowest rank. Decode steps are padded to its
// tokens on all ranks, as vLLM does where graphs are replayed; with prompts, the experts compute
// the tokens that the ranks really have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "orrery/serving/steps/step_timer.h"
#include "orrery/step/step_model.h"

namespace orrery {

// How off step times are taken to be: every step at so many deviations of its own error (a step's
// quantile), and all multiplied by `stretch`.
struct StepScale {
  StepScale(double times = 1, double sigmas = 0) : stretch(times), deviations(sigmas) {}
  double stretch, deviations;
};

// Not thread-safe: one for each thread. Its answers do not depend on what was asked before.
class StepClock : public StepTimer {
 public:
  // `lora`: what the adapters are like.
  explicit StepClock(const StepModel& steps, StepScale scale = {}, const LoraShape& lora = {})
      : steps_(steps), scale_(scale) {
    batch_.lora = lora;
  }

  SimTime time(const StepShape& step) override;
  SimTime latency(const StepShape& step) override;
  std::unique_ptr<StepTimer> another() const override;

 private:
  // Of steps without chunks: their counts, and a mean context.
  using Counts = std::array<std::int64_t, 4>;  // decodes, verifies, verify_tokens, adapters
  double table_time(const Counts& counts, std::vector<float>& row, double context);
  double node(const Counts& counts, std::vector<float>& row, std::size_t index);
  void add_decodes(const Counts& counts, double decode_past, double verify_past);

  // Seconds of batch_.
  double asked(std::int64_t wave_tokens);

  const StepModel& steps_;
  StepScale scale_;
  bool all_stages_ = false;
  std::unique_ptr<StepClock> through_;  // the same for all stages; made when it is asked for
  std::vector<std::vector<float>>
      decode_;  // seconds, by sequences and context node; 0: not asked yet
  std::map<Counts, std::vector<float>> others_;  // likewise
  Batch batch_;
};

}  // namespace orrery
