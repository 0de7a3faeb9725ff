#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/families/families.h"

namespace orrery {
namespace physics_test {

Gpu small_gpu() {
  Gpu g = Catalog().gpu("h100-sxm");
  g.memory.bandwidth = BytesPerSecond(1e12);
  g.l2 = Bytes(10e6);
  g.compute_units = 100;
  g.peak_clock = Hertz(1e9);
  return g;
}

TEST(WaveFactor, RoundsTilesUpToWholeWaves) {
  EXPECT_DOUBLE_EQ(wave_factor(100, 100), 1);
  EXPECT_DOUBLE_EQ(wave_factor(101, 100), 200.0 / 101);
  EXPECT_DOUBLE_EQ(wave_factor(25, 100), 4);
  EXPECT_DOUBLE_EQ(wave_factor(0, 100), 1);
  EXPECT_DOUBLE_EQ(wave_factor(5, 0), 1);
}

TEST(MoveTime, CachedBytesComeFromTheL2) {
  // 18 bytes x 100 units x 1 GHz = 1.8 TB/s.
  const KernelGpu g = small_gpu();
  EXPECT_DOUBLE_EQ(g.move_time(Bytes(4e6), Bytes(0)).value(), 4e-6);
  EXPECT_DOUBLE_EQ(g.move_time(Bytes(4e6), Bytes(1.8e6)).value(), 2.2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(g.move_time(Bytes(1.8e6), Bytes(9e6)).value(), 1e-6);  // no more than all
  EXPECT_DOUBLE_EQ(g.least_move_time(Bytes(4e6), Bytes(3e6)).value(), 1e-6 + 3e6 / 5e12);
}

TEST(MoveTime, L2IsFasterThanTheMemoryWithinLimits) {
  const auto from_l2 = [](const Gpu& g) {
    return KernelGpu(g).move_time(Bytes(1e12), Bytes(1e12));
  };
  Gpu g = small_gpu();
  g.peak_clock = Hertz(0.1e9);
  EXPECT_DOUBLE_EQ(from_l2(g).value(), 1 / 1.25);
  g.peak_clock = Hertz(10e9);
  EXPECT_DOUBLE_EQ(from_l2(g).value(), 1 / 5.0);
  g.peak_clock.reset();
  g.boost_clock.reset();
  EXPECT_DOUBLE_EQ(from_l2(g).value(), 1 / 1.25);
}

TEST(Cached, HalfTheL2InAStepNineTenthsOnRepeat) {
  const KernelGpu g = small_gpu();
  EXPECT_DOUBLE_EQ(g.if_cached(Bytes(5e6)).value(), 5e6);
  EXPECT_DOUBLE_EQ(g.if_cached(Bytes(5.1e6)).value(), 0);
  EXPECT_DOUBLE_EQ(g.cached_on_repeat(Bytes(9e6)).value(), 9e6);
  EXPECT_NEAR(g.cached_on_repeat(Bytes(10.75e6)).value(), 10.75e6 / 2, 1);  // half way to 12.5 MB
  EXPECT_DOUBLE_EQ(g.cached_on_repeat(Bytes(12.6e6)).value(), 0);
  Gpu without = g;
  without.l2.reset();
  const KernelGpu none = without;
  EXPECT_DOUBLE_EQ(none.if_cached(Bytes(1)).value(), 0);
  EXPECT_DOUBLE_EQ(none.cached_on_repeat(Bytes(1)).value(), 0);
}

TEST(GemmFamily, WeightsOfAStepAreNeverWarm) {
  const Gpu g = Catalog().gpu("l40s");  // 96 MiB of L2
  Gemm op;
  op.m = 1, op.n = 2048, op.k = 2048;  // 8 MiB of weights, six copies fit
  const KernelPoint cold = gemm_family().point(op, g, false),
                    warm = gemm_family().point(op, g, true);
  EXPECT_GE(cold.base, Bytes(8.0 * 1024 * 1024) / g.memory.bandwidth);
  EXPECT_LT(warm.base, cold.base * 0.5);
  EXPECT_GE(cold.least, Bytes(8.0 * 1024 * 1024) / g.memory.bandwidth);
}

// A call for which a family says that repetition changes nothing has the same time when repeated,
// where a part of its operands stays in the L2 too.
TEST(KernelFamilies, WarmDiffersWhereTheRepeatedCallDoes) {
  std::size_t same = 0, other = 0;
  for (const char* gpu : {"h100-sxm", "b200-sxm", "l40s"}) {
    const KernelGpu g = Catalog().gpu(gpu);
    for (std::int64_t size = 1; size <= 1 << 20; size *= 2) {
      Gemm few;  // few weights, many rows
      few.m = size, few.n = 256, few.k = 512;
      MlaModule block;
      block.core.heads = 16, block.core.decode = true, block.core.batch = 8;
      block.core.context = real(size);
      LinearAttentionCore mixer;
      mixer.decode = true, mixer.batch = size, mixer.k_heads = 8, mixer.v_heads = 16;
      MoeExperts experts;
      experts.tokens = size, experts.hidden = 1024, experts.intermediate = 512;
      experts.experts = 8, experts.top_k = 2;
      const std::pair<const KernelFamily*, Op> calls[] = {{&gemm_family(), few},
                                                          {&latent_module_family(), block},
                                                          {&linear_attention_family(), mixer},
                                                          {&moe_family(), experts}};
      for (const auto& [family, op] : calls) {
        const bool differs = family->warm_differs(op, g);
        ++(differs ? other : same);
        if (differs) continue;
        EXPECT_EQ(family->point(op, g, true).base.value(), family->point(op, g, false).base.value())
            << gpu << ' ' << describe(op);
      }
    }
  }
  EXPECT_GT(same, 30u);
  EXPECT_GT(other, 30u);
}

TEST(DecodeFamily, TheCacheOfAStepIsNeverWarm) {
  const Gpu g = Catalog().gpu("l40s");
  DecodeAttention op;
  op.batch = 1, op.context = 4096, op.heads = 32, op.kv_heads = 8;
  // 4096 keys and values of 8 heads of 128 in 16 bits: 16.8 MB.
  const Bytes cache(2.0 * 4096 * 8 * 128 * 2);
  EXPECT_GE(decode_attention_family().point(op, g, false).least, cache / g.memory.bandwidth);
  EXPECT_LT(decode_attention_family().point(op, g, true).base, cache / g.memory.bandwidth * 0.5);
}

// A family that computes warm and cold calls at once gives the same points as two separate calls.
TEST(KernelPoint, RepeatedIsTheBaseOfTheRepeatedCall) {
  const Gpu l40s = Catalog().gpu("l40s"), h100 = Catalog().gpu("h100-sxm");
  for (const Gpu& g : {l40s, h100}) {
    for (std::int64_t size : {1, 3, 17, 129, 700, 5000}) {
      Gemm product;
      product.m = size, product.n = 512 + size, product.k = 4096;
      product.weight = size != 17;
      DecodeAttention decode;
      decode.batch = size, decode.context = 1000, decode.heads = 32, decode.kv_heads = 8;
      for (const auto& [family, op] :
           {std::pair<const KernelFamily&, Op>(gemm_family(), product),
            std::pair<const KernelFamily&, Op>(decode_attention_family(), decode)}) {
        const KernelPoint cold = family.point(op, g, false), warm = family.point(op, g, true);
        EXPECT_GT(cold.repeated, Seconds(0));
        EXPECT_EQ(cold.repeated, warm.base);
        EXPECT_EQ(warm.repeated, warm.base);
        EXPECT_LE(warm.base, cold.base);
        EXPECT_EQ(cold.x, warm.x);
      }
    }
  }
}

TEST(MoveTime, OfOneCallAndOfARepeatedOneAsOfEach) {
  const KernelGpu g = small_gpu();
  MoveTimes times = g.longest(Seconds(0), Bytes(4e6), Bytes(1.8e6), Bytes(9e6));
  EXPECT_DOUBLE_EQ(times.once.value(), 2.2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(times.repeated.value(), 4e6 / 1.8e12);
  times = g.longest(Seconds(3e-6), Bytes(4e6), Bytes(1.8e6), Bytes(9e6));
  EXPECT_DOUBLE_EQ(times.once.value(), 2.2e-6 + 1e-6);
  EXPECT_DOUBLE_EQ(times.repeated.value(), 3e-6);
  EXPECT_DOUBLE_EQ(g.by_sheet(Bytes(4e6)).value(), 4e-6);
  EXPECT_DOUBLE_EQ(g.least_move_time(Bytes(4e6), Bytes(3e6)).value(), 1e-6 + 3e6 / 5e12);
}

TEST(PrefillFamily, PadsQueriesToBlocks) {
  const Gpu g = Catalog().gpu("h100-sxm");
  PrefillAttention op;
  op.batch = 1000, op.heads = op.kv_heads = 32, op.new_tokens = 1;
  const KernelPoint one = prefill_attention_family().point(op, g, false);
  op.new_tokens = 128;
  const KernelPoint full = prefill_attention_family().point(op, g, false);
  // One query costs the block of 128 x 128 pairs that a whole block costs.
  EXPECT_GT(full.compute.value() / one.compute.value(), 1000);
  EXPECT_GE(one.base.value(), full.compute.value());
}

}  // namespace physics_test
}  // namespace orrery
