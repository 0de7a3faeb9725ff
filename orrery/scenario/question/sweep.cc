#include "orrery/scenario/question/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/units.h"

namespace orrery {
namespace {

constexpr std::size_t kMostPoints = 10'000;

using ParseNumber = std::optional<std::int64_t> (*)(std::string_view text);

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t v = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, v);
  if (error != std::errc() || rest != end) return std::nullopt;
  return v;
}

// "64K", "1.5 GB", "8 MiB" or a whole number of bytes.
std::optional<std::int64_t> byte_count(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (const auto plain = whole_number(text)) return plain;
  constexpr std::string_view kPrefixes = "KMGTP";
  std::string with_unit(text);
  if (!text.empty() && kPrefixes.find(text.back()) != std::string_view::npos) with_unit += "iB";
  const auto bytes = parse_quantity(Dimension::kBytes, with_unit);
  constexpr double kMost = 9e18;  // of the integer
  if (!bytes || !(std::abs(*bytes) < kMost)) return std::nullopt;
  return static_cast<std::int64_t>(std::llround(*bytes));
}

// "8", "1-64*2", "128-1024+128" or "1-8" (by ones). `number` reads its numbers; the factor of a
// range is a whole number.
void append_item(const Node& node, std::string_view text, std::int64_t least, std::int64_t most,
                 ParseNumber number, Sweep& out) {
  auto refuse = [&](std::string_view why) {
    node.fail(fmt::format(
        "{} in '{}': expected numbers or ranges such as 1,2,4 or 1-64*2 or 128-1024+128", why,
        text));
  };
  const auto check = [&](std::int64_t v) {
    if (v < least || v > most)
      node.fail(fmt::format("{} is out of range: {} to {}", v, least, most));
    if (out.size() >= kMostPoints) node.fail(fmt::format("more than {} values", kMostPoints));
    out.push_back(v);
  };
  if (auto single = number(text)) return check(*single);
  const std::size_t dash = text.find('-', 1);
  if (dash == std::string_view::npos)
    refuse(number == byte_count ? "not a size such as 64K, 8 MiB or 1 GB" : "not a whole number");
  const std::size_t sign = text.find_first_of("*+", dash);
  const auto first = number(text.substr(0, dash));
  const auto last =
      number(text.substr(dash + 1, sign == std::string_view::npos ? sign : sign - dash - 1));
  const bool times = sign != std::string_view::npos && text[sign] == '*';
  const auto step = sign == std::string_view::npos
                        ? std::optional<std::int64_t>(1)
                        : (times ? whole_number : number)(text.substr(sign + 1));
  if (!first || !last || !step) refuse("not a range");
  if (*last < *first) refuse("a range that runs backwards");
  if (*step < (times ? 2 : 1) || (times && *first < 1)) refuse("a range that does not advance");
  check(*last);  // before counting up to it
  out.pop_back();
  for (std::int64_t v = *first;; v = times ? v * *step : v + *step) {
    check(v);
    if (times ? v > *last / *step : v > *last - *step) break;  // the next one would be beyond
  }
}

Sweep read(const Node& node, std::int64_t least, std::int64_t most, ParseNumber number) {
  Sweep out;
  auto append_text = [&](const Node& item) {
    std::string_view text = item.as_string();
    while (true) {
      const std::size_t comma = text.find(',');
      append_item(item, text.substr(0, comma), least, most, number, out);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
  };
  if (node.is_list()) {
    for (const Node& item : node.items()) append_text(item);
    if (out.empty()) node.fail("expected at least one number");
  } else {
    append_text(node);
  }
  return out;
}

}  // namespace

Sweep read_sweep(const Node& node, std::int64_t least, std::int64_t most) {
  return read(node, least, most, whole_number);
}

namespace {

// The values of a swept parameter: numbers in one form, within limits.
struct Numbers {
  std::int64_t least, most;
  ParseNumber number;

  std::int64_t one(const Node& n) const {
    const Sweep values = read(n, least, most, number);
    if (values.size() != 1) n.fail("expected one number");
    return values[0];
  }
  std::vector<std::string> texts(const Node& n) const {
    std::vector<std::string> out;
    for (const std::int64_t v : read(n, least, most, number)) out.push_back(std::to_string(v));
    return out;
  }
};

Field& declare_swept(Fields& fields, std::string name, const Numbers& numbers,
                     std::function<void(std::int64_t)> set, std::function<std::int64_t()> get,
                     std::string doc) {
  return fields
      .custom(
          std::move(name), Field::Type::kList,
          [set = std::move(set), numbers](const Node& n) { set(numbers.one(n)); },
          [get = std::move(get)] { return nlohmann::ordered_json::array({get()}); }, std::move(doc))
      .range(static_cast<double>(numbers.least), static_cast<double>(numbers.most))
      .listed([numbers](const Node& n) { return numbers.texts(n); });
}

}  // namespace

Field& add_byte_sweep(Fields& fields, std::string name, std::int64_t& value, std::int64_t least,
                      std::int64_t most, std::string doc) {
  return declare_swept(
             fields, std::move(name), {least, most, byte_count},
             [&value](std::int64_t v) { value = v; }, [&value] { return value; }, std::move(doc))
      .unit("bytes");
}

Field& add_sweep(Fields& fields, std::string name, std::int64_t& value, std::int64_t least,
                 std::int64_t most, std::string doc) {
  return declare_swept(
      fields, std::move(name), {least, most, whole_number}, [&value](std::int64_t v) { value = v; },
      [&value] { return value; }, std::move(doc));
}

Field& add_sweep(Fields& fields, std::string name, int& value, int least, int most,
                 std::string doc) {
  return declare_swept(
      fields, std::move(name), {least, most, whole_number},
      [&value](std::int64_t v) { value = static_cast<int>(v); }, [&value] { return value; },
      std::move(doc));
}

Field& add_sweep(Fields& fields, std::string name, std::optional<std::int64_t>& value,
                 std::int64_t shown, std::int64_t least, std::int64_t most, std::string doc) {
  return declare_swept(
      fields, std::move(name), {least, most, whole_number}, [&value](std::int64_t v) { value = v; },
      [&value, shown] { return value.value_or(shown); }, std::move(doc));
}

Field& add_open_sweep(Fields& fields, std::string name, std::optional<std::int64_t>& value,
                      std::int64_t open, std::int64_t most, std::string doc) {
  const auto set = [&value, open](std::int64_t v) {
    value = v == open ? std::nullopt : std::optional(v);
  };
  return declare_swept(
      fields, std::move(name), {open, most, whole_number}, set,
      [&value, open] { return value.value_or(open); }, std::move(doc));
}

Field& add_list(Fields& fields, std::string name, Sweep& value, std::int64_t least,
                std::int64_t most, std::string doc) {
  return fields
      .custom(
          std::move(name), Field::Type::kList,
          [&value, least, most](const Node& n) { value = read_sweep(n, least, most); },
          [&value] { return nlohmann::ordered_json(value); }, std::move(doc))
      .range(static_cast<double>(least), static_cast<double>(most));
}

}  // namespace orrery
