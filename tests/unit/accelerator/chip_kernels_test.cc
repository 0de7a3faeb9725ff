// Ops of a model on a chip of cores.
#include "orrery/accelerator/chip/chip_kernels.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery {
namespace chip_kernels_test {

CoreChip a100() { return *find_core_chip("a100-like", Bundle()); }

std::vector<Op> ops() {
  PrefillAttention prefill;
  prefill.new_tokens = 512, prefill.heads = 32, prefill.kv_heads = 8;
  DecodeAttention decode;
  decode.batch = 16, decode.context = 3000, decode.heads = 32, decode.kv_heads = 8;
  MoeExperts moe;
  moe.tokens = 64, moe.hidden = 4096, moe.intermediate = 1536, moe.experts = 64, moe.top_k = 4;
  Elementwise norm;
  norm.rows = 64, norm.width = 4096, norm.read = norm.written = Bytes(64 * 4096 * 2);
  Gemm gemm;
  gemm.m = 64, gemm.n = gemm.k = 4096;
  AttentionBackward backward;
  backward.forward = prefill;
  return {prefill, decode, moe, norm, gemm, backward, Embedding{64, 4096}, OptimizerStep{1000000}};
}

TEST(ChipKernels, NoOpIsBelowTheRooflineOrTheFloor) {
  const CoreChip chip = a100();
  const auto model = make_chip_kernel_model(chip);
  for (const Op& op : ops()) {
    const KernelTime t = model->predict(op);
    EXPECT_GE(t.time.value, t.compute) << describe(op);
    EXPECT_GE(t.time.value, t.memory) << describe(op);
    EXPECT_GE(t.time.value, chip.kernel_floor) << describe(op);
    EXPECT_EQ(t.time.origin, Origin::kAnalytical);
  }
}

TEST(ChipKernels, MoreMemoryBandwidthIsNeverSlower) {
  CoreChip fast = a100();
  fast.memory.bandwidth *= 2;
  const auto slow_model = make_chip_kernel_model(a100()), model = make_chip_kernel_model(fast);
  for (const Op& op : ops())
    EXPECT_LE(model->predict(op).time.value, slow_model->predict(op).time.value) << describe(op);
}

TEST(ChipKernels, DecodeAttentionGrowsWithItsContext) {
  const auto model = make_chip_kernel_model(a100());
  DecodeAttention d;
  d.batch = 32, d.heads = 32, d.kv_heads = 8;
  Seconds last(0);
  for (d.context = 500; d.context < 9000; d.context *= 1.07) {
    const Seconds t = model->predict(d).time.value;
    EXPECT_GE(t, last * 0.99) << d.context;
    last = t;
  }
  // Reading keys and values takes the time at long contexts: 0.87 of the bandwidth is reached.
  EXPECT_NEAR((d.byte_count() / a100().memory.bandwidth) / model->predict(d).time.value, 0.85,
              0.05);
}

TEST(ChipKernels, RefusesWhatItCannotMapByName) {
  const auto model = make_chip_kernel_model(a100());
  try {
    model->predict(SparseAttentionBlock{});
    FAIL() << "expected NoData";
  } catch (const NoData& e) {
    EXPECT_NE(std::string(e.what()).find("sparse_attention"), std::string::npos) << e.what();
  }
}

TEST(ChipKernels, EnergyIsTheSumOfItsActions) {
  CoreChip chip = a100();
  const ChipWork work{1e9, 2e9, 3e9, 4e9, 5e9};
  EXPECT_EQ(energy_of(chip, work), Joules(0));  // its file states none
  chip.energy = ChipEnergy{31, 17, 2, 0.5, 0.4, Watts(50)};
  EXPECT_NEAR(energy_of(chip, work).value(), 1e-3 * (31 + 34 + 6 + 2 + 2), 1e-12);
  Gemm g;
  g.m = 8, g.n = 4096, g.k = 4096;
  const ChipWork w = work_of(chip, g);
  EXPECT_DOUBLE_EQ(w.multiply_adds, 8.0 * 4096 * 4096);
  EXPECT_GE(w.memory, g.byte_count().value() * (1 - 1e-12));
}

}  // namespace chip_kernels_test
}  // namespace orrery
