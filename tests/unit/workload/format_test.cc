#include "orrery/workload/ops/format.h"

#include <gtest/gtest.h>

namespace orrery {
namespace format_test {

TEST(Format, EveryNameReadsBackAsItself) {
  ASSERT_EQ(format_names().size(), 21u);
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

// Bytes of llama.cpp's blocks over their values: q8_0 has a 16-bit scale for 32 bytes; q6_K has 210
// bytes for 256 values.
TEST(Format, BlocksOfLlamaCppHaveTheSizesOfItsStructs) {
  EXPECT_DOUBLE_EQ(properties(*parse_format("q8_0")).weight.value(), 34.0 / 32);
  EXPECT_DOUBLE_EQ(properties(*parse_format("q6_k")).weight.value(), 210.0 / 256);
  EXPECT_DOUBLE_EQ(properties(*parse_format("q4_0")).weight.value(), 18.0 / 32);
  EXPECT_EQ(parse_format("Q5_K_M"), Format::kQ5K);
  for (const char* name : {"q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "q4_0", "q8_0", "iq4_xs"})
    EXPECT_TRUE(properties(*parse_format(name)).gguf) << name;
  EXPECT_FALSE(properties(Format::kInt4Weight).gguf);
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

}  // namespace format_test
}  // namespace orrery
