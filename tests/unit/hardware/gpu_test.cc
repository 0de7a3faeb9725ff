// Does the reader of GPU files read values and units, and refuse malformed files with the right
// message?
#include "orrery/hardware/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "tests/refusal.h"

namespace orrery {
namespace gpu_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::string_view kMine = R"(id: my-gpu
vendor: acme
architecture: anvil
memory:
  capacity: 80 GiB
  usable: 79 GiB
  bandwidth: 3.35 TB/s
compute_units: 132
boost_clock: 1980 MHz
power: 0.7 kW
peak:
  fp32: 67 TFLOP/s
  fp16: 989 TFLOP/s
  int8: 1979 TOP/s
sources:
  - my data sheet
)";

Gpu read(std::string_view text) { return read_gpu(parse_yaml(text, "my-gpu.yaml")); }

// kMine with one line replaced.
std::string with(std::string_view line, std::string_view replacement) {
  std::string text(kMine);
  const std::size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), replacement);
}

std::string error_of(const std::string& text) {
  return refusal_of([&] { read(text); });
}

TEST(Gpu, ValuesCarryTheirUnits) {
  const Gpu g = read(kMine);
  EXPECT_EQ(g.id, "my-gpu");
  EXPECT_DOUBLE_EQ(g.memory.capacity.value(), 85899345920.0);
  EXPECT_DOUBLE_EQ(g.memory.bandwidth.value(), 3.35e12);
  EXPECT_DOUBLE_EQ(g.boost_clock->value(), 1.98e9);
  EXPECT_DOUBLE_EQ(g.power->value(), 700);
  EXPECT_DOUBLE_EQ(g.peak(Dtype::kInt8).value(), 1.979e15);
  EXPECT_FALSE(g.l2.has_value());
  EXPECT_EQ(g.node, "standalone");
  EXPECT_EQ(g.dies, 1);
}

TEST(Gpu, UsableMemoryFallsBackToTheCapacity) {
  EXPECT_EQ(read(kMine).usable_memory(), gibibytes(79));
  EXPECT_EQ(read(with("  usable: 79 GiB\n", "")).usable_memory(), gibibytes(80));
}

TEST(Gpu, AFormatWithoutPeakIsNoData) {
  const Gpu g = read(kMine);
  EXPECT_TRUE(g.supports(Dtype::kFp16));
  EXPECT_FALSE(g.supports(Dtype::kFp8));
  try {
    g.peak(Dtype::kFp8);
    FAIL();
  } catch (const NoData& e) {
    EXPECT_STREQ(e.what(), "my-gpu has no fp8 peak (it has fp32, fp16, int8)");
  }
}

// A rate that is stated for one format holds for the others as a share of their peaks.
TEST(Gpu, AchievableShareIsOfTheFormatElseOfSixteenBits) {
  const Gpu g =
      read(std::string(kMine) + "achievable: {fp16: 494.5 TFLOP/s, int8: 1583.2 TOP/s}\n");
  EXPECT_DOUBLE_EQ(*g.achievable_share(Dtype::kFp16), 0.5);
  EXPECT_DOUBLE_EQ(*g.achievable_share(Dtype::kInt8), 0.8);
  EXPECT_DOUBLE_EQ(*g.achievable_share(Dtype::kFp32), 0.5);
  EXPECT_FALSE(read(kMine).achievable_share(Dtype::kFp16));
}

TEST(Gpu, ComputeDtypeWidensWhatTheHardwareLacks) {
  const Gpu g = read(kMine);  // fp32, fp16 and int8 only
  EXPECT_EQ(g.compute_dtype(Dtype::kFp16), Dtype::kFp16);
  EXPECT_EQ(g.compute_dtype(Dtype::kBf16), Dtype::kFp16);
  EXPECT_EQ(g.compute_dtype(Dtype::kInt8), Dtype::kInt8);
  EXPECT_EQ(g.compute_dtype(Dtype::kFp8), Dtype::kFp16);
  EXPECT_EQ(g.compute_dtype(Dtype::kInt4), Dtype::kFp16);
  EXPECT_EQ(g.compute_dtype(Dtype::kTf32), Dtype::kFp32);
  EXPECT_THROW(g.compute_dtype(Dtype::kFp64), NoData);
  const Gpu both = read(with("  int8: 1979 TOP/s", "  bf16: 989 TFLOP/s"));
  EXPECT_EQ(both.compute_dtype(Dtype::kFp4), Dtype::kBf16);
  const Gpu plain = read(with("  fp16: 989 TFLOP/s\n", ""));
  EXPECT_EQ(plain.compute_dtype(Dtype::kBf16), Dtype::kFp32);
}

TEST(GpuErrors, NameFileLineAndKey) {
  EXPECT_THAT(error_of(with("bandwidth: 3.35 TB/s", "bandwidth: 3.35e12")),
              AllOf(HasSubstr("my-gpu.yaml:7"), HasSubstr("memory.bandwidth"),
                    HasSubstr("3.35 TB/s"), HasSubstr("'3.35e12'")));
  EXPECT_THAT(error_of(with("boost_clock: 1980 MHz", "boost_clok: 1980 MHz")),
              AllOf(HasSubstr("my-gpu.yaml:9"), HasSubstr("boost_clok"), HasSubstr("unknown key"),
                    HasSubstr("'boost_clock'")));
}

TEST(GpuErrors, RefuseWrongUnitsAndImplausibleNumbers) {
  EXPECT_THAT(error_of(with("80 GiB", "80 GB/s")), HasSubstr("memory.capacity"));
  EXPECT_THAT(error_of(with("3.35 TB/s", "3.35 MB/s")), HasSubstr("out of range"));
  EXPECT_THAT(error_of(with("3.35 TB/s", "-3.35 TB/s")), HasSubstr("memory.bandwidth"));
  EXPECT_THAT(error_of(with("989 TFLOP/s", "nan TFLOP/s")), HasSubstr("peak.fp16"));
  EXPECT_THAT(error_of(with("compute_units: 132", "compute_units: 0")), HasSubstr("out of range"));
}

TEST(GpuErrors, DecimalAndBinaryGigabytesDiffer) {
  // 79 GiB are 84.8e9 bytes: less than 80 GiB, more than 80 GB.
  EXPECT_THAT(error_of(with("80 GiB", "80 GB")), HasSubstr("more than memory.capacity"));
}

TEST(GpuErrors, RefuseWhatIsMissing) {
  EXPECT_THAT(error_of(""), HasSubstr("my-gpu.yaml"));
  EXPECT_THAT(error_of("- a\n- b\n"), HasSubstr("map"));
  EXPECT_THAT(error_of(with("id: my-gpu\n", "")), HasSubstr("'id' is missing"));
  EXPECT_THAT(error_of(with("  bandwidth: 3.35 TB/s\n", "")), HasSubstr("'bandwidth' is missing"));
  EXPECT_THAT(error_of(with("  - my data sheet\n", "")), HasSubstr("source"));
  EXPECT_THAT(error_of(with("  - my data sheet\n", "  []\n")), HasSubstr("source"));
  EXPECT_THAT(error_of("id: x\nvendor: v\narchitecture: a\nmemory:\ncompute_units: 1\npeak: {fp32: "
                       "1 TFLOP/s}\nsources: [s]\n"),
              HasSubstr("memory"));
  EXPECT_THAT(error_of(with("peak:\n  fp32: 67 TFLOP/s\n  fp16: 989 TFLOP/s\n  int8: 1979 TOP/s\n",
                            "peak: {}\n")),
              HasSubstr("at least one peak"));
}

TEST(GpuErrors, RefuseContradictions) {
  EXPECT_THAT(error_of(with("usable: 79 GiB", "usable: 81 GiB")),
              HasSubstr("more than memory.capacity"));
  EXPECT_THAT(error_of(std::string(kMine) + "unsure: [memory.colour]\n"),
              HasSubstr("'memory.colour'"));
  EXPECT_THAT(error_of(with("id: my-gpu", "id: My_GPU")), HasSubstr("lower-case"));
  EXPECT_THAT(error_of(std::string(kMine) + "achievable: {fp16: 990 TFLOP/s}\n"),
              HasSubstr("more than the peak"));
  EXPECT_THAT(error_of(std::string(kMine) + "achievable: {fp8: 990 TFLOP/s}\n"),
              HasSubstr("more than the peak"));
}

}  // namespace gpu_test
}  // namespace orrery
