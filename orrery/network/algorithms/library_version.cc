#include "orrery/network/algorithms/library_version.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// A number at the beginning of `text`, which it removes; nothing if there is none.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || text.front() == '-' || value > 999) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string to_text(const LibraryVersion& v) {
  return v.patch < 0 ? fmt::format("{}.{}", v.major, v.minor)
                     : fmt::format("{}.{}.{}", v.major, v.minor, v.patch);
}

std::optional<LibraryVersion> parse_library_version(std::string_view text) {
  take(text, 'v');
  LibraryVersion version;
  const auto major = take_number(text);
  if (!major || *major != 2 || !take(text, '.')) return std::nullopt;
  const auto minor = take_number(text);
  if (!minor) return std::nullopt;
  version = {*major, *minor};
  if (take(text, '.')) {
    const auto patch = take_number(text);
    if (!patch) return std::nullopt;
    version.patch = *patch;
    if (take(text, '-') && !take_number(text)) return std::nullopt;  // the packaging's number
  }
  return text.empty() ? std::optional(version) : std::nullopt;
}

LibraryVersion asked_nccl_version(std::string_view text) {
  const auto version = parse_library_version(text);
  if (!version) {
    throw InputError(
        fmt::format("expected a version of NCCL such as 2.27 or 2.27.3, got '{}'", text));
  }
  if (*version < kOldestNccl) {
    throw InputError(fmt::format(
        "NCCL {} is not modelled: the oldest version is {}, the first with sends and receives",
        text, to_text(kOldestNccl)));
  }
  return *version;
}

bool was_measured_with(const std::vector<std::string>& versions, const LibraryVersion& asked) {
  return std::any_of(versions.begin(), versions.end(), [&](const std::string& text) {
    const auto version = parse_library_version(text);
    return version && version->same_release(asked);
  });
}

}  // namespace orrery
