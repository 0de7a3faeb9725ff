#include "orrery/kernel/tiers/calibration.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/fit/calibrate.h"
#include "orrery/kernel/fit/swept_kernel_model.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {
namespace calibration_test {

// A grid of points with two coordinates, and the log error at each point.
template <class F>
std::vector<CalibrationSample> grid(const F& log_error) {
  std::vector<CalibrationSample> samples;
  for (double a = 0; a < 8; a += 1.5) {
    for (double b = 0; b < 8; b += 1.5) samples.push_back({{a, b}, log_error(a, b)});
  }
  return samples;
}

TEST(Calibration, AConstantFactorIsFound) {
  const Calibration c = fit_calibration("x", grid([](double, double) { return 0.4; }), 2, 0.3);
  EXPECT_NEAR(c.factor({3.2, 4.1}), std::exp(0.4), 0.02);
  EXPECT_LT(c.own, 0.1);
  EXPECT_GE(c.own, 0.03);  // no better than measurements repeat
}

TEST(Calibration, ASlopeIsFollowed) {
  const auto slope = [](double a, double) { return 0.08 * (a - 4); };
  const Calibration c = fit_calibration("x", grid(slope), 2, 0.3);
  EXPECT_NEAR(c.factor({1, 4}), std::exp(-0.24), 0.03);
  EXPECT_NEAR(c.factor({7, 4}), std::exp(0.24), 0.03);
}

TEST(Calibration, OnePointIsNotBelievedBeyondThePrior) {
  const std::vector<CalibrationSample> one = {{{3, 3}, 0.3}};
  const Calibration sure = fit_calibration("x", one, 2, 0.03);
  EXPECT_LT(std::log(sure.factor({3, 3})), 0.18);  // prior 0.03, noise as much
  const Calibration unsure = fit_calibration("x", one, 2, 0.4);
  EXPECT_GT(std::log(unsure.factor({3, 3})), 0.24);
  EXPECT_LT(std::log(unsure.factor({3, 30})), std::log(unsure.factor({3, 3})));
}

TEST(Calibration, AnOutlierPullsLess) {
  auto samples = grid([](double, double) { return 0.0; });
  samples[14].log_error = 1.5;
  const Calibration c = fit_calibration("x", samples, 2, 0.3);
  const CalibrationPlace next = {samples[14].place.at[0] + 1.5, samples[14].place.at[1]};
  EXPECT_NEAR(c.factor(next), 1, 0.1);
}

// Errors that a slope and a step make, which a few points cannot tell.
double stepped(double a, double b) { return (a > 4 ? 0.5 : -0.3) + 0.02 * b; }

TEST(Calibration, PointsOfARelatedClassHelp) {
  const auto dense = grid(stepped);
  const std::vector<CalibrationSample> few = {dense[0],  dense[5],  dense[9],  dense[13], dense[17],
                                              dense[21], dense[26], dense[30], dense[34]};
  const std::vector<std::span<const CalibrationSample>> others = {dense};
  const auto related = related_samples(few, others, 2, 0.4);
  ASSERT_EQ(related.size(), 1u);
  EXPECT_GE(related[0].correlation, 0.5);
  const Calibration alone = fit_calibration("x", few, 2, 0.4),
                    together = fit_calibration("x", few, 2, 0.4, related);
  EXPECT_EQ(together.points.size(), few.size() + dense.size());
  double missed_alone = 0, missed = 0;
  for (const CalibrationSample& s : dense) {
    missed_alone += std::abs(std::log(alone.factor(s.place)) - s.log_error);
    missed += std::abs(std::log(together.factor(s.place)) - s.log_error);
  }
  EXPECT_LT(missed, 0.75 * missed_alone);
  // The error that is left is stated by the class's own points.
  EXPECT_EQ(together.own, alone.own);
}

TEST(Calibration, AClassThatIsOffInAnotherWayIsNotRelated) {
  const auto own = grid(stepped);
  const auto other = grid([](double a, double b) { return -stepped(a, b); });
  const std::vector<std::span<const CalibrationSample>> others = {other};
  EXPECT_TRUE(related_samples(own, others, 2, 0.4).empty());
}

TEST(Calibration, TheFactorIsBounded) {
  const Calibration c = fit_calibration("x", grid([](double, double) { return 9.0; }), 2, 2);
  EXPECT_LE(c.factor({4, 4}), std::exp(2.0) * 1.0001);
}

TEST(Calibration, TextRoundTrip) {
  CalibrationFile file;
  file.comment = "# by hand\n";
  const auto wavy = [](double a, double b) { return 0.1 * a - 0.05 * b; };
  file.classes.push_back(fit_calibration("bf16", grid(wavy), 2, 0.3));
  file.classes.push_back(fit_calibration("fp8", grid(wavy), 2, 0.2));
  const CalibrationFile read = parse_calibration(to_text(file), "t");
  EXPECT_EQ(to_text(read), to_text(file));
  ASSERT_TRUE(read.find("fp8"));
  EXPECT_FALSE(read.find("int8"));
  EXPECT_DOUBLE_EQ(read.find("bf16")->factor({2, 5}), file.find("bf16")->factor({2, 5}));
}

TEST(Calibration, PointsMoveAWrongSurfaceTowardsPhysics) {
  // Predictions that are off physics by a wave that repeats many times over the sizes, where the
  // GPU follows physics: neighbours say nothing about it, the ratio of physics does.
  std::vector<CalibrationSample> samples, between;
  for (int i = 0; i < 48; ++i) {
    CalibrationSample s;
    s.place.at = {0.25 * i, 0.25 * (i * 7 % 48)};
    s.place.physics = {0.5 * std::sin(2.4 * i), 0};
    s.log_error = s.place.physics[0];
    (i % 3 == 0 ? samples : between).push_back(s);
  }
  const Calibration c = fit_calibration("x", samples, 2, 0.3);
  for (const CalibrationSample& s : between)
    EXPECT_NEAR(std::log(c.factor(s.place)), s.log_error, 0.1 + 0.3 * std::abs(s.log_error));
}

TEST(Calibration, MalformedTextIsRefused) {
  const std::string head = "orrery-calibration 2\n";
  const std::string line = "class a own 0.1 shared 0.1 scale 0.1 points 1 places 2\n";
  EXPECT_NO_THROW(parse_calibration(head + line + "1 2\n1 2 0.1 0.2 0.5\n", "t"));
  for (const std::string& bad :
       {std::string("orrery-kernels 1\n"),
        "orrery-calibration 1\n" + line + "1 2\n1 2 0.1 0.2 0.5\n", head + "klass\n", head + line,
        head + line + "1 2\n", head + line + "1 2\n1 2 0.1 0.2\n",
        head + line + "1 2\n1 2 0.1 0.2 nan\n", head + line + "1 2\n1 2 0.1 0.2 1e300\n",
        head + line + "1 2\n1 2 0.1 0.2 3 4\n",
        head + "class a own -1 shared 0.1 scale 0.1 points 1 places 2\n1 2\n1 2 0 0 3\n",
        head + "class a own 1 shared 0.1 scale 0.1 points 999999 places 2\n",
        head + "class a own 1 shared 0.1 scale 0.1 points 1 places 9\n"}) {
    EXPECT_THROW(parse_calibration(bad, "t"), InputError) << bad;
  }
}

// Products of an MI300X that take 0.7 of the time of physics.
class CalibrateFrom : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = std::filesystem::path(testing::TempDir()) / "orrery-calibrate-test";
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  static Gemm product(std::int64_t m) {
    Gemm g;
    g.m = m, g.n = 4096, g.k = 8192;
    return g;
  }
  std::filesystem::path write(const std::string& header, const std::string& rows) {
    std::ofstream(dir_ / "points.csv") << header << "\n" << rows;
    return dir_ / "points.csv";
  }

  const Gpu gpu_ = Catalog().gpu("mi300x");
  std::filesystem::path dir_;
};

TEST_F(CalibrateFrom, SharpensAGpuThatNothingElseServes) {
  const auto before = make_kernel_model(gpu_, {}, Bundle());
  const SweptKernelModel swept_before(gpu_, {}, Bundle());
  std::string rows;
  for (std::int64_t m = 1; m <= 16384; m *= 2) {
    const Seconds t = swept_before.predict(gemm_family(), product(m)).time.value;
    rows += "bfloat16," + std::to_string(m) + ",4096,8192," +
            std::to_string(t.value() * 1e6 * 0.7) + "\n";
  }
  const PointFit fit = calibrate_from(write("dtype,m,n,k,latency_us", rows), gpu_, "", Bundle());
  ASSERT_EQ(fit.classes.size(), 1u);
  EXPECT_EQ(fit.classes[0].points, 15u);
  EXPECT_NEAR(fit.classes[0].before, 100 * (1 / 0.7 - 1), 0.1);
  ASSERT_EQ(fit.files.size(), 1u);
  EXPECT_EQ(fit.files.begin()->first, "calibration/gemm/vllm-mi300x.txt");

  const Bundle calibrated = Bundle().replacing("calibration", fit.files);
  const auto after = make_kernel_model(gpu_, {}, calibrated);
  const SweptKernelModel swept_after(gpu_, {}, calibrated);
  const KernelTime was = swept_before.predict(gemm_family(), product(96)),
                   is = swept_after.predict(gemm_family(), product(96));
  EXPECT_NEAR(is.time.value / was.time.value, 0.7, 0.04);
  EXPECT_LT(is.time.sigma(), was.time.sigma() / 2);
  EXPECT_EQ(is.time.origin, Origin::kTransferred);
  EXPECT_NEAR(after->predict(product(96)).time.value / before->predict(product(96)).time.value, 0.7,
              0.05);
  EXPECT_EQ(after->provenance(product(96)),
            "data sheet of mi300x and physics, corrected by 15 points measured on it");
  // Other classes stay as they are.
  Gemm fp8 = product(96);
  fp8.format = Format::kFp8;
  EXPECT_EQ(after->predict(fp8).time.origin, Origin::kAnalytical);
}

TEST_F(CalibrateFrom, ASweepIsNotCorrected) {
  const PointFit fit = calibrate_from(write("dtype,m,n,k,latency_us", "bfloat16,64,4096,4096,50\n"),
                                      Catalog().gpu("h100-sxm"), "vllm", Bundle());
  EXPECT_TRUE(fit.files.empty());
  ASSERT_EQ(fit.refused.size(), 1u);
  EXPECT_NE(fit.refused[0].find("has a sweep"), std::string::npos);
}

TEST_F(CalibrateFrom, CallsToMeasureAreRowsOfTheCandidates) {
  std::string rows;
  for (std::int64_t m = 1; m <= 16384; m *= 2)
    rows += "bfloat16," + std::to_string(m) + ",4096,8192\n";
  const std::string chosen =
      table_to_measure(write("dtype,m,n,k", rows), gpu_, "sglang", 3, Bundle());
  std::istringstream in(chosen);
  std::string line;
  ASSERT_TRUE(std::getline(in, line));
  EXPECT_EQ(line, "dtype,m,n,k");
  std::set<std::string> distinct;
  while (std::getline(in, line)) {
    EXPECT_NE(rows.find(line + "\n"), std::string::npos) << line;
    distinct.insert(line);
  }
  EXPECT_EQ(distinct.size(), 3u);
}

TEST_F(CalibrateFrom, TheFamilyIsFoundFromTheColumns) {
  const PointFit fit =
      calibrate_from(write("attn_dtype,batch,heads,kv_heads,head_dim,kv_len,latency_us",
                           "bfloat16,8,32,8,128,4096,60\n"),
                     gpu_, "sglang", Bundle());
  ASSERT_EQ(fit.files.size(), 1u);
  EXPECT_EQ(fit.files.begin()->first, "calibration/attention_decode/sglang-mi300x.txt");
}

TEST_F(CalibrateFrom, WrongTablesAreRefused) {
  EXPECT_THROW(calibrate_from(dir_ / "absent.csv", gpu_, "", Bundle()), InputError);
  EXPECT_THROW(calibrate_from(write("a,b,latency_us", "1,2,3\n"), gpu_, "", Bundle()), InputError);
  EXPECT_THROW(calibrate_from(write("dtype,m,n,k", "bfloat16,1,2,3\n"), gpu_, "", Bundle()),
               InputError);
  EXPECT_THROW(
      calibrate_from(write("dtype,m,n,k,latency_us", "bfloat16,1,2,3,0\n"), gpu_, "", Bundle()),
      InputError);
}

}  // namespace calibration_test
}  // namespace orrery
