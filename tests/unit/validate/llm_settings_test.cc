// Strengths of effects, settings of a fit that are chosen by rows left out, and the table of
// `orrery validate edge` that chooses them anew for each fold. The rows are invented.
#include "orrery/validate/edge/llm_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "orrery/base/random.h"
#include "orrery/validate/edge/judge_llm.h"

namespace orrery {
namespace llm_settings_test {

constexpr const char* kByFold = "llm, settings by fold";

const LlmChips& chips() {
  static const LlmChips kChips{Bundle()};
  return kChips;
}

// The reading of one answer: what reading weights and starting kernels cost differs between
// families, pairs of chip and model by up to 5 %.
LlmRow row_of(const LlmChip& chip, int model) {
  LlmRow r;
  r.setting.chip = &chip, r.setting.backend = std::string(chip.family->backend);
  r.setting.kernels = model % 2 == 0 ? "q4_K" : "q8_0";
  r.model = r.setting.model = "m" + std::to_string(model);
  r.group = chip.id + " " + r.model, r.name = r.group;
  LlmTimes times{};
  times[static_cast<std::size_t>(LlmTerm::kWeights)] = Seconds(0.001 * (1 + model));
  times[static_cast<std::size_t>(LlmTerm::kStart)] = Seconds(0.0001);
  r.cases = {times};
  const double scatter = double(hash_text(r.group) % 1000) / 1000 - 0.5;
  const double family = double(hash_text(chip.family->name) % 1000) / 1000;
  const Seconds truth = times[static_cast<std::size_t>(LlmTerm::kWeights)] * (1.3 + 4 * family) +
                        times[static_cast<std::size_t>(LlmTerm::kStart)] * 3;
  r.measured = token_rate(1, truth) * std::exp(0.1 * scatter);
  r.fit.limit = Bytes(1);
  return r;
}

std::vector<LlmRow> invented_rows() {
  constexpr std::size_t kChips = 9;
  constexpr int kModels = 5;
  std::vector<LlmRow> rows;
  for (std::size_t c = 0; c < kChips; ++c) {
    const std::size_t chip = c * chips().all().size() / kChips;
    for (int m = 0; m < kModels; ++m) rows.push_back(row_of(chips().all()[chip], m));
  }
  return rows;
}

bool all(const LlmRow&) { return true; }

// The predicted rate of each row of a table.
std::map<std::string, double> judged(const std::vector<LlmRow>& rows, const char* table,
                                     const std::vector<LlmChoice>& choices) {
  ValidationReport report;
  judge_llm(rows, table, report, [&](LlmPhase) { return choices; });
  std::map<std::string, double> rates;
  for (const ValidationRow& r : report.rows) rates[r.row] = r.predicted;
  return rates;
}

TEST(LlmSettings, WithoutAChoiceTheTableIsThePlainOne) {
  const std::vector<LlmRow> rows = invented_rows();
  const auto plain = judged(rows, "llm", {});
  EXPECT_EQ(plain.size(), rows.size());
  EXPECT_EQ(judged(rows, kByFold, {{"noise", {LlmFitSettings().noise}}}), plain);
  EXPECT_NE(judged(rows, kByFold, {{"weights family", {0.01}}}), plain);
}

// Another rate of a pair moves what is predicted of other folds, and nothing of its own fold.
TEST(LlmSettings, AFoldIsPredictedWithoutItsRates) {
  const std::vector<LlmChoice> choices = {
      {"weights family", {0.02, 0.5}}, {"weights chip", {0.4, 0}}, {"noise", {0.3, 0.05}}};
  std::vector<LlmRow> rows = invented_rows();
  const auto before = judged(rows, kByFold, choices);
  const auto fold = [](const std::string& group) { return hash_text(group) % 10; };
  const std::uint64_t own = fold(rows.front().group);
  for (LlmRow& r : rows) {
    if (fold(r.group) == own) r.measured *= 7;
  }
  const auto after = judged(rows, kByFold, choices);
  std::size_t moved = 0;
  for (const LlmRow& r : rows) {
    if (fold(r.group) == own)
      EXPECT_EQ(after.at(r.name), before.at(r.name)) << r.name;
    else
      moved += after.at(r.name) != before.at(r.name);
  }
  EXPECT_GT(moved, rows.size() / 2);
}

// Chips differ in what reading weights costs, so that a fit which may not say so is worse.
TEST(LlmSettings, TheBestOfTheTriedComesFirst) {
  const std::vector<LlmRow> rows = invented_rows();
  const auto block = [](const LlmRow& r) { return unsigned(hash_text(r.group) % 10); };
  const auto tried = try_llm_settings(rows, LlmPhase::kDecode, all, block,
                                      {{"weights", {0.01, 1}}, {"huber", {2, 1}}});
  ASSERT_GE(tried.size(), 3u);
  EXPECT_EQ(tried.front().settings.strengths.at("weights"), 1);
  EXPECT_TRUE(std::is_sorted(tried.begin(), tried.end(),
                             [](const auto& a, const auto& b) { return a.error < b.error; }));
}

TEST(LlmSettings, TheErrorOfRowsLeftOut) {
  // Five rows off by 10 %, so that every quantile and the mean are 0.1.
  EXPECT_NEAR(llm_left_out_error(std::vector<double>(5, std::log(1.1))), 0.1 + 0.4 * 0.1, 1e-12);
  // One row in ten that is off by far counts 5 in the mean alone.
  std::vector<double> one(10, 0);
  one.front() = 30;
  EXPECT_NEAR(llm_left_out_error(one), 0.4 * 5 / 10, 1e-12);
}

// The errors of a block are nearly those of a fit without its rows.
TEST(LlmSettings, BlocksAreLeftOutAsByAnotherFit) {
  const std::vector<LlmRow> rows = invented_rows();
  LlmFitSettings settings;
  settings.huber = 1000, settings.noise = 0.1;
  const auto block = [](const LlmRow& r) { return unsigned(hash_text(r.group) % 5); };
  const LlmLeftOut once = fit_llm_blocks(rows, LlmPhase::kDecode, all, settings, block, {});
  ASSERT_EQ(once.off.size(), rows.size());
  double farthest = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto others = [&](const LlmRow& r) { return block(r) != block(rows[i]); };
    const LlmLaw law = fit_llm_law(rows, LlmPhase::kDecode, others, settings);
    const double off = std::log(llm_rate(law, rows[i]) / rows[i].measured);
    EXPECT_NEAR(once.off[i], off, 0.02) << rows[i].name;
    const double seen = std::log(llm_rate(once.law, rows[i]) / rows[i].measured);
    farthest = std::max(farthest, std::abs(once.off[i] - seen));
  }
  EXPECT_GT(farthest, 0.05);
}

std::vector<std::string> names_of(const std::vector<LlmEffect>& effects) {
  std::vector<std::string> names;
  for (const LlmEffect& e : effects) names.push_back(e.name);
  return names;
}

TEST(LlmSettings, StrengthsOfEffects) {
  const LlmRow row = row_of(chips().all().front(), 0);
  const auto effects = [&](const LlmStrengths& strengths) {
    return llm_effects(LlmPhase::kDecode, LlmTerm::kWeights, row.setting, strengths);
  };
  const auto plain = effects({});
  const std::string family = "weights family=" + std::string(row.setting.chip->family->name);
  const auto of_family = [&](const std::vector<LlmEffect>& in) {
    for (const LlmEffect& e : in) {
      if (e.name == family) return e.deviation;
    }
    return 0.0;
  };
  EXPECT_GT(of_family(plain), 0.25);
  EXPECT_EQ(of_family(effects({{"weights family", 0.25}})), 0.25);
  EXPECT_EQ(effects({{"weights family", 0}}).size(), plain.size() - 1);
  EXPECT_THAT(names_of(effects({{"weights kernels+model", 0.1}})),
              testing::Contains("weights kernels=q4_K model=m0"));
  EXPECT_EQ(effects({{"start family", 0.25}}).size(), plain.size());
  EXPECT_NEAR(of_family(effects({{"weights", 2}})), 2 * of_family(plain), 1e-12);
  EXPECT_TRUE(effects({{"weights", 0}}).empty());
  LlmLaw law;
  EXPECT_GT(law.costs(row.setting)[static_cast<std::size_t>(LlmTerm::kWeights)], 0);
  law.strengths = {{"weights", 0}};
  EXPECT_EQ(law.costs(row.setting)[static_cast<std::size_t>(LlmTerm::kWeights)], 0);
}

// The effects on all terms, as text.
std::vector<std::string> effects_of(LlmPhase phase, const LlmStrengths& strengths) {
  LlmSetting s = row_of(chips().all().front(), 0).setting;
  s.mixture = s.plain_attention = true, s.head_width = 80, s.hidden = 5120, s.packed_heads = 4;
  std::vector<std::string> out;
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    for (const LlmEffect& e : llm_effects(phase, static_cast<LlmTerm>(t), s, strengths))
      out.push_back(e.name + " " + std::to_string(e.deviation));
  }
  std::sort(out.begin(), out.end());
  return out;
}

// A fold may choose the defaults. No other value of a choice means the same.
TEST(LlmSettings, TheDefaultIsOneOfEachChoice) {
  const LlmFitSettings usual;
  const std::map<std::string, double> numbers = {
      {"noise", usual.noise}, {"huber", usual.huber}, {"group power", usual.group_power}};
  for (const LlmPhase phase : {LlmPhase::kPrefill, LlmPhase::kDecode}) {
    EXPECT_GT(llm_choices(phase).size(), 10u);
    for (const LlmChoice& c : llm_choices(phase)) {
      const auto is_default = [&](double value) {
        const auto number = numbers.find(c.name);
        return number != numbers.end()
                   ? value == number->second
                   : effects_of(phase, {{c.name, value}}) == effects_of(phase, {});
      };
      EXPECT_EQ(std::count_if(c.values.begin(), c.values.end(), is_default), 1) << c.name;
    }
  }
}

}  // namespace llm_settings_test
}  // namespace orrery
