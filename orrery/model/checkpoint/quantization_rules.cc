#include "orrery/model/checkpoint/quantization_rules.h"

#include <array>

#include "orrery/base/error.h"

namespace orrery {
namespace {

constexpr std::array<std::string_view, 5> kPrefixes = {"model.", "language_model.", "backbone.",
                                                       "transformer.", "thinker."};

std::string_view without_prefixes(std::string_view text) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view prefix : kPrefixes) {
      if (!text.starts_with(prefix)) continue;
      text.remove_prefix(prefix.size());
      found = true;
    }
  }
  return text;
}

NamePattern parsed(const Node& node, std::string_view text) {
  try {
    return NamePattern(text.starts_with("re:") ? text : without_prefixes(text));
  } catch (const InputError& e) {
    node.fail(e.what());
  }
}

}  // namespace

ModulePattern::ModulePattern(const Node& node, std::string_view text)
    : pattern(parsed(node, text)) {
  const std::string_view plain = pattern.text();
  if (plain.find_first_of("0123456789") == plain.npos && plain.find("\\d") == plain.npos) return;
  tells_layers_apart = true;
  if (!pattern.is_regex() && plain.starts_with("layers.")) {
    head = plain.substr(0, plain.find_first_of("*?"));
  }
}

}  // namespace orrery
