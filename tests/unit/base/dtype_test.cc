#include "orrery/base/dtype.h"

#include <gtest/gtest.h>

namespace orrery {
namespace dtype_test {

TEST(Dtype, IdsAndTheirOrderAgree) {
  for (std::size_t i = 0; i < dtype_names().size(); ++i) {
    const auto d = static_cast<Dtype>(i);
    EXPECT_EQ(to_text(d), dtype_names()[i]);
    EXPECT_EQ(parse_dtype(dtype_names()[i]), d);
  }
  EXPECT_EQ(to_text(Dtype::kInt4), "int4");  // the last
  EXPECT_EQ(dtype_names().size(), 9u);
}

TEST(Dtype, CustomaryAliases) {
  EXPECT_EQ(parse_dtype("torch.bfloat16"), Dtype::kBf16);
  EXPECT_EQ(parse_dtype("BF16"), Dtype::kBf16);
  EXPECT_EQ(parse_dtype("half"), Dtype::kFp16);
  EXPECT_EQ(parse_dtype("fp8_e4m3"), Dtype::kFp8);
  EXPECT_EQ(parse_dtype("float8_e5m2"), Dtype::kFp8);
  EXPECT_EQ(parse_dtype("nvfp4"), Dtype::kFp4);
  EXPECT_EQ(parse_dtype("bf17"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(Dtype, StoredWidth) {
  EXPECT_EQ(bytes_per_element(Dtype::kFp64), Bytes(8));
  EXPECT_EQ(bytes_per_element(Dtype::kTf32), Bytes(4));
  EXPECT_EQ(bytes_per_element(Dtype::kBf16), Bytes(2));
  EXPECT_EQ(bytes_per_element(Dtype::kInt8), Bytes(1));
  EXPECT_EQ(bytes_per_element(Dtype::kInt4), Bytes(0.5));
}

}  // namespace dtype_test
}  // namespace orrery
