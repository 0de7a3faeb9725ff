#include "orrery/suite/suite_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace orrery {
namespace {

constexpr std::size_t kLongest = 2000;
// Reserved words of the language.
constexpr std::array<std::string_view, 7> kWords = {"and", "or", "not", "in", "within", "of", "as"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\n'; }

}  // namespace

SuiteText::SuiteText(const Node& node) : node_(node), text_(node.as_string()) {
  if (text_.size() > kLongest)
    node.fail(fmt::format("an expression of {} characters; at most {}", text_.size(), kLongest));
}

void SuiteText::refuse_at(std::size_t at, std::string_view why) const {
  const std::string found =
      at < text_.size() ? fmt::format(" at '{}'", text_.substr(at, 12)) : " at the end";
  node_.fail(fmt::format("column {}: {}{}", at + 1, why, found));
}

std::size_t SuiteText::here() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  return at_;
}

bool SuiteText::takes(std::string_view symbol) {
  if (!text_.substr(here()).starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

std::string_view SuiteText::word() {
  const std::size_t begin = here();
  std::size_t end = begin;
  if (end < text_.size() && is_letter(text_[end]))
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  return text_.substr(begin, end - begin);
}

bool SuiteText::takes_word(std::string_view wanted) {
  if (word() != wanted) return false;
  at_ += wanted.size();
  return true;
}

void SuiteText::expect(std::string_view symbol) {
  if (!takes(symbol)) refuse(fmt::format("expected '{}'", symbol));
}

std::string SuiteText::expect_name(std::string_view what) {
  const std::string_view name = word();
  if (name.empty() || std::find(kWords.begin(), kWords.end(), name) != kWords.end())
    refuse(fmt::format("expected {}", what));
  at_ += name.size();
  return std::string(name);
}

std::string SuiteText::until(std::string_view ends) {
  const std::size_t begin = at_;
  at_ = std::min(text_.find_first_of(ends, begin), text_.size());
  return from(begin);
}

bool SuiteText::next_is_digit() {
  const std::size_t next = here();
  return next < text_.size() && is_digit(text_[next]);
}

bool SuiteText::next_is_member() const {
  return next_is('.') && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]);
}

double SuiteText::number() {
  const std::size_t begin = here();
  const char *const first = text_.data() + begin, *const last = text_.data() + text_.size();
  double value = 0;
  auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || !std::isfinite(value)) refuse_at(begin, "not a number");
  if (end[-1] == '.') --end;  // of a range: 1..2
  at_ = begin + static_cast<std::size_t>(end - first);
  if (next_is('%')) ++at_, value /= 100;
  return value;
}

}  // namespace orrery
