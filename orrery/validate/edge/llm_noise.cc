#include "orrery/validate/edge/llm_noise.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "orrery/base/quantile.h"

namespace orrery {
namespace {

std::string question_of(const LlmRow& row, bool one_source) {
  const LlmSetting& s = row.setting;
  std::string text =
      fmt::format("{} {} {} {} {} {} {}", s.chip->id, s.backend, row.model, s.kernels, s.devices,
                  s.plain_attention, one_source ? row.source : "");
  for (const LlmTimes& times : row.cases) {
    for (const Seconds t : times) text += fmt::format(" {:.6g}", t.value());
  }
  return text;
}

}  // namespace

LlmReadings other_readings(const std::vector<LlmRow>& rows, bool prefill, bool one_source) {
  std::map<std::string, std::vector<double>> questions;
  for (const LlmRow& r : rows) {
    if (r.prefill == prefill && r.fit.fits())
      questions[question_of(r, one_source)].push_back(std::log(r.measured.value()));
  }
  LlmReadings out;
  std::vector<double> errors;
  for (const auto& [question, logs] : questions) {
    if (logs.size() < 2) continue;
    ++out.questions;
    double sum = 0;
    for (const double log : logs) sum += log;
    for (const double log : logs)
      errors.push_back(std::abs(std::expm1((sum - log) / (real(logs.size()) - 1) - log)));
  }
  out.readings = errors.size();
  if (errors.empty()) return out;
  for (const double e : errors) out.mean += e / real(errors.size());
  out.median = quantile(std::move(errors), 0.5);
  return out;
}

std::string note_of_llm_noise(const std::vector<LlmRow>& rows) {
  std::string note =
      "LLMs, the table's own noise, mean / median error in % where a rate is predicted by the "
      "other "
      "readings of the same question:";
  const char* comma = " ";
  for (const bool prefill : {true, false}) {
    for (const bool one_source : {true, false}) {
      const LlmReadings r = other_readings(rows, prefill, one_source);
      note +=
          fmt::format("{}{} {:.1f} / {:.1f} {} ({} readings of {} questions)", comma,
                      prefill ? "prefill" : "decode", 100 * r.mean, 100 * r.median,
                      one_source ? "by the same source" : "by any source", r.readings, r.questions);
      comma = ", ";
    }
  }
  return note + ".";
}

}  // namespace orrery
