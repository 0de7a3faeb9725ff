// Microcontrollers and NPUs: the networks of MLPerf tiny, and the law of their times and energies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/edge/small/small_answer.h"

namespace orrery {
namespace small_test {

using testing::HasSubstr;

const SmallProcessor& processor(const SmallProcessors& all, std::string_view id) {
  const SmallProcessor* found = all.find(id);
  if (found == nullptr) throw std::runtime_error(std::string(id));
  return *found;
}

// The multiply-adds of a convolution with `k` weights for each output.
double macs(double pixels, double channels, double k) { return pixels * channels * k; }

// github.com/mlcommons/tiny, benchmark/training: layer by layer.
TEST(SmallNetworks, MultiplyAddsOfMlperfTiny) {
  const auto work = [](std::string_view name) {
    return small_work_of(fuse(edge_model(Bundle(), name), fusion_rules("tflite")));
  };
  const SmallWork resnet = work("resnet8");
  EXPECT_EQ(resnet[0], macs(1024, 16, 27) + 2 * macs(1024, 16, 144) + macs(256, 32, 144) +
                           macs(256, 32, 288) + macs(256, 32, 16) + macs(64, 64, 288) +
                           macs(64, 64, 576) + macs(64, 64, 32));
  EXPECT_EQ(resnet[2], 64 * 10);
  const SmallWork ds_cnn = work("ds_cnn");
  EXPECT_EQ(ds_cnn[0], macs(125, 64, 40) + 4 * macs(125, 64, 64));
  EXPECT_EQ(ds_cnn[1], 4 * macs(125, 64, 9));
  EXPECT_EQ(work("autoencoder_640")[2], 2 * 640 * 128 + 6 * 128 * 128 + 2 * 128 * 8);
  // A quarter of MobileNet's channels at 96 pixels: 7.5 million multiply-adds.
  EXPECT_NEAR(double(edge_model(Bundle(), "mobilenet_025_96").macs()), 7.5e6, 0.02e6);
}

TEST(SmallLaw, TimeIsCyclesOverTheClock) {
  const SmallProcessors all{Bundle()};
  SmallLaw law;
  law.cycles = {std::log(2.0), std::log(6.0), std::log(3.0)};
  law.cores["cortex-m4"] = std::log(1.5), law.processors["stm32l4r5"] = 0;
  SmallProcessor p = processor(all, "stm32l4r5");
  p.clock = Hertz(100e6);
  const SmallWork work = {1e6, 1e5, 1e4};
  const Estimate<Seconds> time = law.time(work, p);
  EXPECT_NEAR(time.value.value(), 1.5 * (2e6 + 6e5 + 3e4) / 100e6, 1e-9);
  p.clock = p.clock * 0.5;
  EXPECT_NEAR(law.time(work, p).value / time.value, 2, 1e-9);
  // Another processor of the core is known less well, one of another core least.
  const double other = law.time(work, processor(all, "psoc-62")).sigma(),
               core = law.time(work, processor(all, "stm32u575")).sigma();
  EXPECT_LT(time.sigma(), other);
  EXPECT_LT(other, core);
  // However little the law says, two multiply-adds in a cycle are the most of this core.
  law.cores["cortex-m4"] = -5;
  EXPECT_NEAR(law.time(work, p).value.value(), 1.11e6 / 2 / 50e6, 1e-9);
}

TEST(SmallLaw, EnergyNeedsAMeasuredBoard) {
  const SmallProcessors all{Bundle()};
  SmallLaw law;
  law.powers["stm32l4r5"] = Watts(0.05);
  const Estimate<Seconds> time{Seconds(0.2), 0.1, 0, Origin::kFitted};
  EXPECT_FALSE(law.energy(time, processor(all, "psoc-62")));
  const auto energy = law.energy(time, processor(all, "stm32l4r5"));
  ASSERT_TRUE(energy);
  EXPECT_NEAR(energy->value.value(), 0.01, 1e-12);
  EXPECT_GT(energy->sigma(), time.sigma());
}

TEST(SmallProcessors, NamesAndRefusals) {
  const SmallProcessors all{Bundle()};
  ASSERT_NE(all.in_text("microtvm_cmsis_nn/NUCLEO_L4R5ZI"), nullptr);
  EXPECT_EQ(all.in_text("CY8CPROTO_062_4343W_int8")->id, "psoc-62");
  EXPECT_EQ(all.in_text("zedboard"), nullptr);
  EXPECT_EQ(all.find("stm32l4r9"), nullptr);
  EXPECT_THROW(all.find("hailo-8"), NoData);
}

TEST(SmallAnswer, WhatDoesNotFitSaysSo) {
  const SmallProcessors all{Bundle()};
  const SmallLaw law = read_small_law(Bundle());
  const SmallProcessor& p = processor(all, "stm32l4r5");
  EXPECT_EQ(answer_small(law, p, edge_model(Bundle(), "resnet8")).misfit, "");
  EXPECT_THAT(answer_small(law, p, edge_model(Bundle(), "resnet50")).misfit,
              HasSubstr("KiB do not fit into 2048 KiB"));
  const SmallAnswer a = answer_small(law, p, edge_model(Bundle(), "ds_cnn"));
  Seconds sum;
  for (const EdgeAnswer::Kernel& k : a.network.kernels) sum += k.time;
  EXPECT_NEAR(sum / a.network.latency.value, 1, 1e-9);
}

TEST(SmallLaw, IsReadBack) {
  const SmallLaw law = read_small_law(Bundle());
  const std::string folder = testing::TempDir() + "small-law/";
  std::filesystem::create_directories(folder + "edge/laws");
  std::ofstream(folder + "edge/laws/small.yaml") << small_law_text(law);
  EXPECT_EQ(small_law_text(read_small_law(Bundle(folder))), small_law_text(law));
}

}  // namespace small_test
}  // namespace orrery
