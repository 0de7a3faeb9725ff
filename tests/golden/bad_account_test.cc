// Are prices, places and carbon that do not exist refused by one message that names what does?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/golden/program.h"

namespace orrery::golden {
namespace bad_account_test {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kBadInput = 2;

// A wrong question prints one line on stderr and nothing on stdout.
void expect_refused(const std::string& arguments, int code,
                    const testing::Matcher<const std::string&>& message) {
  const Result r = run_program(arguments);
  EXPECT_EQ(r.code, code) << arguments << "\n" << r.err;
  EXPECT_THAT(r.err, message) << arguments;
  EXPECT_EQ(r.out, "") << arguments;
  EXPECT_LE(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
}

TEST(BadCost, PricesTiersProvidersAndBooks) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm ";
  expect_refused(ask + "--price -1", kBadInput, AllOf(HasSubstr("--price"), HasSubstr("-1")));
  expect_refused(ask + "--tier spto", kBadInput, AllOf(HasSubstr("--tier"), HasSubstr("'spot'")));
  expect_refused(ask + "--tier spot --provider Nebis", kBadInput,
                 AllOf(HasSubstr("cost.provider"), HasSubstr("'Nebius'")));
  expect_refused("estimate -m llama-3-8b -g rtx-4090 --tier spot", kBadInput,
                 AllOf(HasSubstr("rtx-4090"), HasSubstr("--price-book")));
  const Scratch s;
  const std::string book =
      s.file("mine.yaml",
             "prices:\n- {gpu: h100-sxm, tier: spot, price: 1, date: now, source: me, tax: 2}\n");
  expect_refused(ask + "--tier spot --price-book " + book, kBadInput,
                 AllOf(HasSubstr("mine.yaml:2"), HasSubstr("tax")));
  expect_refused(ask + "--tier spot --price-book no-such.yaml", kBadInput,
                 HasSubstr("no-such.yaml"));
  expect_refused("train -m llama-3-8b -g h100-sxm --set training.gpu_hour_price=2", kBadInput,
                 HasSubstr("gpu_hour_price"));
}

TEST(BadPlant, PueRegionsAndSeries) {
  const std::string ask = "estimate -m llama-3-8b -g h100-sxm ";
  expect_refused(ask + "--scope facility --pue 0.9", kBadInput,
                 AllOf(HasSubstr("--pue"), HasSubstr("0.9")));
  expect_refused(ask + "--pue 1.2", kBadInput, HasSubstr("energy.scope facility"));
  expect_refused(ask + "--scope rack", kBadInput, AllOf(HasSubstr("--scope"), HasSubstr("node")));
  expect_refused(ask + "--carbon Germani", kBadInput,
                 AllOf(HasSubstr("energy.carbon"), HasSubstr("'Germany'")));
  expect_refused(ask + "--carbon=-3", kBadInput,
                 AllOf(HasSubstr("energy.carbon"), HasSubstr("-3")));
  expect_refused(ask + "--embodied", kBadInput, HasSubstr("energy.carbon"));
  expect_refused("estimate -m llama-3-8b -g l40s --carbon DEU --embodied", kBadInput,
                 AllOf(HasSubstr("energy.embodied"), HasSubstr("l40s"), HasSubstr("h100-sxm")));
  expect_refused("simulate -m llama-3-8b -g h100-sxm --cluster-power-limit 90W", kBadInput,
                 HasSubstr("power_limit"));
  const Scratch s;
  const std::string gap =
      s.file("gap.csv", "time,g_per_kwh\n2026-03-01T00:00,1\n2026-03-01T02:00,1\n");
  expect_refused(ask + "--carbon " + gap, kBadInput,
                 AllOf(HasSubstr("gap.csv:3"), HasSubstr("a gap"), HasSubstr("2026-03-01T02:00")));
  const std::string negative = s.file("less.csv", "time,g_per_kwh\n2026-03-01T00:00,-1\n");
  expect_refused(ask + "--carbon " + negative, kBadInput,
                 AllOf(HasSubstr("less.csv:2"), HasSubstr("-1")));
}

}  // namespace bad_account_test
}  // namespace orrery::golden
