// Rows of MLPerf's servers at the wall: what is asked, what is refused, and which runs differ by a
// cap alone.
#include "orrery/validate/energy/mlperf_power_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/energy/account/plant.h"

namespace orrery {
namespace mlperf_power_rows_test {

constexpr const char* kPower =
    "round,system,n_accelerators,benchmark,scenario,samples_per_s,wall_power_w\n"
    "inference v4.1,H200-SXM-141GBx8_TRT_MaxQ,8,llama2-70b-99,offline,80,6000\n"
    "inference v4.1,H200-SXM-141GBx8_TRT_MaxQ,8,llama2-70b-99.9,offline,80,6000\n"
    "inference v4.1,H200-SXM-141GBx8_TRT_MaxQ,8,resnet50,offline,500000,5000\n"
    "inference v4.1,H200-SXM-141GBx8_TRT_MaxQ,8,resnet50,server,400000,5000\n"
    "inference v4.1,Unheard_of_x8,8,gptj-99,offline,100,5000\n";
constexpr const char* kRates =
    "req_s,source_ref\n"
    "86,r@1:closed/NVIDIA/results/H200-SXM-141GBx8_TRT_MaxQ/llama2-70b-99.9/Offline\n"
    "107,r@1:closed/NVIDIA/results/H200-SXM-141GBx8_TRT/llama2-70b-99.9/Offline\n"
    "190,r@1:closed/NVIDIA/results/H200-SXM-141GBx8_TRT_MaxQ/gptj-99.9/Offline\n"
    "99,r@1:closed/NVIDIA/results/H200-SXM-141GBx8_TRT_MaxQ/llama2-70b-99.9/Server\n";

class MlperfPower : public testing::Test {
 protected:
  MlperfPower() {
    std::filesystem::create_directories(root_ / "energy");
    std::filesystem::create_directories(root_ / "inference");
    std::ofstream(root_ / "energy" / "mlperf_power.csv") << kPower;
    std::ofstream(root_ / "inference" / "offline_throughput.csv") << kRates;
  }
  ~MlperfPower() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "orrery-mlperf-power";
  ValidationReport report_;
};

TEST_F(MlperfPower, CountsARunOnceAndRefusesWhatHasNoModel) {
  const auto rows = read_mlperf_power(root_ / "energy", Bundle(), report_);
  ASSERT_EQ(rows.size(), 1U);
  std::size_t vision = 0, twice = 0, servers = 0;
  for (const RefusedRow& r : report_.refused) {
    if (r.why.find("resnet50") != std::string::npos) vision += r.rows;
    if (r.why.find("accuracy target") != std::string::npos) twice += r.rows;
    if (r.why.find("Unheard_of_x8") != std::string::npos) servers += r.rows;
  }
  EXPECT_EQ(vision, 2U);
  EXPECT_EQ(twice, 1U);
  EXPECT_EQ(servers, 1U);
}

TEST_F(MlperfPower, AsksACappedServerWithItsCapAndWithoutItsOwnFigures) {
  const auto rows = read_mlperf_power(root_ / "energy", Bundle(), report_);
  ASSERT_EQ(rows.size(), 1U);
  const MlperfPowerRow& r = rows.front();
  EXPECT_EQ(*r.cap, Watts(500));
  EXPECT_LE(r.power.value, Watts(500));
  EXPECT_GE(r.alone.value, r.work.time);  // the cap slows it
  // Eight engines of one GPU answer 80 requests a second together.
  EXPECT_NEAR(r.time.value(), r.requests / 10, 1e-9);
  // The figures of the node come from this server.
  EXPECT_FALSE(r.node.power.idle || r.node.power.loaded);
  const Plant plant{Bundle()}, without(Bundle(), r.server);
  EXPECT_EQ(without.servers().size() + 1, plant.servers().size());
}

TEST_F(MlperfPower, PairsRunsThatDifferByTheCapAlone) {
  const auto pairs = read_capped_pairs(root_ / "energy", Bundle(), report_);
  ASSERT_EQ(pairs.size(), 1U);
  EXPECT_EQ(pairs[0].capped, 86);
  EXPECT_EQ(pairs[0].free, 107);
  ASSERT_EQ(report_.refused.size(), 1U);  // gptj has no run without a cap here
  EXPECT_THAT(report_.refused[0].why, testing::HasSubstr("without the cap"));
}

}  // namespace mlperf_power_rows_test
}  // namespace orrery
