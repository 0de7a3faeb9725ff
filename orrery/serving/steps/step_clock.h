// Step times from the step room, fast enough for a simulation.
//
// Steps that only decode depend on the number of sequences and on their mean context. Their times
// are tables by number of sequences and mean context, with 16 nodes an octave, filled when asked
// for and linear between nodes (tests: within 0.5 % of the step room). Steps that also verify
// drafts or use adapters have a table for every number of decoding sequences, verifying sequences,
// tokens of these, and adapters. Steps that carry prompts are asked of the step room as they
// are. The last answers for steps with one prompt are kept, because loads of equal lengths repeat
// them.
//
// With attention data parallelism a step is that of the slowest rank. Decode steps are padded to
// its tokens on all ranks, as vLLM does where graphs are replayed. In steps with prompts the
// experts compute the tokens that the ranks really have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "orrery/serving/steps/step_timer.h"
#include "orrery/step/step_memory.h"
#include "orrery/step/step_model.h"

namespace orrery {

// A change of all step times, for intervals and shared GPUs. Every step takes the quantile of its
// own error at `deviations` standard deviations, multiplied by `stretch`.
struct StepScale {
  StepScale(double times = 1, double sigmas = 0) : stretch(times), deviations(sigmas) {}
  double stretch, deviations;
};

// Not thread-safe. Answers do not depend on earlier questions.
class StepClock : public StepTimer {
 public:
  // Borrows `steps`. `lora`: the shape of the LoRA adapters.
  explicit StepClock(const StepModel& steps, StepScale scale = {}, const LoraShape& lora = {});
  ~StepClock() override;

  SimTime time(const StepShape& step) override;
  std::size_t decode_times(std::int64_t sequences, std::int64_t past,
                           std::span<SimTime> times) override;
  SimTime latency(const StepShape& step) override;
  std::unique_ptr<StepTimer> another() const override;

 private:
  // Counts of a step without chunks.
  using Counts = std::array<std::int64_t, 4>;  // decodes, verifies, verify_tokens, adapters
  // A step of one chunk and decodes, without drafts or adapters.
  struct OnePrompt {
    std::int64_t decodes = -1, decode_past = 0, wave_tokens = 0;
    std::int32_t new_tokens = 0, past = 0;
    bool sampled = false;
    bool operator==(const OnePrompt&) const = default;
  };
  struct Known {
    OnePrompt step;
    SimTime time;
  };
  SimTime prompt_time(const StepShape& step);
  double table_time(const Counts& counts, std::vector<float>& row, double context);
  double node(const Counts& counts, std::vector<float>& row, std::size_t index) {
    if (row[index] == 0) fill(counts, row, index);
    return static_cast<double>(row[index]);
  }
  void fill(const Counts& counts, std::vector<float>& row, std::size_t index);
  void add_decodes(const Counts& counts, double decode_past, double verify_past);

  // Asks the step room for the time of batch_, in seconds.
  double asked(std::int64_t wave_tokens);

  const StepModel& asked_steps_;
  std::unique_ptr<StepMemory> memory_;
  const StepModel steps_;  // asked_steps_ with memory_
  StepScale scale_;
  bool all_stages_ = false;
  std::unique_ptr<StepClock> through_;      // for latency(); made at its first call
  std::vector<std::vector<float>> decode_;  // seconds, by sequences and context node; 0: unknown
  std::map<Counts, std::vector<float>> others_;  // seconds, by context node
  std::vector<Known> prompts_;                   // by a hash of the step; made when first asked for
  std::int64_t asked_prompts_ = 0, known_prompts_ = 0;  // of steps that are kept
  Batch batch_;
};

}  // namespace orrery
