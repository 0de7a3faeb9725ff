#include "orrery/validate/rows/scenario_keys.h"

#include <algorithm>
#include <charconv>

namespace orrery {
namespace {

// A scalar of YAML's flow style: in quotes where a character of it has a meaning there.
std::string flow_scalar(const std::string& text) {
  if (!text.empty() && text.find_first_of(",[]{}:#\"'|&*!%@`") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

std::string flow_yaml(const Node& node) {
  if (!node.is_map()) return flow_scalar(node.text());
  std::string out = "{";
  for (std::size_t i = 0; i < node.keys().size(); ++i)
    out += (i == 0 ? "" : ", ") + node.keys()[i] + ": " + flow_yaml(node.items()[i]);
  return out + "}";
}

}  // namespace

void ScenarioKeys::set(std::string_view key, std::string value) {
  for (auto& [name, text] : values_) {
    if (name == key) return void(text = std::move(value));
  }
  values_.emplace_back(key, std::move(value));
}

void ScenarioKeys::set_engine(std::string_view key, std::string value) {
  set("engine.overrides." + std::string(key), std::move(value));
}

void ScenarioKeys::erase(std::string_view key) {
  std::erase_if(values_, [&](const auto& value) { return value.first == key; });
}

void ScenarioKeys::erase_group(std::string_view group) {
  std::erase_if(values_, [&](const auto& value) {
    return value.first.starts_with(group) && value.first.substr(group.size()).starts_with('.');
  });
}

std::string ScenarioKeys::text(std::string_view key) const {
  const auto found = std::find_if(values_.begin(), values_.end(),
                                  [&](const auto& value) { return value.first == key; });
  return found == values_.end() ? "" : found->second;
}

std::string ScenarioKeys::engine_text(std::string_view key) const {
  return text("engine.overrides." + std::string(key));
}

std::int64_t ScenarioKeys::number(std::string_view key, std::int64_t otherwise) const {
  const std::string value = text(key);
  std::from_chars(value.data(), value.data() + value.size(), otherwise);
  return otherwise;
}

Node ScenarioKeys::document() const {
  Node root;
  for (const auto& [key, value] : values_) set_path(root, key, scalar_node(value, key));
  return root;
}

std::string ScenarioKeys::yaml() const { return flow_yaml(document()); }

}  // namespace orrery
