#include "orrery/training/iteration/stack_release_date.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/error.h"
#include "orrery/base/fields.h"

namespace orrery {
namespace {

double middle_of(int year, int month) { return year + (month - 0.5) / 12; }

// The numbers of a text, separated by dots or hyphens; empty if the text has anything else.
std::vector<int> numbers(std::string_view text) {
  std::vector<int> all;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int n = 0;
    const auto [next, error] = std::from_chars(at, end, n);
    if (error != std::errc() || n < 0) return {};
    all.push_back(n);
    if (next == end) return all;
    if ((*next != '.' && *next != '-') || next + 1 == end) return {};
    at = next + 1;
  }
  return {};
}

// Middle of the month of each Megatron Core release 0.N, by N (catalog/training/releases.yaml).
std::map<int, double> read_megatron_core() {
  const auto file = Bundle().find("training/releases.yaml");
  std::map<int, double> dates;
  if (!file) return dates;
  Fields fields;
  fields.custom(
      "megatron_core", Field::Type::kList,
      [&](const Node& list) {
        for (const Node& item : list.items()) {
          std::string version, date, source;
          bool unconfirmed = false;
          Fields f;
          f.add("version", version, "0.N").required();
          f.add("date", date, "month of the release, such as 2024-08").required();
          f.add("source", source, "where the date can be looked up");
          f.add("unconfirmed", unconfirmed, "no public source of the date was found");
          f.read(item);
          if (source.empty() != unconfirmed)
            item.fail("expected either a source or unconfirmed: true");
          const std::vector<int> v = numbers(version), d = numbers(date);
          if (v.size() != 2 || v[0] != 0 || d.size() != 2 || d[1] < 1 || d[1] > 12)
            item.fail("expected a version such as 0.8 and a date such as 2024-08");
          dates[v[1]] = middle_of(d[0], d[1]);
        }
      },
      [] { return nlohmann::ordered_json(); }, "releases of Megatron Core");
  fields.read(parse_yaml(file->content, file->name));
  return dates;
}

const std::map<int, double>& megatron_core() {
  static const std::map<int, double> dates = read_megatron_core();
  return dates;
}

}  // namespace

double stack_release_date(std::string_view version) {
  const std::vector<int> n = numbers(version);
  const bool month = n.size() > 1 && n[1] >= 1 && n[1] <= 12;
  const bool date = !n.empty() && n[0] >= 2015 && n[0] < 2100;
  if (date && n.size() == 1) return n[0] + 0.5;
  if (date && month) return middle_of(n[0], n[1]);
  if (n.size() > 1 && n[0] >= 15 && n[0] < 100 && month) return middle_of(2000 + n[0], n[1]);
  if (n.size() > 1 && n[0] == 0 && megatron_core().contains(n[1])) return megatron_core().at(n[1]);
  throw InputError(
      fmt::format("expected a release as a date (2025-06), an NVIDIA container (25.09) or a "
                  "version of Megatron "
                  "Core (0.12), got '{}'",
                  version));
}

double ReleaseSpan::years(double release) const { return std::clamp(release, first, last) - usual; }

}  // namespace orrery
