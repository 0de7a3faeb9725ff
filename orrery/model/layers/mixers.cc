#include "orrery/model/layers/mixers.h"

namespace orrery {

KeptState kept_state(const Mixer& mixer) {
  return std::visit([](const auto& m) { return m.kept(); }, mixer);
}

AttentionWidths attention_widths(const Mixer& mixer) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.attention(); }) return m.attention();
        return AttentionWidths{};
      },
      mixer);
}

DecodeWidths decode_widths(const Mixer& mixer) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.decode(); }) return m.decode();
        return DecodeWidths{};
      },
      mixer);
}

double state_products(const Mixer& mixer) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.state_products(); }) return m.state_products();
        return 0.0;
      },
      mixer);
}

std::string_view untrained_part(const Mixer& mixer) {
  return std::visit(
      [](const auto& m) {
        if constexpr (requires { m.untrained(); }) return m.untrained();
        return std::string_view();
      },
      mixer);
}

bool has_up_projections(const Mixer& mixer) {
  return std::visit([](const auto& m) { return requires { m.kUpProjections; }; }, mixer);
}

void divide(const Mixer& mixer, TensorRules& rules) {
  std::visit([&](const auto& m) { m.divide(rules); }, mixer);
}

Width buffer_width(const Mixer& mixer) {
  return std::visit([](const auto& m) { return m.buffers(); }, mixer);
}

std::string_view mixer_kind(const Mixer& mixer) {
  return std::visit([](const auto& m) { return m.kKind; }, mixer);
}

std::string mixer_label(const Mixer& mixer) {
  return std::visit([](const auto& m) { return m.label(); }, mixer);
}

LayerFacts mixer_facts(const Mixer& mixer) {
  return std::visit([](const auto& m) { return m.facts(); }, mixer);
}

}  // namespace orrery
