#include "orrery/energy/account/carbon.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/fields.h"
#include "orrery/base/node.h"

namespace orrery {
namespace {

constexpr const char* kRegionsPath = "carbon/regions.yaml";
constexpr const char* kBoardsPath = "carbon/boards.yaml";
constexpr double kGramsOfKilogram = 1000;
constexpr double kMostIntensity = 1e5;
constexpr std::size_t kHoursOfDay = 24;

Node read_bundled(const Bundle& bundle, const char* path) {
  const auto file = bundle.find(path);
  if (!file) throw InputError(fmt::format("catalog/{}: no such file", path));
  return parse_yaml(file->content, file->name);
}

std::optional<double> number(std::string_view text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) return {};
  return v;
}

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".csv") ||
         text.ends_with(".csv.gz");
}

// Whole number at a fixed place of a text; nothing if it is none.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int v = 0;
  if (at + count > text.size()) return {};
  const char* const end = text.data() + at + count;
  const auto read = std::from_chars(text.data() + at, end, v);
  if (read.ec != std::errc() || read.ptr != end || v < 0) return {};
  return v;
}

// Days from 1 January 1970 in the Gregorian calendar (Hinnant, "chrono-compatible low-level date
// algorithms").
std::int64_t days_from_civil(std::int64_t year, int month, int day) {
  year -= month <= 2;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// Hours from 1970 of "2026-03-01T00:00", with or without seconds and Z; nothing if it is no such
// time.
std::optional<std::int64_t> hour_of(std::string_view text) {
  for (const std::string_view end : {"Z", "+00:00"})
    if (text.ends_with(end)) text.remove_suffix(end.size());
  if (text.size() == 19 && text.ends_with(":00")) text.remove_suffix(3);
  const auto year = digits(text, 0, 4), month = digits(text, 5, 2), day = digits(text, 8, 2),
             hour = digits(text, 11, 2), minute = digits(text, 14, 2);
  if (text.size() != 16 || !year || !month || !day || !hour || !minute) return {};
  const bool shaped =
      text[4] == '-' && text[7] == '-' && (text[10] == 'T' || text[10] == ' ') && text[13] == ':';
  if (!shaped || *month < 1 || *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute != 0)
    return {};
  return days_from_civil(*year, *month, *day) * 24 + *hour;
}

}  // namespace

Estimate<Grams> operational(const Estimate<Joules>& energy, double g_per_kwh) {
  return {Grams(energy.value / kKilowattHour * g_per_kwh), energy.shared, energy.own, energy.origin,
          energy.tails};
}

CarbonIntensity read_carbon_series(const std::string& path) {
  require_file(path);
  CsvReader csv(path);
  const int time = csv.column("time"), value = csv.column("g_per_kwh");
  CarbonIntensity out;
  std::optional<std::int64_t> last;
  double sum = 0;
  while (csv.next()) {
    const auto hour = hour_of(csv.text(time));
    if (!hour)
      csv.fail(time, fmt::format("expected a full hour in UTC such as 2026-03-01T00:00, got '{}'",
                                 csv.text(time)));
    if (last && *hour != *last + 1)
      csv.fail(time, fmt::format("a gap: expected the hour after the row before, got '{}'",
                                 csv.text(time)));
    const double g = csv.number(value);
    if (g < 0 || g > kMostIntensity)
      csv.fail(value, fmt::format("expected 0 to {:.0f} g for a kWh, got {}", kMostIntensity, g));
    last = hour, sum += g;
    out.hours.push_back(g);
  }
  if (out.hours.size() < kHoursOfDay)
    throw InputError(fmt::format("{}: {} hours; expected at least a day", path, out.hours.size()));
  out.mean = sum / real(out.hours.size());
  out.note = fmt::format("electricity of {:.4g} g CO2e for a kWh, the mean of {} hours of {}",
                         out.mean, out.hours.size(), path);
  return out;
}

CarbonStart best_start(std::span<const double> series, double hours) {
  const std::size_t n = series.size();
  // Whole rounds of the series weigh every hour the same.
  double whole = 0;
  for (const double g : series) whole += g;
  const double rounds = std::floor(hours / real(n));
  const double rest = hours - rounds * real(n);
  const auto full = static_cast<std::size_t>(rest);
  const double part = rest - real(full);
  double window = 0;
  for (std::size_t i = 0; i < full; ++i) window += series[i];
  CarbonStart best{0, 0};
  for (std::size_t start = 0; start < n; ++start) {
    const double all = rounds * whole + window + part * series[(start + full) % n];
    if (start == 0 || all / hours < best.mean) best = {start, all / hours};
    window += series[(start + full) % n] - series[start];
  }
  return best;
}

CarbonFacts::CarbonFacts(const Bundle& bundle) {
  const auto nothing = [] { return nlohmann::ordered_json(nullptr); };
  Fields regions, boards;
  regions
      .custom(
          "regions", Field::Type::kList,
          [this](const Node& list) {
            for (const Node& node : list.items()) {
              Region r;
              Fields f;
              f.add("code", r.code, "short name").required();
              f.add("name", r.name, "name").required();
              f.add("g_per_kwh", r.g_per_kwh, "g of CO2e for a kWh")
                  .range(0, kMostIntensity)
                  .required();
              f.add("year", r.year, "year of the mean").range(1990, 2100).required();
              f.add("source", r.source, "where it can be read").required();
              f.read(node);
              regions_.push_back(std::move(r));
            }
          },
          nothing, "regions")
      .required();
  regions.read(read_bundled(bundle, kRegionsPath));
  boards.add("life_years", life_years_, "years in which a board is used").range(1, 50).required();
  boards
      .custom(
          "boards", Field::Type::kList,
          [this](const Node& list) {
            for (const Node& node : list.items()) {
              Board b;
              Fields f;
              f.add("gpu", b.gpu, "id of the GPU").required();
              f.add("kg", b.kg, "kg of CO2e to make a board").range(0, 1e6).required();
              f.add("source", b.source, "where it can be read").required();
              f.read(node);
              boards_.push_back(std::move(b));
            }
          },
          nothing, "boards")
      .required();
  boards.read(read_bundled(bundle, kBoardsPath));
}

CarbonIntensity CarbonFacts::intensity(const std::string& text) const {
  CarbonIntensity out;
  if (const auto stated = number(text)) {
    if (*stated < 0 || *stated > kMostIntensity)
      throw InputError(fmt::format("energy.carbon: expected 0 to {:.0f} g for a kWh, got {}",
                                   kMostIntensity, text));
    out.mean = *stated;
    return out;
  }
  if (is_path(text)) return read_carbon_series(text);
  std::vector<std::string> names;
  for (const Region& r : regions_) {
    for (const std::string& name : {r.code, r.name}) {
      if (canonical_name(name) == canonical_name(text)) {
        out.mean = r.g_per_kwh;
        out.note = fmt::format("electricity of {}: {:.4g} g CO2e for a kWh, the mean of {} ({})",
                               r.name, r.g_per_kwh, r.year, r.source);
        return out;
      }
      names.push_back(name);
    }
  }
  std::vector<std::string> codes;
  for (const Region& r : regions_) codes.push_back(r.code);
  throw InputError(fmt::format(
      "energy.carbon: '{}' is no region{}; expected grams of CO2e for a kWh, a file of an hourly "
      "series (.csv), or one of {}",
      text, did_you_mean(text, names), fmt::join(codes, ", ")));
}

Grams CarbonFacts::embodied_hour(std::string_view gpu) const {
  std::vector<std::string> known;
  for (const Board& b : boards_) {
    if (b.gpu == gpu) return Grams(b.kg * kGramsOfKilogram / (life_years_ * kHoursOfYear));
    known.push_back(b.gpu);
  }
  throw InputError(
      fmt::format("energy.embodied: nobody states what it took to make {}; known of {}", gpu,
                  fmt::join(known, ", ")));
}

}  // namespace orrery
