#include "orrery/workload/plan/torch_version.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/base/bundle.h"
#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

// "2.11" or "2026-03" as two numbers; the rest of the text follows `end`.
struct TwoNumbers {
  int first = -1, second = -1;
  std::string_view rest;
};
TwoNumbers two_numbers(std::string_view text, char between) {
  TwoNumbers n;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, n.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != between) return {};
  const auto second = std::from_chars(first.ptr + 1, end, n.second);
  if (second.ec != std::errc()) return {};
  n.rest = {second.ptr, static_cast<std::size_t>(end - second.ptr)};
  return n;
}

// The middle of the month in which each release came out, in years.
std::map<TorchVersion, double> read_releases() {
  std::map<TorchVersion, double> dates;
  const auto file = Bundle().find("training/torch-releases.yaml");
  if (!file) return dates;
  std::string source;
  Fields fields;
  fields.add("source", source, "where the dates can be looked up").required();
  fields.custom(
      "releases", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) {
          std::string version, date;
          Fields f;
          f.add("version", version, "such as 2.11").required();
          f.add("date", date, "month of the release, such as 2026-03").required();
          f.read(item);
          const TwoNumbers month = two_numbers(date, '-');
          if (month.second < 1 || month.second > 12) item.fail("expected a month such as 2026-03");
          dates[read_torch_version(version)] = month.first + (month.second - 0.5) / 12;
        }
      },
      [] { return nlohmann::ordered_json(); }, "releases of PyTorch");
  fields.read(parse_yaml(file->content, file->name));
  return dates;
}

}  // namespace

TorchVersion read_torch_version(std::string_view text) {
  const TwoNumbers n = two_numbers(text, '.');
  const bool ends = n.rest.empty() || n.rest[0] == '.' || n.rest[0] == '+';
  if (n.first < 1 || n.first > 2 || n.second < 0 || !ends)
    throw InputError(fmt::format("expected a release of PyTorch such as 2.11, got '{}'", text));
  return {n.first, n.second};
}

std::string to_text(TorchVersion v) { return fmt::format("{}.{}", v.major, v.minor); }

std::optional<TorchVersion> torch_at(double date) {
  static const std::map<TorchVersion, double> releases = read_releases();
  std::optional<TorchVersion> newest;
  for (const auto& [version, released] : releases)
    if (released <= date) newest = version;
  return newest;
}

}  // namespace orrery
