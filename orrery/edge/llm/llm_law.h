// How fast a backend runs an LLM: the law of prefill, and that of decode.
//
//   time of a token = sum over terms of time at the data sheet's rate (llm_task.h) * cost
//
// The cost of bytes (weights, cache) is 1 + exp(c): no bytes pass faster than the memory's
// bandwidth. That of other terms is exp(c). c is a sum of effects: a constant, the vendor, the
// family of the chip, the backend, the program's build (runtime), the kind of kernels (format), the
// model, some pairs of them, and the chip itself with the backend and the runtime. Some effects are
// slopes: they are multiplied with the logarithm of a number over a usual value, such as the width
// of a head, the chip's bandwidth, its FLOPs for a byte (intensity) and its FLOPs for a joule
// (heat: a chip of high rate and low power is held by its power limit). An effect that was never
// measured is 0. All are fitted together, each drawn to 0 by its own deviation (llm_effects), so
// that what few rows say of a chip is drawn to its family, and that to the backend.
//
// A builder's version changes rates by more than the chip's name; the tables span three years. A
// runtime stands for the builds that one source measured. Asked without one, the answer is that of
// "llama.cpp", the scoreboards'.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/edge/llm/llm_task.h"

namespace orrery {

// The circumstances that effects depend on.
struct LlmSetting {
  const LlmChip* chip = nullptr;
  std::string backend;                // "cuda"
  std::string runtime = "llama.cpp";  // whose program
  std::string kernels;                // GgufFormat::kernels
  int devices = 1;
  bool mixture = false;          // a mixture of experts
  bool plain_attention = false;  // flash attention is off
  double head_width = 128;       // LlmFile
  double hidden = 4096;
  double packed_heads = 2;  // LlmFile
  std::string model;        // id; empty: any other than the measured ones
};

enum class LlmPhase { kPrefill, kDecode };

// An effect on a term's cost.
struct LlmEffect {
  std::string name;                  // "weights family=ada"
  double times = 1;                  // what its value is multiplied with
  double mean = 0, deviation = 0.2;  // before anything was measured
};

// How strongly effects are drawn to 0, where it is not as the table of llm_law.cc has it, by name:
// "product chip" is the deviation of an effect, "product" a factor on the deviations of all effects
// on the term that are not named themselves. A deviation of 0 leaves the effect out, a factor of 0
// the whole term. An effect that the table lacks, such as "weights chip+backend+kernels", is added.
using LlmStrengths = std::map<std::string, double, std::less<>>;

// The effects on a term; empty: the phase has no such term.
std::vector<LlmEffect> llm_effects(LlmPhase phase, LlmTerm term, const LlmSetting& setting,
                                   const LlmStrengths& strengths = {});

// Whether the cost is 1 + exp(c).
constexpr bool is_bounded(LlmTerm term) {
  return term == LlmTerm::kWeights || term == LlmTerm::kCache;
}

// A factor on the time of each term.
using LlmCosts = std::array<double, kLlmTerms>;

// The value of each effect.
using LlmEffects = std::map<std::string, double, std::less<>>;

struct LlmLaw {
  LlmPhase phase = LlmPhase::kDecode;
  LlmEffects effects;
  // Standard deviation of the logarithm of a rate: of a chip that was measured with the backend,
  // with another model or format; of one that was not.
  double known = 0.1, unknown = 0.2;
  LlmStrengths strengths = {};  // by which it was fitted; they are not written to the catalog

  // The costs exp(c) of all terms; 0 for terms that the phase lacks.
  LlmCosts costs(const LlmSetting& setting) const;
  // Whether the chip was measured with the backend.
  bool knows(const LlmSetting& setting) const;
};

// The time of each term.
LlmTimes llm_terms(const LlmCosts& costs, const LlmTimes& times);

// The two laws, catalog/edge/llm.yaml. InputError: no such file, or it is malformed.
struct LlmLaws {
  std::string recipe;
  LlmLaw prefill{LlmPhase::kPrefill, {}}, decode{LlmPhase::kDecode, {}};
};
LlmLaws read_llm_laws(const Bundle& bundle);
std::string llm_laws_text(const LlmLaws& laws);

}  // namespace orrery
