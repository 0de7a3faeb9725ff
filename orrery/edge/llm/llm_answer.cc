#include "orrery/edge/llm/llm_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/base/index.h"

namespace orrery {
namespace {

constexpr double kNoise = 0.05;  // of a measured rate

LlmSetting setting_of(const LlmFile& file, const LlmChip& chip, const LlmQuestion& q) {
  LlmSetting s;
  s.chip = &chip;
  s.backend = q.backend.empty() ? std::string(chip.family->backend) : q.backend;
  s.kernels = std::string(file.format().kernels);
  s.devices = q.devices, s.mixture = file.mixture(), s.plain_attention = !q.flash_attention;
  s.head_width = file.head_width(), s.hidden = file.hidden();
  s.packed_heads = file.packed_heads(), s.model = file.model();
  return s;
}

// The least time of a token: its bytes at the memory's bandwidth.
Seconds least_token_time(const LlmTimes& times) {
  return times[index(LlmTerm::kWeights)] + times[index(LlmTerm::kCache)];
}

void check(const LlmQuestion& q) {
  const bool sizes = q.prompt >= 1 && q.generate >= 1 && q.depth >= 0 && q.ubatch >= 1;
  if (!sizes || q.devices < 1 || q.draft_tokens < 0)
    throw InputError("prompt, generate, ubatch and devices must be 1 or more, depth 0 or more");
  if (q.acceptance < 0 || q.acceptance >= 1)
    throw InputError("acceptance: expected a probability below 1");
}

}  // namespace

double tokens_of_step(int drafts, double acceptance) {
  double tokens = 0, chance = 1;
  for (int i = 0; i <= drafts; ++i) tokens += chance, chance *= acceptance;
  return tokens;
}

LlmTimes LlmPredictor::token_terms(const LlmFile& file, const LlmQuestion& q,
                                   double context) const {
  LlmTimes terms = llm_terms(laws_.decode.costs(setting_of(file, chip_, q)),
                             decode_times(file, chip_, q.devices, context));
  for (Seconds& t : terms) t *= std::exp(decode_.logarithm);
  return terms;
}

LlmTimes LlmPredictor::prompt_terms(const LlmFile& file, const LlmQuestion& q) const {
  LlmTimes terms = llm_terms(laws_.prefill.costs(setting_of(file, chip_, q)),
                             prefill_times(file, chip_, q.devices, {q.prompt, q.depth, q.ubatch}));
  for (Seconds& t : terms) t *= std::exp(prefill_.logarithm);
  return terms;
}

double LlmPredictor::deviation(const LlmLaw& law, const LlmSetting& setting,
                               const Shift& shift) const {
  if (shift.rows > 0) return std::hypot(shift.deviation, kNoise);
  return law.knows(setting) ? law.known : law.unknown;
}

void LlmPredictor::calibrate(const std::vector<LlmMeasured>& measured) {
  prefill_ = decode_ = {};
  for (const bool prompt : {true, false}) {
    const LlmLaw& law = prompt ? laws_.prefill : laws_.decode;
    double pull = 0, stiffness = 0, before = law.unknown;
    int rows = 0;
    for (const LlmMeasured& m : measured) {
      check(m.question);
      const TokensPerSecond rate = prompt ? m.prefill : m.decode;
      if (rate <= TokensPerSecond(0)) continue;
      const LlmQuestion& q = m.question;
      const Seconds predicted = prompt ? total(prompt_terms(*m.file, q)) / q.prompt
                                       : total(token_terms(*m.file, q, q.depth + q.generate / 2));
      pull += -std::log(rate * predicted) / (kNoise * kNoise);
      stiffness += 1 / (kNoise * kNoise);
      if (law.knows(setting_of(*m.file, chip_, q))) before = law.known;
      ++rows;
    }
    if (rows == 0) continue;
    stiffness += 1 / (before * before);
    (prompt ? prefill_ : decode_) = {pull / stiffness, 1 / std::sqrt(stiffness), rows};
  }
}

LlmAnswer LlmPredictor::answer(const LlmFile& file, const LlmQuestion& q,
                               const LlmFile* draft) const {
  check(q);
  LlmAnswer a;
  const LlmSetting setting = setting_of(file, chip_, q);
  LlmMemory memory{q.memory, q.devices, q.depth + q.prompt + q.generate, q.ubatch};
  a.fit = memory_fit(file, chip_, memory);
  if (draft != nullptr) {
    const LlmFit own = memory_fit(*draft, chip_, memory);
    a.fit.weights += own.weights, a.fit.cache += own.cache;
  } else {
    a.longest_context = longest_context(file, chip_, memory);
  }
  const auto origin = [&](const LlmLaw& law) {
    return law.knows(setting) ? Origin::kFitted : Origin::kTransferred;
  };
  a.prompt_terms = prompt_terms(file, q);
  const double own_prefill = deviation(laws_.prefill, setting, prefill_);
  const Seconds prompt = total(a.prompt_terms);
  a.prompt_time = {prompt, 0, own_prefill, origin(laws_.prefill), Tails::kHeavy};
  a.prefill = {token_rate(q.prompt, prompt), 0, own_prefill, origin(laws_.prefill), Tails::kHeavy};

  const double context = q.depth + q.prompt + q.generate / 2;
  a.token_terms = token_terms(file, q, context);
  Seconds token = std::max(total(a.token_terms),
                           least_token_time(decode_times(file, chip_, q.devices, context)));
  if (q.draft_tokens > 0 && draft != nullptr) {
    // The proposals one after the other, then a pass over them and one more.
    LlmQuestion verified = q;
    verified.prompt = q.draft_tokens + 1, verified.depth = context;
    const Seconds pass = std::max(token, total(prompt_terms(file, verified)));
    const Seconds drafted = total(token_terms(*draft, q, context)) * q.draft_tokens;
    token = (pass + drafted) / tokens_of_step(q.draft_tokens, q.acceptance);
    a.notes.push_back(
        fmt::format("{} proposed tokens at a time by {}, each accepted with a probability of {:g}",
                    q.draft_tokens, draft->model(), q.acceptance));
  }
  a.decode = {token_rate(1, token), 0, deviation(laws_.decode, setting, decode_),
              origin(laws_.decode), Tails::kHeavy};
  if (chip_.power) a.token_energy_limit = *chip_.power * q.devices * token;
  if (!laws_.decode.knows(setting))
    a.notes.push_back(
        fmt::format("{} was not measured with {}: its family's rates", chip_.id, setting.backend));
  if (prefill_.rows + decode_.rows > 0)
    a.notes.push_back(
        fmt::format("calibrated on {} rates measured on the device", prefill_.rows + decode_.rows));
  a.notes.push_back(fmt::format("facts of {}: {}", chip_.id, chip_.source));
  return a;
}

}  // namespace orrery
