#include "orrery/edge/llm/llm_task.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr Seconds kEachStart(1e-6);

Seconds& at(LlmTimes& times, LlmTerm term) { return times[index(term)]; }

Seconds hop(const LlmFile& file, int devices, double tokens) {
  const Seconds each = kHopWait + file.hidden_row() * tokens / kHopLink;
  return each * (devices - 1);
}

}  // namespace

Seconds total(const LlmTimes& times) {
  Seconds sum;
  for (const Seconds t : times) sum += t;
  return sum;
}

std::string_view to_text(LlmTerm term) {
  constexpr std::array<std::string_view, kLlmTerms> kNames = {
      "product", "attention", "weights",     "cache",   "tiles", "start",
      "hop",     "overlap",   "activations", "padding", "unpack"};
  return kNames[index(term)];
}

LlmTimes decode_times(const LlmFile& file, const LlmChip& chip, int devices, double context) {
  LlmTimes t{};
  at(t, LlmTerm::kProduct) = (file.body_flops() + file.head_flops()) / chip.matrix;
  at(t, LlmTerm::kAttention) = file.attention_flops(context, 1) / chip.matrix;
  at(t, LlmTerm::kWeights) = file.read(1) / chip.bandwidth;
  at(t, LlmTerm::kCache) = file.cache_read(context) / chip.bandwidth;
  at(t, LlmTerm::kStart) = kEachStart * file.kernels();
  at(t, LlmTerm::kHop) = hop(file, devices, 1);
  return t;
}

LlmTimes prefill_times(const LlmFile& file, const LlmChip& chip, int devices,
                       const LlmPrompt& prompt) {
  const double first = std::min(prompt.tokens, prompt.ubatch);
  const double full = std::floor(prompt.tokens / prompt.ubatch);
  const double rest = prompt.tokens - full * prompt.ubatch;
  const double passes = full + (rest > 0 ? 1 : 0);
  // `part` is the share of the time on one device.
  const double part = (prompt.tokens + (devices - 1) * first) / (devices * prompt.tokens);
  const Flops products = file.body_flops() * prompt.tokens + file.head_flops();
  // The first pass meets every device by itself: its weights and kernels count in full.
  const double others = 1.0 / devices;
  Bytes weights, unpacked;
  Flops padding;
  const auto pass = [&](double tokens, double share) {
    weights += file.read(tokens) * share, padding += file.padding(tokens) * share;
    unpacked += file.unpacked(tokens) * share;
  };
  pass(first, 1);
  if (full > 1) pass(prompt.ubatch, (full - 1) * others);
  if (full > 0 && rest > 0) pass(rest, others);
  LlmTimes t{};
  const Seconds product = products / chip.matrix;
  at(t, LlmTerm::kProduct) = product * part;
  at(t, LlmTerm::kOverlap) = product * (1 - part);
  at(t, LlmTerm::kAttention) =
      file.attention_flops(prompt.depth, prompt.tokens) / chip.matrix * part;
  at(t, LlmTerm::kWeights) = weights / chip.bandwidth;
  at(t, LlmTerm::kPadding) = padding / chip.matrix;
  at(t, LlmTerm::kUnpack) = unpacked / chip.bandwidth;
  at(t, LlmTerm::kActivations) = file.activations() * prompt.tokens / chip.bandwidth * part;
  at(t, LlmTerm::kTiles) = file.cache_read(prompt.depth + prompt.tokens / 2) / chip.bandwidth *
                           (prompt.tokens / kTile) * part;
  at(t, LlmTerm::kStart) = kEachStart * file.kernels() * (1 + (passes - 1) * others);
  at(t, LlmTerm::kHop) = hop(file, devices, first) * (passes + devices - 1) / devices;
  return t;
}

}  // namespace orrery
