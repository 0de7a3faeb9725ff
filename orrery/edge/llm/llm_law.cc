#include "orrery/edge/llm/llm_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

constexpr const char* kLawsPath = "edge/llm.yaml";

// A rule makes one effect for each combination of its keys, such as "family+kernels".
struct Rule {
  std::string_view keys;
  double deviation;
};
// The deviations were chosen by inner folds (docs/lab/2026-11-edge.md); values are fitted.
constexpr Rule kOfBytes[] = {{"vendor", 0.8},
                             {"family", 1.2},
                             {"backend", 1.2},
                             {"runtime", 0.8},
                             {"kernels", 0.4},
                             {"vendor+kernels", 0.6},
                             {"family+kernels", 0.4},
                             {"backend+kernels", 0.6},
                             {"family+backend", 0.6},
                             {"vendor+runtime", 0.6},
                             {"family+runtime", 1.2},
                             {"mixture", 1.2},
                             {"mixture+backend", 0.8},
                             {"mixture+kernels", 0.8},
                             {"chip", 0.4},
                             {"chip+backend+runtime", 1.0},
                             {"bandwidth+vendor", 0.4},
                             {"intensity+vendor", 0.4},
                             {"model+backend", 0.1},
                             {"size+backend", 0.2}};
constexpr Rule kOfProduct[] = {{"vendor", 0.6},
                               {"family", 0.7},
                               {"backend", 0.3},
                               {"runtime", 0.2},
                               {"kernels", 0.4},
                               {"vendor+kernels", 0.15},
                               {"family+kernels", 0.5},
                               {"backend+kernels", 0.15},
                               {"family+backend", 0.7},
                               {"vendor+runtime", 0.15},
                               {"family+runtime", 0.3},
                               {"mixture", 0.3},
                               {"mixture+backend", 0.7},
                               {"mixture+kernels", 0.8},
                               {"chip", 0.1},
                               {"chip+backend+runtime", 0.55},
                               {"size", 0.15},
                               {"size+backend", 0.15},
                               {"size+kernels", 0.2},
                               {"heat", 0.6}};
constexpr Rule kNarrow[] = {{"vendor", 0.2}, {"family", 0.2}, {"backend", 0.2}, {"runtime", 0.2}};
constexpr Rule kOfStart[] = {{"vendor", 0.2},          {"family", 0.2},
                             {"backend", 0.2},         {"runtime", 0.2},
                             {"backend+runtime", 0.4}, {"chip+backend+runtime", 0.25},
                             {"mixture", 0.5}};
constexpr Rule kOfAttention[] = {{"vendor", 0.4},        {"family", 0.3},        {"backend", 0.6},
                                 {"runtime", 0.4},       {"plain", 0.4},         {"width", 0.5},
                                 {"width+backend", 0.3}, {"packed+backend", 0.3}};
constexpr Rule kOfTiles[] = {
    {"vendor", 0.4}, {"family", 0.3}, {"backend", 0.6}, {"runtime", 0.4}, {"plain", 0.4}};
constexpr Rule kOfOverlap[] = {
    {"family", 0.3}, {"kernels", 0.3}, {"chip+kernels", 0.3}, {"size", 1.0}, {"size+kernels", 0.5}};
constexpr Rule kOfPadding[] = {
    {"vendor", 0.2}, {"family", 0.2}, {"backend", 0.2}, {"runtime", 0.2}, {"kernels", 0.3}};
constexpr Rule kOfUnpack[] = {{"vendor", 0.5}, {"family", 0.4}, {"backend", 0.5}, {"runtime", 0.5}};
constexpr Rule kOfHop[] = {{"vendor", 0.2}, {"family", 0.2}};

// The effects on a term in a phase: the constant's mean, the rules, and a factor on their
// deviations.
struct TermRules {
  double mean;
  std::span<const Rule> rules;
  double factor = 1;
};

TermRules rules_of(LlmPhase phase, LlmTerm term) {
  const bool prefill = phase == LlmPhase::kPrefill;
  switch (term) {
    case LlmTerm::kProduct:
      return prefill ? TermRules{1, kOfProduct} : TermRules{0.5, kNarrow};
    case LlmTerm::kAttention:
      return prefill ? TermRules{1.5, kOfAttention} : TermRules{0, {}};
    case LlmTerm::kWeights:
      return prefill ? TermRules{-0.5, kNarrow, 2} : TermRules{-0.5, kOfBytes};
    case LlmTerm::kCache:
      return prefill ? TermRules{0, {}} : TermRules{0, kNarrow, 3};
    case LlmTerm::kTiles:
      return prefill ? TermRules{0, kOfTiles} : TermRules{0, {}};
    case LlmTerm::kStart:
      return prefill ? TermRules{1.5, kNarrow, 2} : TermRules{1.5, kOfStart};
    case LlmTerm::kHop:
      return {0, kOfHop};
    case LlmTerm::kOverlap:
      return prefill ? TermRules{0, kOfOverlap, 4} : TermRules{0, {}};
    case LlmTerm::kActivations:
      return prefill ? TermRules{0, kNarrow, 2} : TermRules{0, {}};
    case LlmTerm::kPadding:
      return prefill ? TermRules{1, kOfPadding, 4} : TermRules{0, {}};
    case LlmTerm::kUnpack:
      return prefill ? TermRules{0, kOfUnpack, 3} : TermRules{0, {}};
  }
  return {0, {}};
}

// A key that is a number multiplies its effect with the number's logarithm over a usual value.
// Other keys have none.
std::optional<double> number_of(std::string_view key, const LlmSetting& s) {
  constexpr double kUsualWidth = 128, kUsualHidden = 4096, kUsualPacked = 2;
  constexpr BytesPerSecond kUsualBandwidth(500e9);
  constexpr double kUsualIntensity = 150;  // FLOPs at the peak for a byte
  constexpr double kUsualHeat = 3e11;      // FLOPs for a joule
  const LlmChip& chip = *s.chip;
  if (key == "width") return std::log(s.head_width / kUsualWidth);
  if (key == "size") return std::log(s.hidden / kUsualHidden);
  if (key == "packed") return s.packed_heads - kUsualPacked;
  if (key == "bandwidth") return std::log(chip.bandwidth / kUsualBandwidth);
  if (key == "intensity")
    return std::log(chip.matrix.value() / chip.bandwidth.value() / kUsualIntensity);
  if (key == "heat")
    return chip.power ? std::log(chip.matrix.value() / chip.power->value() / kUsualHeat) : 0;
  return std::nullopt;
}

// The value of a key; empty: there is no effect.
std::string value_of(std::string_view key, const LlmSetting& s) {
  if (key == "vendor") return std::string(s.chip->family->vendor);
  if (key == "family") return std::string(s.chip->family->name);
  if (key == "chip") return s.chip->id;
  if (key == "backend") return s.backend;
  if (key == "runtime") return s.runtime;
  if (key == "kernels") return s.kernels;
  if (key == "model") return s.model;
  if (key == "mixture") return s.mixture ? "yes" : "";
  if (key == "plain") return s.plain_attention ? "yes" : "";
  return "yes";  // a number
}

// The keys of a rule.
std::vector<std::string_view> split(std::string_view keys) {
  std::vector<std::string_view> out;
  while (!keys.empty()) {
    const auto plus = std::min(keys.find('+'), keys.size());
    out.push_back(keys.substr(0, plus));
    keys.remove_prefix(std::min(plus + 1, keys.size()));
  }
  return out;
}

// "family=ada kernels=k"; empty where a key has no value.
std::string name_of(std::string_view keys, const LlmSetting& s) {
  std::string name;
  for (const std::string_view key : split(keys)) {
    const std::string value = value_of(key, s);
    if (value.empty()) return {};
    name += fmt::format("{}{}={}", name.empty() ? "" : " ", key, value);
  }
  return name;
}

}  // namespace

std::vector<LlmEffect> llm_effects(LlmPhase phase, LlmTerm term, const LlmSetting& setting,
                                   const LlmStrengths& strengths) {
  constexpr double kConstant = 1;
  const TermRules of = rules_of(phase, term);
  const std::string_view of_term = to_text(term);
  const auto whole = strengths.find(of_term);
  const double factor = whole == strengths.end() ? of.factor : whole->second;
  if (of.rules.empty() || factor == 0) return {};
  std::vector<LlmEffect> effects = {{fmt::format("{} constant", of_term), 1, of.mean, kConstant}};
  const auto add = [&](std::string_view keys, double deviation) {
    const std::string name = name_of(keys, setting);
    if (name.empty() || deviation == 0) return;
    double times = 1;
    for (const std::string_view key : split(keys)) times *= number_of(key, setting).value_or(1);
    effects.push_back({fmt::format("{} {}", of_term, name), times, 0, deviation});
  };
  const std::string begin = fmt::format("{} ", of_term);
  for (const Rule& rule : of.rules) {
    const auto own =
        strengths.empty() ? strengths.end() : strengths.find(begin + std::string(rule.keys));
    add(rule.keys, own == strengths.end() ? rule.deviation * factor : own->second);
  }
  for (auto s = strengths.lower_bound(begin); s != strengths.end() && s->first.starts_with(begin);
       ++s) {
    const std::string_view keys = std::string_view(s->first).substr(begin.size());
    const auto has = [&](const Rule& rule) { return rule.keys == keys; };
    if (std::none_of(of.rules.begin(), of.rules.end(), has)) add(keys, s->second);
  }
  return effects;
}

LlmCosts LlmLaw::costs(const LlmSetting& setting) const {
  LlmCosts costs{};
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    const auto of = llm_effects(phase, static_cast<LlmTerm>(t), setting, strengths);
    if (of.empty()) continue;
    double c = 0;
    for (const LlmEffect& e : of) {
      const auto found = effects.find(e.name);
      c += e.times * (found == effects.end() ? e.mean : found->second);
    }
    costs[t] = std::exp(c);
  }
  return costs;
}

bool LlmLaw::knows(const LlmSetting& setting) const {
  const LlmTerm main = phase == LlmPhase::kPrefill ? LlmTerm::kProduct : LlmTerm::kWeights;
  const std::string begin = fmt::format("{} {} ", to_text(main), name_of("chip+backend", setting));
  const auto found = effects.lower_bound(begin);
  return found != effects.end() && found->first.starts_with(begin);
}

LlmTimes llm_terms(const LlmCosts& costs, const LlmTimes& times) {
  LlmTimes out{};
  for (std::size_t t = 0; t < kLlmTerms; ++t) {
    if (costs[t] > 0)
      out[t] = times[t] * (costs[t] + (is_bounded(static_cast<LlmTerm>(t)) ? 1 : 0));
  }
  return out;
}

LlmLaws read_llm_laws(const Bundle& bundle) {
  const auto file = bundle.find(kLawsPath);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", kLawsPath));
  LlmLaws laws;
  Fields f;
  f.add("recipe", laws.recipe, "what was fitted").required();
  const auto declare = [](LlmLaw& law) {
    return [&law](Fields& m) {
      m.add("known", law.known, "deviation of a chip that was measured").range(1e-3, 2).required();
      m.add("unknown", law.unknown, "of one that was not").range(1e-3, 2).required();
      m.custom(
          "effects", Field::Type::kGroup,
          [&law](const Node& map) {
            for (const std::string& key : map.keys()) law.effects[key] = map.at(key).as_double();
          },
          [] { return nlohmann::ordered_json(); }, "values");
    };
  };
  f.group("prefill", declare(laws.prefill), "law of prompts");
  f.group("decode", declare(laws.decode), "law of answers");
  f.read(parse_yaml(file->content, file->name));
  return laws;
}

std::string llm_laws_text(const LlmLaws& laws) {
  std::string text = fmt::format(
      "# Made by `orrery fit edge`: do not edit. Effects on the costs of terms "
      "(orrery/edge/llm/llm_law.h).\nrecipe: \"{}\"\n",
      laws.recipe);
  for (const LlmLaw* law : {&laws.prefill, &laws.decode}) {
    text += fmt::format("{}:\n  known: {:.4f}\n  unknown: {:.4f}\n  effects:\n",
                        law == &laws.prefill ? "prefill" : "decode", law->known, law->unknown);
    for (const auto& [name, value] : law->effects)
      text += fmt::format("    \"{}\": {:.4f}\n", name, value);
  }
  return text;
}

}  // namespace orrery
