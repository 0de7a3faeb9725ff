#include "orrery/serving/step_clock.h"

#include <bit>
#include <cmath>

namespace orrery {
namespace {

// Nodes of the context: 1, and from there 16 an octave, evenly spaced within each.
constexpr int kNodeBits = 4;

double context_of(std::size_t node) {
  const auto octave = static_cast<int>(node >> kNodeBits);
  const double step = static_cast<double>(node & ((1u << kNodeBits) - 1));
  return std::ldexp(1 + step / (1 << kNodeBits), octave);
}

}  // namespace

SimTime StepClock::time(const StepShape& step) {
  const double mean =
      step.decodes > 0 ? static_cast<double>(step.decode_past) / static_cast<double>(step.decodes)
                       : 0;
  if (step.chunks.empty()) return sim_seconds(decode_time(step.decodes, mean) * scale_);
  batch_.groups.clear();
  for (const PromptChunk& c : step.chunks)
    batch_.groups.push_back({1, c.new_tokens, static_cast<double>(c.past), c.sampled});
  if (step.decodes > 0) batch_.groups.push_back({step.decodes, 1, mean, true});
  return sim_seconds(steps_.time(batch_).total.value.value() * scale_);
}

double StepClock::decode_time(std::int64_t sequences, double context) {
  const auto n = static_cast<std::size_t>(sequences);
  if (n >= decode_.size()) decode_.resize(n + 1);
  const int octave = std::max(0, std::ilogb(context));
  const double within = (std::ldexp(context, -octave) - 1) * (1 << kNodeBits);
  const auto step = static_cast<std::size_t>(within);
  const std::size_t below = (static_cast<std::size_t>(octave) << kNodeBits) + step;
  std::vector<float>& row = decode_[n];
  if (row.size() < below + 2) row.resize(below + 2);
  const double a = node(sequences, row, below), b = node(sequences, row, below + 1);
  return a + (b - a) * (within - static_cast<double>(step));
}

double StepClock::node(std::int64_t sequences, std::vector<float>& row, std::size_t index) {
  float& v = row[index];
  if (v == 0) {
    batch_.groups.assign({{sequences, 1, context_of(index), true}});
    v = static_cast<float>(steps_.time(batch_).total.value.value());
  }
  return static_cast<double>(v);
}

}  // namespace orrery
