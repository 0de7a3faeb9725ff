#include "orrery/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace orrery {
namespace units_test {

double read(Dimension dimension, std::string_view text) {
  const auto v = parse_quantity(dimension, text);
  EXPECT_TRUE(v) << text;
  return v.value_or(-1);
}

TEST(Units, DimensionsFollowFromProductsAndQuotients) {
  static_assert(std::is_same_v<decltype(Bytes(1) / BytesPerSecond(1)), Seconds>);
  static_assert(std::is_same_v<decltype(Watts(1) * Seconds(1)), Joules>);
  static_assert(std::is_same_v<decltype(Flops(1) / Bytes(1)), FlopsPerByte>);
  static_assert(std::is_same_v<decltype(Seconds(1) / Seconds(2)), double>);
  static_assert(std::is_same_v<decltype(Hertz(1) * Seconds(2)), double>);
  EXPECT_DOUBLE_EQ((Bytes(13.5e9) / BytesPerSecond(2.7e12)).value(), 0.005);
  EXPECT_DOUBLE_EQ((Watts(700) * Seconds(3600)).value(), 2.52e6);
  EXPECT_DOUBLE_EQ(Seconds(0.25) / milliseconds(1), 250);
  EXPECT_LT(milliseconds(999), seconds(1));
}

TEST(Units, DecimalAndBinaryPrefixesAreKeptApart) {
  EXPECT_EQ(read(Dimension::kBytes, "80GB"), 80e9);
  EXPECT_EQ(read(Dimension::kBytes, "80GiB"), 85899345920.0);
  EXPECT_EQ(read(Dimension::kBytes, "80 GiB"), 85899345920.0);
  EXPECT_EQ(read(Dimension::kBytes, "1.5 KiB"), 1536);
  EXPECT_EQ(read(Dimension::kBytes, "7B"), 7);
  EXPECT_EQ(read(Dimension::kBytes, "5EB"), 5e18);  // no exponent
  EXPECT_EQ(read(Dimension::kBytes, "5e3 B"), 5000);
}

TEST(Units, EveryDimensionReadsItsUnits) {
  EXPECT_DOUBLE_EQ(read(Dimension::kTime, "25 us"), 25e-6);
  EXPECT_DOUBLE_EQ(read(Dimension::kTime, "2h"), 7200);
  EXPECT_DOUBLE_EQ(read(Dimension::kFrequency, "1980 MHz"), 1.98e9);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "3.35 TB/s"), 3.35e12);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "400 Gb/s"), 50e9);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "400Gbit/s"), 50e9);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "64 GBps"), 64e9);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "8 Gbps"), 1e9);
  EXPECT_DOUBLE_EQ(read(Dimension::kBandwidth, "1 GiB/s"), 1073741824.0);
  EXPECT_DOUBLE_EQ(read(Dimension::kFlops, "1.5 TFLOP"), 1.5e12);
  EXPECT_DOUBLE_EQ(read(Dimension::kFlopRate, "989 TFLOP/s"), 989e12);
  EXPECT_DOUBLE_EQ(read(Dimension::kFlopRate, "1979 TOPS"), 1979e12);
  EXPECT_DOUBLE_EQ(read(Dimension::kEnergy, "2 kWh"), 7.2e6);
  EXPECT_DOUBLE_EQ(read(Dimension::kPower, "0.7 kW"), 700);
}

TEST(Units, WhatIsNoQuantityIsNotRead) {
  for (const char* text : {"80", "", "GB", "80 gb", "80 Gb", "80 GB/s", "80GB x", "x80GB", "80 GBB",
                           "nan GB", "inf GB", "1e999 GB", "1e308 PB", "0x10 GB", "80 TFLOP"}) {
    EXPECT_FALSE(parse_quantity(Dimension::kBytes, text)) << text;
  }
  EXPECT_FALSE(parse_quantity(Dimension::kFlopRate, "1 GiFLOP/s"));  // binary prefixes: bytes only
  EXPECT_FALSE(parse_quantity(Dimension::kNone, "5"));
  EXPECT_EQ(read(Dimension::kBytes, "-5 GB"), -5e9);  // the range is the field's matter
}

TEST(Units, ExamplesAreReadable) {
  for (Dimension d :
       {Dimension::kTime, Dimension::kFrequency, Dimension::kBytes, Dimension::kBandwidth,
        Dimension::kFlops, Dimension::kFlopRate, Dimension::kEnergy, Dimension::kPower}) {
    EXPECT_GT(read(d, unit_example(d)), 0);
    EXPECT_EQ(unit_factor(d, base_unit(d)), 1.0);
  }
}

TEST(Units, TextHasThreeDigitsAndAFittingPrefix) {
  EXPECT_EQ(to_text(Bytes(13.5e9)), "13.5 GB");
  EXPECT_EQ(to_text(Seconds(0.00661)), "6.61 ms");
  EXPECT_EQ(to_text(Seconds(0)), "0 s");
  EXPECT_EQ(to_text(Seconds(3.2e-7)), "320 ns");
  EXPECT_EQ(to_text(Seconds(86400)), "86400 s");
  EXPECT_EQ(to_text(Seconds(999.9)), "1000 s");
  EXPECT_EQ(to_text(Bytes(999.7e3)), "1 MB");  // not 1e+03 kB
  EXPECT_EQ(to_text(Bytes(999.2e3)), "999 kB");
  EXPECT_EQ(to_text(Seconds(0.9999)), "1 s");
  EXPECT_EQ(to_text(Seconds(0.99996e-3)), "1 ms");
  EXPECT_EQ(to_text(Bytes(12345e15)), "12345 PB");
  EXPECT_EQ(to_text(BytesPerSecond(3.35e12)), "3.35 TB/s");
  EXPECT_EQ(to_text(FlopsPerSecond(989.4e12)), "989 TFLOP/s");
}

TEST(Units, ExactTextIsShortAndReadBackAsItWas) {
  const auto time = [](std::string_view text) {
    return exact_text(Dimension::kTime, read(Dimension::kTime, text));
  };
  for (const char* text : {"71 us", "0 s", "3600 s", "1.5 ms", "20 us", "0.1 s", "14.99 us"})
    EXPECT_EQ(time(text), text);
  EXPECT_EQ(exact_text(Dimension::kBytes, 80 * 0x1p30), "80 GiB");
  EXPECT_EQ(exact_text(Dimension::kBytes, 600e6), "600 MB");
  EXPECT_EQ(exact_text(Dimension::kBandwidth, 3.35e12), "3.35 TB/s");
  for (const double value : {1.0 / 3, 71e-6 * 1.1, 1e300, 5e-324, 123456789.125, -2e-6})
    EXPECT_EQ(read(Dimension::kTime, exact_text(Dimension::kTime, value)), value);
}

}  // namespace units_test
}  // namespace orrery
