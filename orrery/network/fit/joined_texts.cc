#include "orrery/network/fit/joined_texts.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {
namespace {

constexpr std::string_view kNextText = "--- # ";

}  // namespace

std::string joined_texts(const std::map<std::string, std::string>& texts) {
  std::string out;
  for (const auto& [name, text] : texts) out += fmt::format("{}{}\n{}", kNextText, name, text);
  return out;
}

std::map<std::string, std::string> split_texts(std::string_view joined) {
  std::map<std::string, std::string> texts;
  std::string* text = nullptr;
  while (!joined.empty()) {
    const std::size_t end = std::min(joined.find('\n'), joined.size());
    const std::string_view line = joined.substr(0, end);
    joined.remove_prefix(std::min(end + 1, joined.size()));
    if (line.starts_with(kNextText)) {
      text = &texts[std::string(line.substr(kNextText.size()))];
    } else if (text != nullptr) {
      text->append(line).push_back('\n');
    }
  }
  return texts;
}

}  // namespace orrery
