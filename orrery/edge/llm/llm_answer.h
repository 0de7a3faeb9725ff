// The answer of `orrery edge` for an LLM: how fast a device reads a prompt and writes an answer,
// whether it has the memory, and what it costs in energy.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/edge/llm/llm_law.h"
#include "orrery/edge/llm/llm_memory.h"

namespace orrery {

struct LlmQuestion {
  std::string backend;    // empty: the usual one of the chip
  double prompt = 512;    // tokens
  double generate = 128;  // tokens
  double depth = 0;       // tokens already in the cache
  double ubatch = 512;    // tokens of a pass
  int devices = 1;        // equal ones, layers one after the other
  Bytes memory;           // of a device; 0: its largest configuration
  bool flash_attention = true;
  // Speculative decoding: tokens that a draft proposes at a time; 0: none. A proposal is accepted
  // with the probability `acceptance` if those before it were.
  int draft_tokens = 0;
  double acceptance = 0.7;
};

// Rates that were measured on the device, 0 where not measured.
struct LlmMeasured {
  const LlmFile* file = nullptr;
  LlmQuestion question;
  TokensPerSecond prefill, decode;
};

struct LlmAnswer {
  LlmFit fit;
  std::optional<double> longest_context;  // that fits
  Estimate<Seconds> prompt_time;          // to the first token
  Estimate<TokensPerSecond> prefill, decode;
  // The most joules of a token of the answer: at the chip's thermal design power;
  // nothing where the power is unknown.
  std::optional<Joules> token_energy_limit;
  LlmTimes prompt_terms{}, token_terms{};  // of the prompt and of a token
  std::vector<std::string> notes;
};

// An LLM on a chip. Thread-compatible; borrows its arguments.
class LlmPredictor {
 public:
  LlmPredictor(const LlmLaws& laws, const LlmChip& chip) : laws_(laws), chip_(chip) {}

  // Moves the rates of this chip towards these: by one factor for prompts and one for answers.
  void calibrate(const std::vector<LlmMeasured>& measured);

  // `draft` proposes tokens where the question wants some (REQUIRED then). InputError: sizes that
  // are not positive. An answer that does not fit has rates all the same; see LlmFit::fits.
  LlmAnswer answer(const LlmFile& file, const LlmQuestion& question,
                   const LlmFile* draft = nullptr) const;

 private:
  struct Shift {
    double logarithm = 0, deviation = 0;
    int rows = 0;
  };
  // The law's times of a token at some context, of a prompt.
  LlmTimes token_terms(const LlmFile& file, const LlmQuestion& q, double context) const;
  LlmTimes prompt_terms(const LlmFile& file, const LlmQuestion& q) const;
  double deviation(const LlmLaw& law, const LlmSetting& setting, const Shift& shift) const;

  const LlmLaws& laws_;
  const LlmChip& chip_;
  Shift prefill_, decode_;
};

// Tokens that a step with `drafts` proposals yields on average: 1 + a + a^2 + ... + a^drafts.
double tokens_of_step(int drafts, double acceptance);

}  // namespace orrery
