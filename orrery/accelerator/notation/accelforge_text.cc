#include "orrery/accelerator/notation/accelforge_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/node_builder.h"

namespace orrery {
namespace {

constexpr std::size_t kMostTemplateText = std::size_t{4} << 20;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

class Template {
 public:
  Template(std::string_view text, const std::string& name, const TemplateValues& values)
      : text_(text), name_(name), values_(values), given_(values) {}

  std::string render() {
    while (at_ < text_.size()) {
      const std::string_view opening = text_.substr(at_, 2);
      if (opening == "{%" || opening == "{#") {
        const std::string_view inside = until(opening == "{%" ? "%}" : "#}");
        if (opening == "{%") set(inside);
      } else if (opening == "{{") {
        add(value_of(until("}}")));
      } else {
        add(text_.substr(at_++, 1));
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw InputError(fmt::format("{}:{}: {}", name_, line, shortened(message, 400)));
  }
  void add(std::string_view text) {
    if (out_.size() + text.size() > kMostTemplateText)
      fail("the template makes over 4 MiB of text");
    out_ += text;
  }
  // The text up to the closing mark; its line ends are kept.
  std::string_view until(std::string_view closing) {
    const std::size_t end = text_.find(closing, at_ + 2);
    if (end == std::string_view::npos) fail(fmt::format("'{}' is missing", closing));
    std::string_view inside = text_.substr(at_ + 2, end - at_ - 2);
    out_.append(static_cast<std::size_t>(std::count(inside.begin(), inside.end(), '\n')), '\n');
    at_ = end + 2;
    if (!inside.empty() && (inside.front() == '-' || inside.front() == '+'))
      inside.remove_prefix(1);
    if (!inside.empty() && (inside.back() == '-' || inside.back() == '+')) inside.remove_suffix(1);
    return trimmed(inside);
  }
  void set(std::string_view inside) {
    const std::size_t equals = inside.find('=');
    if (!inside.starts_with("set ") || equals == std::string_view::npos) {
      refuse(inside);
    }
    const std::string_view name = trimmed(inside.substr(4, equals - 4));
    std::string_view value = trimmed(inside.substr(equals + 1));
    if (!is_name(name)) refuse(inside);
    const std::string_view fallback = " | default(";
    const std::size_t bar = value.find('|');
    if (bar != std::string_view::npos) {
      const std::string_view call = trimmed(value.substr(bar + 1));
      const std::string_view function = trimmed(fallback).substr(2);
      if (trimmed(value.substr(0, bar)) != name || !call.starts_with(function) ||
          call.back() != ')') {
        refuse(inside);
      }
      value = trimmed(call.substr(function.size(), call.size() - function.size() - 1));
      if (given_.contains(name)) return;
    }
    values_[std::string(name)] = literal(value, inside);
  }
  // A number, a word or a text in quotes.
  std::string literal(std::string_view value, std::string_view inside) const {
    const bool quoted = value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
                        value.back() == value.front();
    if (quoted) value = value.substr(1, value.size() - 2);
    const bool plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
             c == '+';
    });
    if (!plain) refuse(inside);
    return std::string(value);
  }
  std::string_view value_of(std::string_view name) const {
    const auto found = values_.find(name);
    if (found != values_.end()) return found->second;
    if (!is_name(name)) refuse(name);
    std::vector<std::string> known;
    for (const auto& [key, value] : values_) known.push_back(key);
    fail(fmt::format("the template's '{}' has no value{}", name, did_you_mean(name, known)));
  }
  [[noreturn]] void refuse(std::string_view inside) const {
    fail(
        fmt::format("the template asks for '{}'; only set, default and names are read: render the "
                    "file first",
                    std::string(inside.substr(0, 60))));
  }

  std::string_view text_;
  const std::string& name_;
  TemplateValues values_, given_;
  std::string out_;
  std::size_t at_ = 0;
};

// One line with its tag as a key. `below` is the column of the keys that follow.
std::string without_tag(const std::string& line, std::size_t below) {
  const std::size_t dash = line.find_first_not_of(' ');
  if (dash == std::string::npos || line.compare(dash, 3, "- !") != 0) return line;
  std::size_t end = dash + 3;
  while (end < line.size() && is_name(line.substr(end, 1))) ++end;
  const std::string kind = line.substr(dash + 3, end - dash - 3);
  const std::size_t rest = line.find_first_not_of(" \t\r", end);
  if (kind.empty()) return line;
  if (rest != std::string::npos && line[rest] == '{') {
    const bool empty = line.find_first_not_of(" \t", rest + 1) == line.find('}', rest);
    return line.substr(0, dash) + "- {kind: " + kind + (empty ? "" : ", ") + line.substr(rest + 1);
  }
  if (rest != std::string::npos && line[rest] != '#') return line;
  const std::size_t blanks = below > dash + 1 ? below - dash - 1 : 1;
  return line.substr(0, dash) + "-" + std::string(blanks, ' ') + "kind: " + kind;
}

std::size_t column_of(const std::string& line) {
  const std::size_t column = line.find_first_not_of(" \t\r");
  return column == std::string::npos || line[column] == '#' ? std::string::npos : column;
}

std::string without_tags(const std::string& text) {
  std::vector<std::string> lines{""};
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  std::string out;
  std::size_t below = 0;  // the column of the last line that says something
  std::vector<std::string> done(lines.size());
  for (std::size_t i = lines.size(); i-- > 0;) {
    done[i] = without_tag(lines[i], below);
    if (column_of(lines[i]) != std::string::npos) below = column_of(lines[i]);
  }
  for (const std::string& line : done) out += line + "\n";
  return out;
}

}  // namespace

Node parse_accelforge(std::string_view text, const std::string& name,
                      const TemplateValues& values) {
  return parse_yaml(without_tags(Template(text, name, values).render()), name);
}

void require_keys(const Node& map, std::span<const std::string> known) {
  if (!map.is_map()) map.fail(fmt::format("expected a map with {}", fmt::join(known, ", ")));
  for (std::size_t i = 0; i < map.keys().size(); ++i) {
    const std::string& key = map.keys()[i];
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    map.items()[i].fail(fmt::format("unknown key; known are {}{}", fmt::join(known, ", "),
                                    did_you_mean(key, known)));
  }
}

}  // namespace orrery
