// Networks on GPUs as engines run them: the ops that kernels are, and the time of a network.
#include "orrery/edge/engine/engine_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "orrery/base/error.h"
#include "orrery/edge/graph/edge_models.h"
#include "orrery/hardware/catalog.h"

namespace orrery {
namespace engine_test {

EdgeKernel convolution(std::int64_t channels, std::int64_t groups) {
  EdgeKernel k;
  k.family = groups == 1 ? EdgeFamily::kConvolution : EdgeFamily::kGroupedConvolution;
  k.in = k.out = {channels, 10, 10};
  k.kernel = {3, 3}, k.groups = groups;
  k.weights = channels * (channels / groups) * 9;
  k.macs = k.weights * 100;
  k.in_elements = k.out_elements = channels * 100;
  return k;
}

TEST(EngineOps, AConvolutionIsAProductThatReadsItsPixelsOnce) {
  const auto calls =
      engine_calls(convolution(64, 1), *engine_kind("tensorrt"), EnginePrecision::kInt8, true);
  ASSERT_EQ(calls.size(), 1u);
  const Gemm& g = std::get<Gemm>(calls[0].op);
  EXPECT_EQ(g.m, 100);
  EXPECT_EQ(g.n, 64);
  EXPECT_EQ(g.k, 64 * 9);
  EXPECT_EQ(g.format, Format::kInt8);
  // 6,400 pixels read and written and 36,864 weights, of a byte each.
  EXPECT_EQ(calls[0].moved, Bytes(2 * 6400 + 36864));
}

// Groups of four channels are multiplied eight at a time, the 32 bytes of an instruction.
TEST(EngineOps, NarrowGroupsAreMultipliedTogether) {
  const EngineKind& engine = *engine_kind("tensorrt");
  const auto of = [&](EnginePrecision precision) {
    return std::get<Gemm>(engine_calls(convolution(128, 32), engine, precision, true)[0].op);
  };
  EXPECT_EQ(of(EnginePrecision::kInt8).n, 32);
  EXPECT_EQ(of(EnginePrecision::kInt8).m, 100 * 4);
  EXPECT_EQ(of(EnginePrecision::kHalf).n, 16);
  EXPECT_EQ(of(EnginePrecision::kFloat).n, 8);
}

TEST(EngineOps, EnginesRoundFloatsByTheirDefaults) {
  EdgeKernel product;
  product.family = EdgeFamily::kInnerProduct;
  product.in = product.out = {1, 1, 64};
  product.weights = product.macs = 64 * 64;
  product.in_elements = product.out_elements = 64;
  const auto format = [&](const char* engine, const EdgeKernel& k) {
    return std::get<Gemm>(
               engine_calls(k, *engine_kind(engine), EnginePrecision::kFloat, true)[0].op)
        .format;
  };
  EXPECT_EQ(format("pytorch", convolution(64, 1)), Format::kTf32);
  EXPECT_EQ(format("pytorch", product), Format::kFp32);
  EXPECT_EQ(format("onnxruntime", product), Format::kTf32);
}

class Engines : public testing::Test {
 protected:
  Seconds time(const std::string& network, const char* gpu, EnginePrecision precision,
               int batch = 1) const {
    const EnginePredictor predictor(EngineLaw{}, Catalog(bundle_).gpu(gpu), "tensorrt", bundle_);
    return predictor.answer(edge_model(bundle_, network), precision, batch).latency.value;
  }
  Bundle bundle_;
};

TEST_F(Engines, NothingBeatsItsMultiplyAdds) {
  EngineLaw fast;
  fast.all = -3;
  for (const char* gpu : {"rtx-4090", "jetson-agx-orin", "t4"}) {
    const Gpu facts = Catalog(bundle_).gpu(gpu);
    const EnginePredictor predictor(fast, facts, "tensorrt", bundle_);
    for (const char* network : {"resnet50-v1.5", "retinanet", "bert-large-384"}) {
      const EdgeGraph graph = edge_model(bundle_, network);
      const Seconds least = Flops(2.0 * double(graph.macs())) / facts.peak(Dtype::kInt8);
      EXPECT_GE(predictor.answer(graph, EnginePrecision::kInt8).latency.value, least * 0.999)
          << gpu << " " << network;
    }
  }
}

// By hand: 36,864 weights and tensors of 6,400 elements of two bytes, beside caches of 10,000 and
// 100,000 bytes.
TEST(EngineBytes, TheCacheKeepsWhatItCanHold) {
  const std::vector<EdgeKernel> one = {convolution(64, 1)};
  const auto half = EnginePrecision::kHalf;
  EXPECT_EQ(least_moved(one, half, Bytes(0)), Bytes(2 * 36864 + 2 * 12800));
  EXPECT_EQ(least_moved(one, half, Bytes(10000)), Bytes(2 * 36864 - 10000 + 2 * 2800));
  EXPECT_EQ(least_moved(one, half, Bytes(100000)), Bytes(0));
  // Two layers: the cache keeps 10,000 bytes of the weights of both, not of each.
  const std::vector<EdgeKernel> two = {one[0], one[0]};
  EXPECT_EQ(least_moved(two, half, Bytes(10000)), Bytes(4 * 36864 - 10000 + 4 * 2800));
  std::vector<EdgeKernel> table = one;
  table[0].macs = 0;
  EXPECT_EQ(least_moved(table, half, Bytes(0)), Bytes(0));
}

// VGG-16 has 138 million weights; at batch 1 they, not its multiply-adds, bound the time.
TEST_F(Engines, NothingBeatsItsBytes) {
  EngineLaw fast;
  fast.all = -3;
  for (const char* gpu : {"l4", "jetson-agx-orin", "t4"}) {
    const Gpu facts = Catalog(bundle_).gpu(gpu);
    const EnginePredictor predictor(fast, facts, "tensorrt", bundle_);
    const EdgeGraph graph = edge_model(bundle_, "vgg16");
    const Seconds read = (real(graph.weights()) * Bytes(1) - *facts.l2) / facts.memory.bandwidth;
    const Seconds multiplied = Flops(2.0 * real(graph.macs())) / facts.peak(Dtype::kInt8);
    ASSERT_GT(read, multiplied) << gpu;
    EXPECT_GE(predictor.answer(graph, EnginePrecision::kInt8).latency.value, read * 0.999) << gpu;
  }
}

TEST_F(Engines, MoreIsSlowerAndSmallerFormatsAreFaster) {
  const auto half = EnginePrecision::kHalf, bytes = EnginePrecision::kInt8;
  EXPECT_LT(time("retinanet", "l4", bytes), time("retinanet", "l4", half));
  EXPECT_LT(time("retinanet", "l40s", bytes), time("retinanet", "l4", bytes));
  EXPECT_LT(time("resnet50-v1.5", "l4", bytes), time("resnet50-v1.5", "l4", bytes, 8));
  EXPECT_LT(time("resnet50-v1.5", "l4", bytes, 8), time("resnet50-v1.5", "l4", bytes) * 8.0);
}

TEST_F(Engines, ABreakdownAddsUp) {
  const EnginePredictor predictor(read_engine_law(bundle_), Catalog(bundle_).gpu("l4"), "tensorrt",
                                  bundle_);
  const EdgeAnswer a = predictor.answer(edge_model(bundle_, "retinanet"), EnginePrecision::kInt8);
  Seconds sum;
  for (const EdgeAnswer::Kernel& k : a.kernels) sum += k.time;
  EXPECT_NEAR(sum / a.latency.value, 1, 1e-9);
}

TEST_F(Engines, WhatIsMissingIsNamed) {
  EXPECT_THROW(EnginePredictor(EngineLaw{}, Catalog(bundle_).gpu("l4"), "tensorart", bundle_),
               InputError);
  EXPECT_THROW(time("resnet50-v1.5", "l4", EnginePrecision::kInt8, 0), InputError);
}

TEST_F(Engines, AnAssumedWidthOfHeadsIsSaid) {
  const EnginePredictor predictor(read_engine_law(bundle_), Catalog(bundle_).gpu("l4"), "tensorrt",
                                  bundle_);
  const auto notes = [&](const char* network) {
    return predictor.answer(edge_model(bundle_, network), EnginePrecision::kHalf).notes;
  };
  const std::string said = "attention: heads of 64 columns are assumed";
  const auto count = [&](const std::vector<std::string>& all) {
    return std::count(all.begin(), all.end(), said);
  };
  EXPECT_EQ(count(notes("vision_transformer")), 1);
  EXPECT_EQ(count(notes("resnet50-v1.5")), 0);
}

// The paper's figures: 4.1 GMAC of ResNet-50 with the stride in its 3x3 convolutions (torchvision
// states 4.09), and 24 layers of 12 x 1024^2 weights of BERT-large.
TEST_F(Engines, NetworksOfMlperfHaveTheirWork) {
  EXPECT_NEAR(double(edge_model(bundle_, "resnet50-v1.5").macs()) / 1e9, 4.09, 0.03);
  EXPECT_NEAR(double(edge_model(bundle_, "bert-large-384").weights()) / 1e6, 302, 1);
}

TEST(EngineLaw, IsReadAsItWasWritten) {
  EngineLaw law;
  law.recipe = "by hand", law.all = -0.1, law.known = 0.2, law.unknown = 0.3;
  law.engines["tensorrt"] = 0.05, law.architectures["ada"] = -0.02;
  Bundle bundle;
  bundle = bundle.replacing("edge/laws", {{"edge/laws/engines.yaml", engine_law_text(law)}});
  const EngineLaw read = read_engine_law(bundle);
  EXPECT_NEAR(read.factor("tensorrt", "ada"), std::exp(-0.07), 1e-6);
  EXPECT_NEAR(read.factor("other", "ada"), std::exp(-0.12), 1e-6);
  EXPECT_NEAR(read.deviation("tensorrt", "ada"), 0.2, 1e-6);
  EXPECT_NEAR(read.deviation("other", "xe2"), std::sqrt(0.04 + 0.09 + 0.09), 1e-6);
}

}  // namespace engine_test
}  // namespace orrery
