#include "orrery/kernel/tiers/layer_times.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tiers/tier_choice.h"

namespace orrery {
namespace layer_times_test {

constexpr const char* kText =
    "orrery-layers 1\n"
    "# recipe\n"
    "gemm bf16 64 32 points 3\n"
    "1 10 3 20\n"
    "4 40\n"
    "decode 8 2 128 grid 2 2\n"
    "1 4\n"
    "16 1008\n"
    "10 40 20 80\n";

Op gemm(std::int64_t m) {
  Gemm g;
  g.m = m, g.n = 64, g.k = 32;
  g.format = Format::kBf16;
  return g;
}

double us(const LayerTimes& t, const Op& op) { return t.time(op).value().value.value() * 1e6; }

TEST(LayerTimes, ProjectionsLieBetweenTheMeasuredRows) {
  const LayerTimes t = parse_layer_times(kText, "test");
  EXPECT_NEAR(us(t, gemm(1)), 10, 1e-9);
  EXPECT_NEAR(us(t, gemm(2)), 15, 1e-9);
  EXPECT_NEAR(us(t, gemm(4)), 40, 1e-9);
  EXPECT_FALSE(t.time(gemm(5)));  // more than was measured
  EXPECT_EQ(t.time(gemm(2))->origin, Origin::kMeasured);
  Gemm other = std::get<Gemm>(gemm(1));
  other.n = 65;
  EXPECT_FALSE(t.time(other));
}

TEST(LayerTimes, AttentionIsAPowerOfItsSizes) {
  const LayerTimes t = parse_layer_times(kText, "test");
  DecodeAttention d;
  d.heads = 8, d.kv_heads = 2;
  d.batch = 2, d.context = 16;
  EXPECT_NEAR(us(t, d), 10 * std::sqrt(2.0), 1e-9);  // half-way from 1 to 4 sequences: 10 to 20
  // Half-way of log(keys + 16) from 32 to 1024: keys 165.02.
  d.batch = 1, d.context = std::sqrt(32.0 * 1024) - 16;
  EXPECT_NEAR(us(t, d), 20, 1e-6);
  d.window = 128;
  EXPECT_FALSE(t.time(d));
}

TEST(LayerTimes, TextIsReadAndWritten) {
  const LayerTimes t = parse_layer_times(kText, "test");
  const LayerTimes again = parse_layer_times(to_text(t), "again");
  EXPECT_EQ(to_text(again), to_text(t));
  EXPECT_EQ(again.comment, "# recipe\n");
  for (const char* bad : {"orrery-layers 2\n", "orrery-layers 1\ngemm bf16 2 3 points 2\n1 5\n",
                          "orrery-layers 1\ngemm bf16 2 3 points 2\n2 5 1 6\n",
                          "orrery-layers 1\nrope 1 2 3 points 1\n1 5\n",
                          "orrery-layers 1\ngemm bf16 2 3 points 1\n1 0\n"})
    EXPECT_THROW(parse_layer_times(bad, "bad"), InputError) << bad;
}

// A GPU with measured layers answers from them, unless another tier is asked for.
TEST(LayerTimes, ServeTheGpuTheyWereMeasuredOn) {
  const Bundle bundle = Bundle().replacing("layers", {{"layers/rtx-4090.txt", kText}});
  const Gpu gpu = Catalog(bundle).gpu("rtx-4090");
  const Op op = gemm(2);
  EXPECT_NEAR(make_kernel_model(gpu, {}, bundle)->predict(op).time.value.value(), 15e-6, 1e-12);
  EXPECT_NE(make_kernel_model(gpu, {}, bundle, TierChoice::kTransferred)->predict(op).time.origin,
            Origin::kMeasured);
}

}  // namespace layer_times_test
}  // namespace orrery
