// Greenhouse gases of electricity and of boards, in grams of CO2 equivalents.
//
//   operational = energy * intensity of the electricity
//   embodied    = what it took to make the boards, over the years of their life
//
// The intensity is a number, the mean of a region (catalog/carbon/regions.yaml) or an hourly series
// of one's own. A run that can wait takes the hours of a series in which it emits least.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/estimate.h"
#include "orrery/base/units.h"
#include "orrery/energy/account/amount.h"

namespace orrery {

using Grams = Amount<struct GramsTag>;

struct CarbonIntensity {
  double mean = 0;            // g for a kWh
  std::vector<double> hours;  // of a series, one after the other; empty: constant
  std::string note;           // what it is, and of which year
};

// Emissions of the electricity.
Estimate<Grams> operational(const Estimate<Joules>& energy, double g_per_kwh);

// An hourly series from a CSV file with the columns `time` (2026-03-01T00:00, in UTC) and
// `g_per_kwh`. InputError: less than a day, a gap, a time that is not an hour, a negative value.
CarbonIntensity read_carbon_series(const std::string& path);

// The best start of a run of `hours` hours in a series, which is repeated where it ends.
struct CarbonStart {
  std::size_t hour = 0;  // of the series
  double mean = 0;       // g for a kWh over the run
};
// REQUIRES a series and hours > 0.
CarbonStart best_start(std::span<const double> series, double hours);

class CarbonFacts {
 public:
  // Reads catalog/carbon. InputError: a file is malformed.
  explicit CarbonFacts(const Bundle& bundle);

  // The intensity that a text means: a number of g for a kWh, the path of a series (with '/' or
  // ending in .csv), or a region's code or name. InputError: none of these; the message has the
  // nearest name.
  CarbonIntensity intensity(const std::string& text) const;
  // Embodied emissions of one board for an hour of its life. InputError: nobody says; the message
  // has the GPUs that have a figure.
  Grams embodied_hour(std::string_view gpu) const;
  double life_years() const { return life_years_; }

 private:
  struct Region {
    std::string code, name, source;
    double g_per_kwh = 0;
    int year = 0;
  };
  struct Board {
    std::string gpu, source;
    double kg = 0;
  };
  std::vector<Region> regions_;
  std::vector<Board> boards_;
  double life_years_ = 1;
};

}  // namespace orrery
