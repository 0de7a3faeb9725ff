#include "orrery/workload/plan/by_memory.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "orrery/base/error.h"

namespace orrery {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The text up to `mark`, and `rest` is what follows it. All of it if there is no mark.
std::string_view cut(std::string_view& rest, char mark) {
  const std::size_t at = rest.find(mark);
  const std::string_view first = trimmed(rest.substr(0, at));
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return first;
}

}  // namespace

std::int64_t by_memory(std::string_view text, Bytes memory, std::int64_t tp) {
  const auto malformed = [text]() -> InputError {
    return InputError(
        fmt::format("engine: a default by the memory of the device: expected limits and sizes such "
                    "as '60 GiB: 32/160, 512', got '{}'",
                    text));
  };
  const auto number = [&](std::string_view digits) {
    std::int64_t n = 0;
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (r.ec != std::errc() || r.ptr != digits.data() + digits.size() || n < 1) throw malformed();
    return n;
  };
  constexpr std::int64_t kManyRanks = 4;
  for (std::string_view rest = text; !trimmed(rest).empty();) {
    std::string_view entry = cut(rest, ',');
    const bool limited = entry.find(':') != std::string_view::npos;
    if (limited == trimmed(rest).empty())
      throw malformed();  // the last entry, and it alone, has no limit
    const std::string_view limit = limited ? cut(entry, ':') : "";
    const bool by_ranks = entry.find('/') != std::string_view::npos;
    const std::int64_t few = number(cut(entry, '/'));
    const std::int64_t many = by_ranks ? number(trimmed(entry)) : few;
    const auto bytes = limited ? parse_quantity(Dimension::kBytes, limit) : std::nullopt;
    if (limited && !bytes) throw malformed();
    if (limited && memory >= Bytes(*bytes)) continue;
    return tp >= kManyRanks ? many : few;
  }
  throw malformed();
}

}  // namespace orrery
