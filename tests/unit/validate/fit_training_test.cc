// Fits of constants on iterations made up from known constants.
#include "orrery/validate/fit/fit_training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/training/fit/calibration_factors.h"
#include "orrery/validate/judge/training_folds.h"

namespace orrery {
namespace fit_training_test {

using C = TrainingConstant;

std::size_t at(C c) { return static_cast<std::size_t>(c); }

// One micro-batch on one GPU: `products` and `elementwise` seconds of a forward pass, nothing else.
TrainingCase made_case(const std::string& source, const std::string& stack, double products,
                       double elementwise) {
  TrainingCase c;
  c.row.source = source;
  c.row.stack.name = stack;
  c.row.gpu = "h100-sxm";
  c.row.dtype = "bf16";
  c.row.complete = c.row.usable = true;
  c.gpu = Catalog().gpu("h100-sxm");
  ChunkParts chunk;
  chunk.time[static_cast<std::size_t>(TrainingCost::kProducts)][0] = Seconds(products);
  chunk.time[static_cast<std::size_t>(TrainingCost::kElementwise)][0] = Seconds(elementwise);
  c.parts.kinds = {chunk};
  c.parts.kind = {0};
  c.parts.stages = {StageParts()};
  c.row.iteration = Seconds(1);
  return c;
}

// The measured time is that of constants with `factor` times the prior of products.
void measure(TrainingCase& c, double factor, double times = 1) {
  TrainingConstants k = constants_of(prior_constants(), c);
  k.value[at(C::kProducts)] *= factor;
  c.row.iteration = times * iteration_time(c.parts, k, c.row.job).total;
}

std::vector<const TrainingCase*> pointers(const std::vector<TrainingCase>& cases) {
  std::vector<const TrainingCase*> p;
  for (const TrainingCase& c : cases) p.push_back(&c);
  return p;
}

std::vector<TrainingCase> known(double factor) {
  std::vector<TrainingCase> cases;
  for (int s = 0; s < 4; ++s) {
    for (int i = 0; i < 10; ++i) {
      cases.push_back(
          made_case("source " + std::to_string(s), s % 2 == 0 ? "fsdp" : "megatron", 1 + i, 2));
      measure(cases.back(), factor);
    }
  }
  return cases;
}

TEST(FitTraining, FindsAFactorThatAllRowsShare) {
  const std::vector<TrainingCase> cases = known(1.3);
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  for (const TrainingCase& c : cases) EXPECT_NEAR(c.error(constants_of(table, c)), 0, 0.02);
  EXPECT_NEAR(constants_of(table, cases[0])[C::kProducts] / prior_constants().groups["base"][0],
              1.3, 0.05);
}

TEST(FitTraining, WithoutErrorsThePriorsStay) {
  const std::vector<TrainingCase> cases = known(1);
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  const TrainingConstants k = constants_of(table, cases[0]);
  const TrainingConstants prior = constants_of(prior_constants(), cases[0]);
  for (std::size_t i = 0; i < kTrainingConstants; ++i)
    EXPECT_NEAR(k.value[i], prior.value[i], 1e-6 * prior.value[i]);
}

// Each year of releases is 10 % faster. The factor is found between the releases, and is constant
// beyond them.
TEST(FitTraining, FindsWhatAYearChanges) {
  std::vector<TrainingCase> cases = known(1);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].row.stack.name = "megatron";
    cases[i].row.release = 2023 + static_cast<double>(i % 4);
    measure(cases[i], std::pow(0.9, static_cast<double>(i % 4)));
  }
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  EXPECT_DOUBLE_EQ(table.releases.at("megatron").first, 2023);
  EXPECT_DOUBLE_EQ(table.releases.at("megatron").last, 2026);
  TrainingCase other = cases[0];
  const auto products = [&](double release) {
    other.row.release = release;
    return constants_of(table, other)[C::kProducts];
  };
  EXPECT_NEAR(products(2025) / products(2024), 0.9, 0.02);
  EXPECT_EQ(products(2026), products(2029));
}

// The table records whether the fit had runs of a stack, an architecture and a narrow format in
// combination, of each in different runs, or no runs of one of them. Two GPUs of one architecture
// share every constant.
TEST(FitTraining, KnowsWhatItHadTogether) {
  const std::vector<TrainingCase> cases = known(1);
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  TrainingCase other = cases[0];
  const auto cover = [&](const ConstantTable& of) { return constants_of(of, other).cover; };
  EXPECT_EQ(cover(table), FitCover::kCombination);
  other.gpu = Catalog().gpu(other.gpu.architecture.id == "hopper" ? "h200-sxm" : "a100-40g-sxm");
  EXPECT_EQ(other.gpu.architecture.kernels, cases[0].gpu.architecture.kernels);
  EXPECT_EQ(cover(table), FitCover::kCombination);
  other.row.job.precision.compute = Dtype::kFp8;
  EXPECT_EQ(cover(table), FitCover::kIncomplete);
  ConstantTable apart = table;
  apart.groups["format fp8"] = table.groups.at("base");
  apart.related_error = 0.2;
  EXPECT_EQ(cover(apart), FitCover::kEach);
  EXPECT_EQ(constants_of(apart, other).error, 0.2);
  other = cases[0];
  other.row.stack.name = "colossalai";
  EXPECT_EQ(cover(table), FitCover::kIncomplete);
}

TEST(FitTraining, AWildRowPullsLittle) {
  std::vector<TrainingCase> cases = known(1.2);
  measure(cases[3], 1.2, 20);
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  EXPECT_NEAR(cases[0].error(constants_of(table, cases[0])), 0, 0.03);
}

TEST(FitTraining, DistrustedRowsPullNothing) {
  std::vector<TrainingCase> cases = known(1.2);
  const ConstantTable table = fit_constants(pointers(cases), prior_constants());
  for (int i = 0; i < 20; ++i) {
    cases.push_back(made_case("odd", "fsdp", 3, 1));
    measure(cases.back(), 3);
    cases.back().row.distrusted = "made up";
  }
  const ConstantTable again = fit_constants(pointers(cases), prior_constants());
  EXPECT_EQ(table.groups.at("base"), again.groups.at("base"));
}

TEST(FitTraining, AFewOwnRowsMoveTheConstantsOfTheirUser) {
  const std::vector<TrainingCase> others = known(1);
  const ConstantTable table = fit_constants(pointers(others), prior_constants());
  std::vector<TrainingCase> own;
  for (int i = 0; i < 4; ++i) {
    own.push_back(made_case("mine", "fsdp", 2 + i, 1));
    measure(own.back(), 1, 1.15);
  }
  const TrainingConstants k = constants_of(table, own[3]);
  std::vector<MeasuredIteration> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back(own[static_cast<std::size_t>(i)].measured());
    runs.back().fixed = k.value;
  }
  const RunLikeness like{"m", "", own[3].row.job};
  const CalibrationFactors factors = fit_calibration_factors(runs, {like, like, like});
  EXPECT_LT(own[3].error(k), -0.12);
  EXPECT_GT(own[3].error(with_calibration_factors(k, factors, like, k.error)), -0.05);
}

TEST(TrainingFolds, ARowIsJudgedByOtherSources) {
  std::vector<TrainingCase> cases = known(1);
  for (TrainingCase& c : cases) {
    c.row.stack.name = "fsdp";
    if (c.row.source == "source 3") measure(c, 1, 1.5);
  }
  const TrainingFolds folds(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].row.source == "source 3") {
      EXPECT_NEAR(folds.error(i), -std::log(1.5), 0.01);
    }
  }
  EXPECT_TRUE(folds.covered(cases[0].row));
  TrainingRow alone = cases[0].row;
  alone.dtype = "fp8";
  EXPECT_FALSE(folds.covered(alone));
  // The intervals of that fold are fitted without the source.
  EXPECT_LT(folds.without("source 3").covered_error, folds.all().covered_error / 2);
}

}  // namespace fit_training_test
}  // namespace orrery
