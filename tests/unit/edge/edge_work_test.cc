// Is the work of kernels of the kinds that their loops are of?
#include "orrery/edge/predict/edge_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace orrery {
namespace edge_work_test {

double amount(const EdgeWork& work, std::string_view kind) {
  for (std::size_t i = 0; i < kEdgeWorkKinds; ++i) {
    if (edge_work_kinds()[i].name == kind) return work[i];
  }
  ADD_FAILURE() << kind;
  return 0;
}

// A 3x3 convolution of 64 channels to 128 over 56x56.
EdgeKernel convolution() {
  EdgeKernel k;
  k.family = EdgeFamily::kConvolution;
  k.in = {64, 56, 56}, k.out = {128, 56, 56};
  k.kernel = {3, 3};
  k.macs = 64LL * 128 * 9 * 56 * 56, k.weights = 64 * 128 * 9;
  k.in_elements = 64 * 56 * 56, k.out_elements = 128 * 56 * 56;
  return k;
}

TEST(EdgeWork, ConvolutionsAreOfTheKindOfTheirLoop) {
  EdgeKernel k = convolution();
  const EdgeWork winograd = work_of(k, EdgePrecision::kFloat);
  EXPECT_NEAR(amount(winograd, "winograd"), 231.211, 1e-3);
  EXPECT_NEAR(amount(winograd, "winograd_data"), 0.602112, 1e-9);
  EXPECT_EQ(amount(winograd, "convolution_start"), 1);
  EXPECT_NEAR(std::accumulate(winograd.begin(), winograd.end(), 0.0), 231.211 + 0.602 + 1, 1e-3);

  k.stride = {2, 2};
  EXPECT_GT(amount(work_of(k, EdgePrecision::kFloat), "dense"), 0);
  k.kernel = {1, 1};
  EXPECT_GT(amount(work_of(k, EdgePrecision::kFloat), "pointwise"), 0);
  EXPECT_GT(amount(work_of(k, EdgePrecision::kInt8), "byte_pointwise"), 0);
  k.out.c = 126;  // no multiple of four
  EXPECT_GT(amount(work_of(k, EdgePrecision::kFloat), "unpacked"), 0);
  k.out.c = 128, k.in.c = 3;
  EXPECT_GT(amount(work_of(k, EdgePrecision::kFloat), "first"), 0);
  k.family = EdgeFamily::kDepthwise, k.groups = 128;
  EXPECT_GT(amount(work_of(k, EdgePrecision::kFloat), "depthwise"), 0);
  EXPECT_GT(amount(work_of(k, EdgePrecision::kInt8), "byte_depthwise"), 0);
  k.family = EdgeFamily::kGroupedConvolution, k.groups = 8, k.in.c = 64;
  EXPECT_EQ(amount(work_of(k, EdgePrecision::kFloat), "groups"), 8);
}

TEST(EdgeWork, AMatrixUsedOnceIsReadAndOneUsedOftenIsMultiplied) {
  EdgeKernel k;
  k.family = EdgeFamily::kInnerProduct;
  k.weights = 1'000'000, k.macs = 1'000'000;
  EXPECT_EQ(amount(work_of(k, EdgePrecision::kFloat), "matrix"), 1);
  EXPECT_EQ(amount(work_of(k, EdgePrecision::kFloat), "pointwise"), 0);
  k.macs = 197'000'000;  // 197 tokens
  EXPECT_EQ(amount(work_of(k, EdgePrecision::kFloat), "matrix"), 1);
  EXPECT_EQ(amount(work_of(k, EdgePrecision::kFloat), "pointwise"), 196);
}

TEST(EdgeWork, EveryKindIsOfSomeKernel) {
  // One kernel of each family and precision, with what the kinds of convolutions ask for.
  EdgeWork seen{};
  const auto add = [&](const EdgeKernel& k) {
    for (const EdgePrecision p : {EdgePrecision::kFloat, EdgePrecision::kInt8}) {
      const EdgeWork work = work_of(k, p);
      for (std::size_t i = 0; i < kEdgeWorkKinds; ++i) seen[i] += work[i];
    }
  };
  for (int family = 0; family < kEdgeFamilies; ++family) {
    EdgeKernel k = convolution();
    k.family = static_cast<EdgeFamily>(family);
    k.activation = EdgeActivation::kSwish;
    add(k);
    k.kernel = {1, 1};
    add(k);
    k.stride = {2, 2}, k.kernel = {5, 5};
    add(k);
    k.in.c = 3;
    add(k);
    k.out.c = 5;
    add(k);
  }
  for (std::size_t i = 0; i < kEdgeWorkKinds; ++i)
    EXPECT_GT(seen[i], 0) << edge_work_kinds()[i].name;
}

}  // namespace edge_work_test
}  // namespace orrery
