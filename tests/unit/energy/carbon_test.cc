// Are emissions those of the energy and of the boards' life, and are series and regions that do not
// hold refused by one message?
#include "orrery/energy/account/carbon.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "tests/refusal.h"

namespace orrery {
namespace carbon_test {

using testing::AllOf;
using testing::HasSubstr;

std::string file_of(const std::string& text) {
  const std::string path = testing::TempDir() + "orrery-carbon.csv";
  std::ofstream(path) << text;
  return path;
}

std::string time_at(int hour) {
  return fmt::format("2026-02-{:02}T{:02}:00", 27 + hour / 24, hour % 24);
}

// Two days: 100 g from 10 to 14 o'clock, otherwise 400 g.
std::string two_days() {
  std::string text = "time,g_per_kwh\n";
  for (int h = 0; h < 48; ++h)
    text += fmt::format("{},{}\n", time_at(h), h % 24 >= 10 && h % 24 < 14 ? 100 : 400);
  return text;
}

TEST(Carbon, IsEnergyTimesIntensity) {
  const Estimate<Grams> g = operational({Joules(7.2e6), 0.1, 0.2, Origin::kFitted}, 350);
  EXPECT_DOUBLE_EQ(g.value.value(), 700);  // 2 kWh
  EXPECT_EQ(g.shared, 0.1);
  EXPECT_EQ(g.own, 0.2);
}

TEST(Carbon, OfARegionByCodeOrName) {
  const CarbonFacts facts{Bundle()};
  EXPECT_EQ(facts.intensity("250").mean, 250);
  EXPECT_EQ(facts.intensity("250").note, "");
  EXPECT_NEAR(facts.intensity("DEU").mean, 381, 0.5);  // Ember's figure of 2023
  EXPECT_EQ(facts.intensity("germany").mean, facts.intensity("deu").mean);
  EXPECT_THAT(facts.intensity("USA").note, AllOf(HasSubstr("2022"), HasSubstr("Ember")));
}

TEST(Carbon, RefusesUnknownRegionsAndNegativeNumbers) {
  const CarbonFacts facts{Bundle()};
  EXPECT_THAT(refusal_of([&] { facts.intensity("Germani"); }),
              AllOf(HasSubstr("energy.carbon"), HasSubstr("'Germany'"), HasSubstr("DEU")));
  EXPECT_THAT(refusal_of([&] { facts.intensity("-3"); }), HasSubstr("-3"));
  EXPECT_THAT(refusal_of([&] { facts.intensity("no-such.csv"); }), HasSubstr("no-such.csv"));
}

TEST(CarbonSeries, HasTheMeanOfItsHours) {
  const CarbonIntensity s = CarbonFacts{Bundle()}.intensity(file_of(two_days()));
  ASSERT_EQ(s.hours.size(), 48u);
  EXPECT_NEAR(s.mean, (4 * 100 + 20 * 400) / 24.0, 1e-9);
  EXPECT_EQ(s.hours[12], 100);
  EXPECT_EQ(s.hours[15], 400);
}

TEST(CarbonSeries, ARunThatCanWaitTakesTheBestHours) {
  const CarbonIntensity s = read_carbon_series(file_of(two_days()));
  EXPECT_EQ(best_start(s.hours, 4).hour, 10u);
  EXPECT_EQ(best_start(s.hours, 4).mean, 100);
  // 5.5 hours: 4 at 100 and 1.5 at 400, from 10, or half an hour of which comes after.
  EXPECT_NEAR(best_start(s.hours, 5.5).mean, (4 * 100 + 1.5 * 400) / 5.5, 1e-9);
  // Two rounds and 4 hours.
  EXPECT_NEAR(best_start(s.hours, 100).mean, (96 * s.mean + 4 * 100) / 100, 1e-9);
  // A series that begins in the middle of the good hours goes on with its begin after its end.
  std::vector<double> turned(s.hours.begin() + 12, s.hours.begin() + 36);
  EXPECT_EQ(best_start(turned, 4).hour, 22u);
  EXPECT_EQ(best_start(turned, 4).mean, 100);
}

TEST(CarbonSeries, NoStartIsBetterThanTheBestOne) {
  std::vector<double> series;
  for (int i = 0; i < 30; ++i) series.push_back((i * 37) % 101);
  for (const double hours : {0.25, 1.0, 3.5, 29.0, 30.0, 47.75}) {
    const CarbonStart best = best_start(series, hours);
    for (std::size_t start = 0; start < series.size(); ++start) {
      double sum = 0;
      for (double at = 0; at < hours; at += 0.25)
        sum += 0.25 * series[(start + static_cast<std::size_t>(at)) % series.size()];
      EXPECT_LE(best.mean, sum / hours + 1e-9) << hours << " from " << start;
      if (start == best.hour) {
        EXPECT_NEAR(best.mean, sum / hours, 1e-9);
      }
    }
  }
}

TEST(CarbonSeries, RefusesGapsNegativeValuesAndOtherTimes) {
  const auto refused = [](const std::string& text) {
    return refusal_of([&] { read_carbon_series(file_of(text)); });
  };
  std::string gap = two_days();
  const std::size_t at = gap.find(time_at(5));
  gap.erase(at, gap.find('\n', at) + 1 - at);
  EXPECT_THAT(refused(gap), AllOf(HasSubstr(":7:"), HasSubstr("gap"), HasSubstr(time_at(6))));
  EXPECT_THAT(refused("time,g_per_kwh\n" + time_at(0) + ",-1\n"),
              AllOf(HasSubstr(":2:"), HasSubstr("g_per_kwh"), HasSubstr("-1")));
  EXPECT_THAT(refused("time,g_per_kwh\n2026-02-27T00:30,1\n"), HasSubstr("2026-02-27T00:30"));
  EXPECT_THAT(refused("time,g_per_kwh\nyesterday,1\n"), HasSubstr("yesterday"));
  EXPECT_THAT(refused("time,g_per_kwh\n" + time_at(0) + ",1\n"), HasSubstr("at least a day"));
  EXPECT_THAT(refused("time,grams\n"), HasSubstr("g_per_kwh"));
}

// 164 kg over 6 years of 8,760 hours.
TEST(EmbodiedCarbon, IsSpreadOverTheLifeOfTheBoardAndRefusedWhereNobodyStatesIt) {
  const CarbonFacts facts{Bundle()};
  EXPECT_NEAR(facts.embodied_hour("h100-sxm").value(), 164e3 / (6 * 8760), 1e-9);
  EXPECT_THAT(refusal_of([&] { facts.embodied_hour("rtx-4090"); }),
              AllOf(HasSubstr("rtx-4090"), HasSubstr("h100-sxm")));
  const Catalog catalog;
  for (const char* id : {"h100-sxm", "b200-sxm", "a100-40g-sxm", "a100-80g-sxm"})
    EXPECT_EQ(catalog.gpu(id).id, id);
}

}  // namespace carbon_test
}  // namespace orrery
