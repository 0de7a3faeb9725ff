#include "orrery/scenario/answer/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace orrery {
namespace {

const Figure* find_exactly(std::string_view name) {
  const auto at = std::find_if(kFigures.begin(), kFigures.end(),
                               [&](const Figure& f) { return f.name == name; });
  return at == kFigures.end() ? nullptr : &*at;
}

// Where the name of a metric ends before "_p95"; npos: it does not end with a percentile.
std::size_t end_before_percentile(std::string_view name) {
  const std::size_t at = name.rfind("_p");
  if (at == name.npos) return at;
  double p = -1;
  const char* const last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + at + 2, last, p);
  return error == std::errc() && end == last && p >= 0 && p <= 100 ? at : name.npos;
}

}  // namespace

std::string percentile_name(std::string_view figure, double percentile) {
  return fmt::format("{}_p{:g}", figure, percentile);
}

const Figure* find_figure(std::string_view name) {
  if (const Figure* f = find_exactly(name)) return f;
  constexpr std::string_view kCollocated = "collocated_";
  if (name.starts_with(kCollocated)) return find_figure(name.substr(kCollocated.size()));
  if (const std::size_t end = end_before_percentile(name); end != name.npos)
    return find_figure(name.substr(0, end));
  // Figures whose name ends with "_" are those of some requests: "ttft_class_chat".
  const auto of_some = std::find_if(kFigures.begin(), kFigures.end(), [&](const Figure& f) {
    return f.name.ends_with("_") && name.starts_with(f.name);
  });
  return of_some == kFigures.end() ? nullptr : &*of_some;
}

}  // namespace orrery
