// The time that a prompt or an answer would take at the rates of the data sheets, term by term
// (LlmWork). What a backend reaches of these rates is the law's matter (llm_law.h).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "orrery/base/units.h"
#include "orrery/edge/llm/llm_chip.h"
#include "orrery/edge/llm/llm_work.h"

namespace orrery {

// kProduct  multiply-adds with weights over the rate of the matrix units
// kAttention  those of attention, likewise
// kWeights  bytes of weights read over the bandwidth
// kCache    of an answer: bytes of the cache read over the bandwidth
// kTiles    of a prompt: the same, read again for each kTile queries
// kStart    kernels started, a microsecond each
// kHop      what travels from device to device over kHopLink, and kHopWait for each
// kOverlap  of several devices: the products of passes that follow the first, which overlap
// kActivations  of a prompt: bytes of activations over the bandwidth
// kPadding  of a prompt: products of experts with rows that only fill a tile (LlmFile::padding)
// kUnpack   of a prompt: bytes of weights written and read in 16 bits (LlmFile::unpacked)
enum class LlmTerm {
  kProduct,
  kAttention,
  kWeights,
  kCache,
  kTiles,
  kStart,
  kHop,
  kOverlap,
  kActivations,
  kPadding,
  kUnpack
};
inline constexpr std::size_t kLlmTerms = 11;
std::string_view to_text(LlmTerm term);
using LlmTimes = std::array<Seconds, kLlmTerms>;
Seconds total(const LlmTimes& times);

// A rate of tokens has the dimension of a frequency.
using TokensPerSecond = Hertz;
constexpr TokensPerSecond token_rate(double tokens, Seconds time) {
  return TokensPerSecond(tokens / time.value());
}

inline constexpr BytesPerSecond kHopLink(16e9);
inline constexpr Seconds kHopWait(10e-6);
inline constexpr double kTile = 64;

// One token after `context` others. Layers lie on `devices` equal devices one after the other, so
// that the times of the parts add up.
LlmTimes decode_times(const LlmFile& file, const LlmChip& chip, int devices, double context);

// A prompt of `tokens` after `depth` cached ones, in passes of `ubatch` tokens and one of the rest.
// Passes follow each other through the devices as through a pipeline: the first takes the time of
// one device, each later one the part of a device.
struct LlmPrompt {
  double tokens = 512, depth = 0, ubatch = 512;
};
LlmTimes prefill_times(const LlmFile& file, const LlmChip& chip, int devices,
                       const LlmPrompt& prompt);

}  // namespace orrery
