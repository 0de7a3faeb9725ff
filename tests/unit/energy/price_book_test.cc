// Are prices looked up as the book states them, and is what the book lacks refused by one message?
#include "orrery/energy/account/price_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "tests/refusal.h"

namespace orrery {
namespace price_book_test {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kBook = R"(prices:
  - {gpu: big, tier: on_demand, provider: A, price: 2, date: "2026-01", source: page}
  - {gpu: big, tier: on_demand, provider: B, price: 4, date: "2026-03", source: page}
  - {gpu: big, tier: on_demand, provider: C, price: 3, date: "2026-02", source: page}
  - {gpu: big, tier: spot, provider: B, price: 1, date: "2026-03", source: page,
     preemptions_per_day: 0.5}
  - {gpu: small, tier: on_demand, provider: A, price: 1, date: "2026-01", source: page}
  - {gpu: small, tier: owned, price: 8760, years: 4, utilisation: 0.5, electricity: 0.1, pue: 1.2,
     date: "2026-01", source: invoice}
)";

PriceBook book_of(const std::string& text) {
  const std::string path = testing::TempDir() + "orrery-price-book.yaml";
  std::ofstream(path) << text;
  return PriceBook(path);
}

TEST(PriceBook, IsTheMedianOfTheProvidersWithTheirSpread) {
  const GpuPrice p = book_of(kBook).price("big", PriceTier::kOnDemand, "");
  EXPECT_EQ(p.hour.value, Usd(3));
  // The logarithms of 2, 3 and 4 are 0.693, 1.099 and 1.386: a deviation of 0.34824.
  EXPECT_NEAR(p.hour.sigma(), 0.34824, 1e-4);
  EXPECT_EQ(p.hour.origin, Origin::kMeasured);
  EXPECT_THAT(p.note, HasSubstr("median of 3 prices from 2 to 4 (2026-01 to 2026-03;"));
  EXPECT_FALSE(p.electricity);
}

TEST(PriceBook, OneProviderIsExactAndASingleEntryIsNot) {
  const PriceBook book = book_of(kBook);
  const GpuPrice at_b = book.price("Big", PriceTier::kOnDemand, "b");
  EXPECT_EQ(at_b.hour.value, Usd(4));
  EXPECT_EQ(at_b.hour.sigma(), 0);
  // Nobody says how far other providers are: as far as those of other GPUs.
  EXPECT_NEAR(book.price("small", PriceTier::kOnDemand, "").hour.sigma(), 0.34824, 1e-4);
}

TEST(PriceBook, SpotPricesSayHowOftenMachinesAreTakenAway) {
  const GpuPrice spot = book_of(kBook).price("big", PriceTier::kSpot, "");
  EXPECT_EQ(spot.preemptions_per_day, 0.5);
  EXPECT_THAT(spot.note, HasSubstr("0.5 times a day"));
}

// 8,760 USD over 4 years of 8,760 hours, half of which are used: 0.5 USD for an hour of use.
TEST(PriceBook, AnOwnedGpuIsPaidOffByItsHoursOfUse) {
  const GpuPrice p = book_of(kBook).price("small", PriceTier::kOwned, "");
  EXPECT_NEAR(p.hour.value.value(), 0.5, 1e-12);
  ASSERT_TRUE(p.electricity);
  EXPECT_EQ(p.electricity->usd_per_kwh, 0.1);
  EXPECT_EQ(p.electricity->pue, 1.2);
}

TEST(PriceBook, RefusesWhatItLacksAndNamesWhatItHas) {
  const PriceBook book = book_of(kBook);
  EXPECT_THAT(refusal_of([&] { book.price("small", PriceTier::kSpot, ""); }),
              AllOf(HasSubstr("no price spot of small"), HasSubstr("on_demand, owned")));
  EXPECT_THAT(refusal_of([&] { book.price("big", PriceTier::kOnDemand, "AA"); }),
              AllOf(HasSubstr("cost.provider"), HasSubstr("A, B, C")));
  EXPECT_THAT(refusal_of([&] { book.price("other", PriceTier::kOnDemand, ""); }),
              AllOf(HasSubstr("no price of other"), HasSubstr("--price"), HasSubstr("big, small")));
}

TEST(PriceBook, RefusesMalformedFiles) {
  const std::string head = "prices:\n  - {gpu: big, tier: on_demand, date: now, source: page, ";
  EXPECT_THAT(refusal_of([&] { book_of(head + "price: -1}\n"); }),
              AllOf(HasSubstr("orrery-price-book.yaml:2"), HasSubstr("price"), HasSubstr("-1")));
  EXPECT_THAT(refusal_of([&] { book_of(head + "price: 1, tax: 2}\n"); }), HasSubstr("tax"));
  EXPECT_THAT(refusal_of([&] { book_of(head + "price: 1, years: 4}\n"); }),
              HasSubstr("tier owned"));
  EXPECT_THAT(refusal_of([&] { book_of(head + "price: 1, pue: 0.9}\n"); }), HasSubstr("pue"));
  EXPECT_THAT(refusal_of([&] {
                book_of(
                    "prices:\n  - {gpu: big, tier: spott, price: 1, date: now, "
                    "source: page}\n");
              }),
              HasSubstr("spot"));
  EXPECT_THAT(refusal_of([&] {
                book_of(
                    "prices:\n  - {gpu: big, tier: owned, price: 1, date: now, "
                    "source: page, electricity: 0.1}\n");
              }),
              HasSubstr("years"));
  EXPECT_THAT(refusal_of([&] { book_of("prices: []\n"); }), HasSubstr("at least one price"));
  EXPECT_THAT(refusal_of([&] { PriceBook(std::string("no-such-book.yaml")); }),
              HasSubstr("no-such-book.yaml"));
}

TEST(PriceBook, TheBundledOneHasGpusOfTheCatalog) {
  const PriceBook book{Bundle()};
  const Catalog catalog;
  EXPECT_GE(book.entries().size(), 30u);
  for (const PriceEntry& e : book.entries()) {
    EXPECT_EQ(catalog.gpu(e.gpu).id, e.gpu);
    EXPECT_FALSE(e.source.empty());
    EXPECT_GT(e.price, 0) << e.source;
  }
}

TEST(CostOf, MultipliesAndAddsIndependentErrorsInQuadrature) {
  const Estimate<Usd> hour = {Usd(2), 0, 0.3, Origin::kMeasured};
  const Estimate<Seconds> time = {seconds(1800), 0.4, 0, Origin::kFitted};
  const Estimate<Usd> cost = cost_of(hour, time);
  EXPECT_EQ(cost.value, Usd(1));
  EXPECT_NEAR(cost.sigma(), 0.5, 1e-12);
  EXPECT_EQ(cost.origin, Origin::kFitted);
}

}  // namespace price_book_test
}  // namespace orrery
