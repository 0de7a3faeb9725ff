#include "orrery/training/iteration/stack_release_date.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "orrery/base/error.h"

namespace orrery {
namespace {

// Tags of github.com/NVIDIA/Megatron-LM, core_v0.N.0: year and month, from memory: to about one
// month.
constexpr std::array<std::array<int, 2>, 16> kMegatronCore = {{{2023, 4},
                                                               {2023, 5},
                                                               {2023, 7},
                                                               {2023, 10},
                                                               {2023, 12},
                                                               {2024, 1},
                                                               {2024, 4},
                                                               {2024, 6},
                                                               {2024, 8},
                                                               {2024, 10},
                                                               {2025, 2},
                                                               {2025, 3},
                                                               {2025, 5},
                                                               {2025, 8},
                                                               {2025, 10},
                                                               {2025, 12}}};

double middle_of(int year, int month) { return year + (month - 0.5) / 12; }

// The numbers between dots or hyphens; empty: something else is there.
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

}  // namespace

double stack_release_date(std::string_view version) {
  const std::vector<int> n = numbers(version);
  const bool month = n.size() > 1 && n[1] >= 1 && n[1] <= 12;
  const bool date = !n.empty() && n[0] >= 2015 && n[0] < 2100;
  if (date && n.size() == 1) return n[0] + 0.5;
  if (date && month) return middle_of(n[0], n[1]);
  if (n.size() > 1 && n[0] >= 15 && n[0] < 100 && month) return middle_of(2000 + n[0], n[1]);
  if (n.size() > 1 && n[0] == 0 && n[1] < static_cast<int>(kMegatronCore.size())) {
    const auto& [year, of_year] = kMegatronCore[static_cast<std::size_t>(n[1])];
    return middle_of(year, of_year);
  }
  throw InputError(fmt::format(
      "a release is a date (2025-06), a container (25.09) or Megatron Core's (0.12), got '{}'",
      version));
}

double ReleaseSpan::years(double release) const { return std::clamp(release, first, last) - usual; }

}  // namespace orrery
