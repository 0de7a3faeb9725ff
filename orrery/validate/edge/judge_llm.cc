#include "orrery/validate/edge/judge_llm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <future>

#include "orrery/base/index.h"
#include "orrery/base/random.h"
#include "orrery/validate/edge/llm_law_fit.h"

namespace orrery {
namespace {

constexpr const char* kPair = "llm";
constexpr const char* kByFold = "llm, settings by fold";
constexpr const char* kDevice = "llm, device left out";
constexpr const char* kModel = "llm, model left out";
constexpr const char* kRoofline = "llm, roofline";
constexpr unsigned kFolds = 10;

unsigned fold_of(const LlmRow& row, std::string_view table) {
  const std::string& key = table == kDevice  ? row.setting.chip->id
                           : table == kModel ? row.model
                                             : row.group;
  return static_cast<unsigned>(hash_text(key) % kFolds);
}

LlmPhase phase_of(const LlmRow& row) {
  return row.prefill ? LlmPhase::kPrefill : LlmPhase::kDecode;
}

struct Judged {
  const LlmRow* row = nullptr;
  TokensPerSecond predicted;
  unsigned fold = 0;
  bool known = false;
  double logarithm() const { return std::log(predicted / row->measured); }
};

// The settings of a fit that sees the rows which `seen` admits.
using SettingsOf = std::function<LlmFitSettings(const std::function<bool(const LlmRow&)>& seen)>;

LlmFitSettings default_settings(const std::function<bool(const LlmRow&)>&) { return {}; }

// Every row that fits into memory, by the law of the other folds.
std::vector<Judged> judged_rows(const std::vector<LlmRow>& rows, std::string_view table,
                                LlmPhase phase, const SettingsOf& settings_of = default_settings) {
  std::vector<Judged> out;
  for (unsigned fold = 0; fold < kFolds; ++fold) {
    const auto left_out = [&](const LlmRow& r) { return fold_of(r, table) == fold; };
    const auto seen = [&](const LlmRow& r) { return !left_out(r); };
    const LlmLaw law = fit_llm_law(rows, phase, seen, settings_of(seen));
    for (const LlmRow& r : rows) {
      if (phase_of(r) == phase && left_out(r) && r.fit.fits())
        out.push_back({&r, llm_rate(law, r), fold, law.knows(r.setting)});
    }
  }
  return out;
}

// The deviation of rows outside of `fold`.
double deviation(const std::vector<Judged>& all, unsigned fold, bool known) {
  std::vector<double> logarithms;
  for (const Judged& j : all) {
    if (j.fold != fold && j.known == known) logarithms.push_back(j.logarithm());
  }
  return llm_deviation(std::move(logarithms));
}

// The rate at the data sheet's peaks.
TokensPerSecond roofline(const LlmRow& row) {
  TokensPerSecond rate;
  for (const LlmTimes& t : row.cases) {
    const auto of = [&](LlmTerm term) { return t[index(term)]; };
    rate += token_rate(1, std::max(of(LlmTerm::kProduct) + of(LlmTerm::kAttention),
                                   of(LlmTerm::kWeights) + of(LlmTerm::kCache)));
  }
  return rate / double(row.cases.size());
}

void add_row(const LlmRow& row, const char* table, const Estimate<TokensPerSecond>& rate,
             ValidationReport& report) {
  ValidationRow v;
  v.by = {{"table", table},
          {"metric", row.prefill ? "prefill" : "decode"},
          {"system", row.setting.chip->id},
          {"framework", row.setting.runtime},
          {"vendor", std::string(row.setting.chip->family->vendor)},
          {"kind", row.setting.backend}};
  if (std::string_view(table) == kRoofline) v.by["predictor"] = "roofline";
  v.row = row.name, v.measured = row.measured.value(), v.predicted = rate.value.value();
  const auto at = [&](double p) { return rate.quantile(p).value(); };
  v.low50 = at(0.25), v.high50 = at(0.75), v.low90 = at(0.05), v.high90 = at(0.95);
  v.origin = rate.origin, v.what = row.what, v.source = row.source;
  report.rows.push_back(std::move(v));
}

}  // namespace

std::vector<std::string> llm_tables() { return {kPair, kDevice, kModel, kRoofline, kByFold}; }

bool is_slow_llm_table(std::string_view table) { return table == kByFold; }

void judge_llm(const std::vector<LlmRow>& rows, std::string_view table, ValidationReport& report,
               const LlmChoicesOf& choices_of) {
  for (const LlmRow& r : rows) {
    if (!r.fit.fits() && table == kPair && !r.prefill)
      report.refused.push_back(
          {r.name,
           fmt::format("{} needs {:.1f} of {:.1f} GiB; {:g} tokens/s were measured", r.what,
                       r.fit.needed().value() / gibibytes(1).value(),
                       r.fit.limit.value() / gibibytes(1).value(), r.measured.value()),
           1});
  }
  if (table == kRoofline) {
    for (const LlmRow& r : rows) {
      if (r.fit.fits()) add_row(r, kRoofline, {roofline(r), 0, 0, Origin::kAnalytical}, report);
    }
    return;
  }
  const auto tables = {kPair, kDevice, kModel, kByFold};
  const char* name = *std::find(tables.begin(), tables.end(), table);
  const auto judge = [&](LlmPhase phase) {
    if (table != kByFold) return judged_rows(rows, table, phase);
    return judged_rows(rows, table, phase, [&](const std::function<bool(const LlmRow&)>& seen) {
      const auto block = [&](const LlmRow& r) { return fold_of(r, table); };
      return try_llm_settings(rows, phase, seen, block, choices_of(phase)).front().settings;
    });
  };
  auto answers = std::async(std::launch::async, judge, LlmPhase::kDecode);
  for (const LlmPhase phase : {LlmPhase::kPrefill, LlmPhase::kDecode}) {
    const std::vector<Judged> all = phase == LlmPhase::kPrefill ? judge(phase) : answers.get();
    std::array<std::array<double, 2>, kFolds> deviations{};
    for (unsigned f = 0; f < kFolds; ++f) {
      for (const bool known : {false, true}) deviations[f][known] = deviation(all, f, known);
    }
    for (const Judged& j : all)
      add_row(*j.row, name,
              {j.predicted, 0, deviations[j.fold][j.known],
               j.known ? Origin::kFitted : Origin::kTransferred, Tails::kHeavy},
              report);
  }
}

LlmLaws fit_llm_laws(const std::vector<LlmRow>& rows) {
  LlmLaws laws;
  for (LlmLaw* law : {&laws.prefill, &laws.decode}) {
    const LlmPhase phase = law->phase;
    std::vector<double> known, unknown;
    for (const Judged& j : judged_rows(rows, kPair, phase)) {
      if (j.known) known.push_back(j.logarithm());
    }
    for (const Judged& j : judged_rows(rows, kDevice, phase)) unknown.push_back(j.logarithm());
    *law = fit_llm_law(rows, phase, [](const LlmRow&) { return true; });
    law->known = llm_deviation(std::move(known));
    law->unknown = std::max(law->known, llm_deviation(std::move(unknown)));
  }
  return laws;
}

}  // namespace orrery
