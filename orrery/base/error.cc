#include "orrery/base/error.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace orrery {
namespace {

std::string letters_of(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c != '_' && c != '-' && c != '.' && c != ' ') out += c;
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> known) {
  constexpr std::size_t kLongestName = 128;  // longer input is no typo of any name
  if (name.size() > kLongestName) return "";
  const std::string wanted = letters_of(name);
  std::string best;
  std::size_t best_distance = wanted.size() / 3 + 2;
  for (const std::string& candidate : known) {
    const std::string letters = letters_of(candidate);
    std::size_t distance = edit_distance(wanted, letters);
    // A name that the input begins, or that begins the input, is near too: "h100" for "h100-sxm".
    if (wanted.size() >= 3 && letters.size() >= 3 &&
        (letters.starts_with(wanted) || wanted.starts_with(letters))) {
      distance = 0;
    }
    // Among several such names the one wins that is nearest with its dashes and dots.
    const bool nearer = distance == best_distance && distance == 0 &&
                        edit_distance(name, candidate) < edit_distance(name, best);
    if (distance < best_distance || nearer) best_distance = distance, best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view name, std::span<const std::string> known) {
  const std::string near = nearest_name(name, known);
  return near.empty() ? "" : " (did you mean '" + near + "'?)";
}

std::string canonical_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return out;
}

}  // namespace orrery
