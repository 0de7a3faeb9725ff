#include "orrery/workload/ops/format.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Format, EveryNameReadsBackAsItself) {
  ASSERT_EQ(format_names().size(), 14u);
  for (std::size_t i = 0; i < format_names().size(); ++i) {
    EXPECT_EQ(parse_format(format_names()[i]), static_cast<Format>(i)) << format_names()[i];
    EXPECT_EQ(properties(static_cast<Format>(i)).name, format_names()[i]);
  }
}

TEST(Format, ReadsTheSpellingsOfEnginesAndTables) {
  EXPECT_EQ(parse_format("bfloat16"), Format::kBf16);
  EXPECT_EQ(parse_format("FP8-Block"), Format::kFp8Block);
  EXPECT_EQ(parse_format("fp8_static"), Format::kFp8);
  EXPECT_EQ(parse_format("sq"), Format::kInt8);
  EXPECT_EQ(parse_format("int8_wo"), Format::kInt8Weight);
  EXPECT_EQ(parse_format("int4_wo"), Format::kInt4Weight);
  EXPECT_EQ(parse_format("AWQ"), Format::kInt4Weight);
  EXPECT_EQ(parse_format("w4a16_mxfp4"), Format::kMxfp4);
  EXPECT_EQ(parse_format("w4a8_mxfp4_mxfp8"), Format::kMxfp4Fp8);
  EXPECT_EQ(parse_format("w4afp8"), Format::kInt4Fp8);
  EXPECT_EQ(parse_format("int3"), std::nullopt);
  EXPECT_EQ(parse_format(""), std::nullopt);
}

TEST(Format, StoredBytesIncludeTheScales) {
  EXPECT_DOUBLE_EQ(properties(Format::kFp8Block).weight.value(), 1 + 4.0 / 16384);
  EXPECT_DOUBLE_EQ(properties(Format::kFp8Block).activation.value(), 1.03125);
  EXPECT_DOUBLE_EQ(properties(Format::kNvfp4).weight.value(), 0.5625);
  EXPECT_DOUBLE_EQ(properties(Format::kMxfp4).weight.value(), 0.53125);
  EXPECT_DOUBLE_EQ(properties(Format::kInt4Weight).weight.value(), 0.5 + 2.5 / 128);
}

TEST(Format, WeightOnlyFormatsComputeIn16Bits) {
  for (const Format f : {Format::kInt8Weight, Format::kInt4Weight, Format::kMxfp4}) {
    EXPECT_EQ(bytes_per_element(properties(f).arithmetic), Bytes(2)) << properties(f).name;
    EXPECT_EQ(properties(f).activation, Bytes(2)) << properties(f).name;
    EXPECT_FALSE(properties(f).quantises_activation) << properties(f).name;
  }
  EXPECT_EQ(properties(Format::kMxfp4Fp8).arithmetic, Dtype::kFp8);
  EXPECT_TRUE(properties(Format::kInt8).quantises_activation);
}

}  // namespace
}  // namespace orrery
