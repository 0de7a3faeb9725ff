#include "orrery/scenario/question/sweep.h"

#include <gtest/gtest.h>

#include "tests/refusal.h"

namespace orrery {
namespace sweep_test {

Sweep read(const std::string& yaml) { return read_sweep(parse_yaml(yaml, "s.yaml"), 1, 1000); }

std::string refusal(const std::string& yaml) {
  return refusal_of([&] { read(yaml); });
}

TEST(Sweep, ListsAndRanges) {
  EXPECT_EQ(read("8"), (Sweep{8}));
  EXPECT_EQ(read("1,2,4"), (Sweep{1, 2, 4}));
  EXPECT_EQ(read("1-64*4"), (Sweep{1, 4, 16, 64}));
  EXPECT_EQ(read("1-100*10"), (Sweep{1, 10, 100}));
  EXPECT_EQ(read("100-250+100"), (Sweep{100, 200}));
  EXPECT_EQ(read("3-6"), (Sweep{3, 4, 5, 6}));
  EXPECT_EQ(read("[1, 8-32*2, 5]"), (Sweep{1, 8, 16, 32, 5}));
}

TEST(Sweep, RefusalsNameTheFault) {
  EXPECT_NE(refusal("0").find("out of range: 1 to 1000"), std::string::npos);
  EXPECT_NE(refusal("1001").find("out of range"), std::string::npos);
  EXPECT_NE(refusal("8-1").find("backwards"), std::string::npos);
  EXPECT_NE(refusal("1-8*1").find("does not advance"), std::string::npos);
  EXPECT_NE(refusal("1-8+0").find("does not advance"), std::string::npos);
  EXPECT_NE(refusal("1.5").find("whole number"), std::string::npos);
  EXPECT_NE(refusal("1,,2").find("whole number"), std::string::npos);
  EXPECT_NE(refusal("1-x").find("not a range"), std::string::npos);
  EXPECT_NE(refusal("[]").find("at least one"), std::string::npos);
  EXPECT_NE(refusal("{a: 1}"), "");
}

TEST(Sweep, AHugeStepEndsTheRange) {
  EXPECT_EQ(read("2-4*9223372036854775807"), (Sweep{2}));
  EXPECT_EQ(read("2-4+9223372036854775807"), (Sweep{2}));
  EXPECT_EQ(read("1-1000*1000"), (Sweep{1, 1000}));
}

TEST(Sweep, SizesInBytes) {
  std::int64_t value = 0;
  Fields fields;
  add_byte_sweep(fields, "bytes", value, 1, 1'000'000'000'000'000, "sizes");
  const auto bytes = [&](const std::string& text) {
    const Node document = parse_yaml("bytes: " + text, "s.yaml");
    Sweep values;
    for (const std::string& one : fields.find("bytes")->values()(document.at("bytes"))) {
      fields.read(parse_yaml("bytes: " + one, "s.yaml"));
      values.push_back(value);
    }
    return values;
  };
  EXPECT_EQ(bytes("65536"), (Sweep{65536}));
  EXPECT_EQ(bytes("64K, 1 MiB, 1 MB"), (Sweep{65536, 1048576, 1000000}));
  EXPECT_EQ(bytes("1K-64K*4"), (Sweep{1024, 4096, 16384, 65536}));
  EXPECT_EQ(bytes("1K-2K+512"), (Sweep{1024, 1536, 2048}));
  EXPECT_EQ(bytes("[13.48 GB, 8]"), (Sweep{13480000000, 8}));
  EXPECT_EQ(bytes("1-1000000000000000*1000000000000000").size(), 2u);
  EXPECT_THROW(bytes("0"), InputError);
  EXPECT_THROW(bytes("2P"), InputError);
  EXPECT_THROW(bytes("1e300 GB"), InputError);
  EXPECT_THROW(bytes("-1K"), InputError);
  EXPECT_THROW(bytes("K"), InputError);
  EXPECT_THROW(bytes("1K-2M*4K"), InputError);  // a factor is a number
}

TEST(Sweep, IsNotCountedUpToAHugeEnd) {
  EXPECT_THROW(read_sweep(parse_yaml("1-100000000", "s.yaml"), 1, 100'000'000), InputError);
}

}  // namespace sweep_test
}  // namespace orrery
