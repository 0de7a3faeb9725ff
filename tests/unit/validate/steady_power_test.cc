// Readings of sweeps: which rows are calls, what they are of, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.h"
#include "orrery/validate/energy/kernel_power_rows.h"

namespace orrery {
namespace steady_power_test {

constexpr const char* kHeader =
    "system,framework,version,kernel_source,op,dtype,shape,data,duty,latency_us,power_w,"
    "sm_mhz\n";

class SteadyPower : public testing::Test {
 protected:
  ~SteadyPower() override { std::filesystem::remove_all(root_); }

  std::vector<KernelPowerRow> read(const std::string& rows) {
    std::filesystem::create_directories(root_ / "h100");
    std::ofstream(root_ / "h100" / "power.csv") << kHeader << rows;
    return read_steady_power(root_, Catalog(Bundle()), report_, awake_);
  }

  std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "orrery-steady-power";
  ValidationReport report_;
  std::map<std::string, double> awake_;
};

TEST_F(SteadyPower, CallsOnRandomDataWithoutPausesAreRead) {
  const std::vector<KernelPowerRow> rows = read(
      "h100-sxm,pytorch,2.11,none,nothing,,,normal,1,,140,1980\n"
      "h100-sxm,pytorch,2.11,linear,gemm,bfloat16,m=2048;n=4096;k=4096,normal,1,100,700,1410\n"
      "h100-sxm,pytorch,2.11,linear,gemm,bfloat16,m=2048;n=4096;k=4096,zeros,1,95,400,1900\n"
      "h100-sxm,pytorch,2.11,linear,gemm,bfloat16,m=2048;n=4096;k=4096,normal,0.1,95,200,1950\n"
      "h100-sxm,pytorch,2.11,sdpa,attention_decode,bfloat16,attn_dtype=bfloat16;batch=4;"
      "heads=32;kv_heads=8;head_dim=128;kv_len=4096,normal,1,29,490,\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(awake_.at("h100-sxm"), 140.0 / 700);
  const KernelPowerRow& product = rows[1];
  EXPECT_EQ(product.family->name(), "gemm");
  EXPECT_TRUE(product.steady);
  EXPECT_DOUBLE_EQ(product.clock.value(), 1410e6);
  EXPECT_EQ(rows[0].clock, Hertz(0));  // the cell is empty
  EXPECT_EQ(product.name, "h100/power.csv:3");
  // 69 GFLOP of 989 TFLOP/s in 0.1 ms.
  EXPECT_NEAR(product.used.compute, 0.695, 0.001);
  // The sweep cycles through copies of a weight, so that its products read them from memory.
  EXPECT_EQ(product.used.off_chip, product.used.memory);
  // 67 MB of keys and values in 29 us are 0.69 of the bandwidth.
  EXPECT_NEAR(rows[0].used.memory, 0.69, 0.02);
}

TEST_F(SteadyPower, AReadingOfTwoFamiliesIsJudgedOnce) {
  const std::vector<KernelPowerRow> rows = read(
      "h100-sxm,pytorch,2.11,copy,elementwise,bfloat16,rows=1024;width=4096;which=copy,normal,"
      "1,3.4,370,1980\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_NE(rows[0].family, rows[1].family);
  EXPECT_FALSE(rows[0].again);
  EXPECT_TRUE(rows[1].again);
  // 17 MB of operands stay in the cache of 52 MB.
  EXPECT_EQ(rows[0].used.off_chip, 0);
}

TEST_F(SteadyPower, MalformedShapesAreRefused) {
  try {
    read("h100-sxm,pytorch,2.11,linear,gemm,bfloat16,m:4096,normal,1,200,700,1410\n");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("expected name=size, got 'm:4096'"));
  }
}

TEST_F(SteadyPower, WithoutTheFolderNothingIsRead) {
  EXPECT_TRUE(read_steady_power(root_ / "absent", Catalog(Bundle()), report_, awake_).empty());
}

}  // namespace steady_power_test
}  // namespace orrery
