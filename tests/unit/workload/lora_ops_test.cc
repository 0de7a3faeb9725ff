// Adapters' ops and sizes against sums by hand: Llama-2-7B, hidden 4096, intermediate 11008.
#include "orrery/workload/inference/lora_ops.h"

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace lora_ops_test {

using namespace reading;

Batch with_adapters(std::int64_t sequences, std::int64_t adapters, int rank) {
  Batch b = decode(sequences, 100);
  b.adapters = adapters;
  b.lora.rank = rank;
  return b;
}

TEST(LoraOps, NoneWithoutAdapters) {
  const Program p = forward_program(load_model("llama-2-7b"), {}, {}, decode(8, 100));
  for (const ProgramOp& op : p.ops) EXPECT_FALSE(op.name.starts_with("lora")) << op.name;
}

TEST(LoraOps, TwoKernelsForEachProduct) {
  const Program p = forward_program(load_model("llama-2-7b"), {}, {}, with_adapters(8, 3, 16));
  double kernels = 0;
  for (const ProgramOp& op : p.ops) kernels += op.name.starts_with("lora") ? op.count : 0;
  EXPECT_EQ(kernels, 32 * 4 * 2);
  // q, k and v: 8 inputs of 4096, 3 adapters x 3 matrices of 4096 x 16; results in fp32.
  const auto shrink = first<Elementwise>(p, "lora_qkv_shrink");
  EXPECT_EQ(shrink.read, Bytes(2.0 * (8 * 4096 + 3 * 3 * 4096 * 16)));
  EXPECT_EQ(shrink.written, Bytes(4.0 * 8 * 3 * 16));
  const auto expand = first<Elementwise>(p, "lora_qkv_expand");
  EXPECT_EQ(expand.read, Bytes(4.0 * 8 * 3 * 16 + 2.0 * (3 * 16 * 12288 + 8 * 12288)));
  EXPECT_EQ(expand.written, Bytes(2.0 * 8 * 12288));
  EXPECT_EQ(first<Elementwise>(p, "lora_down_shrink").width, 11008);
}

TEST(LoraOps, SizeOfAnAdapter) {
  const AdapterSize one = adapter_size(load_model("llama-2-7b"), {}, {}, {16, true});
  const double layer = 3 * 4096 + 12288 + (4096 + 4096) + (2 * 4096 + 22016) + (11008 + 4096);
  EXPECT_EQ(one.bytes, Bytes(2.0 * 32 * 16 * layer));  // 80 MB
  EXPECT_EQ(one.tensors, 32 * 2 * 7);
  const AdapterSize attention = adapter_size(load_model("llama-2-7b"), {}, {}, {8, false});
  EXPECT_EQ(attention.bytes, Bytes(2.0 * 32 * 8 * (3 * 4096 + 12288 + 4096 + 4096)));
  EXPECT_EQ(attention.tensors, 32 * 2 * 4);
}

TEST(LoraOps, TensorParallelRanksHoldTheOuterSidesInParts) {
  const AdapterSize part = adapter_size(load_model("llama-2-7b"), {4, 1, 1, 1}, {}, {16, true});
  const double layer = 3 * 4096 + 3072 + (1024 + 4096) + (2 * 4096 + 5504) + (2752 + 4096);
  EXPECT_EQ(part.bytes, Bytes(2.0 * 32 * 16 * layer));
}

TEST(LoraOps, ExpertsKeepTheirWeightsAndOtherMixersAreRefused) {
  const Program p = forward_program(load_model("mixtral-8x7b"), {}, {}, with_adapters(8, 3, 16));
  EXPECT_EQ(count(p, "lora_qkv_shrink"), 32);
  EXPECT_EQ(count(p, "lora_up_shrink"), 0);
  EXPECT_THROW(adapter_size(load_model("deepseek-v3"), {8, 1, 1, 1}, {}, {16, true}), NoData);
}

}  // namespace lora_ops_test
}  // namespace orrery
