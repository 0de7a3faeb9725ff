// Are PyTorch's ops and collectives understood with their sizes?
#include "orrery/replay/traced_op.h"

#include <gtest/gtest.h>

namespace orrery {
namespace traced_op_test {

KinetoDetail shapes(std::vector<std::vector<std::int64_t>> s, std::string type = "c10::BFloat16") {
  KinetoDetail d;
  d.shapes = std::move(s), d.type = std::move(type);
  return d;
}

// "m n k batch format"
std::string gemm_of(const char* name, const KinetoDetail& d) {
  const auto op = traced_op(name, d);
  if (!op) return "none";
  const Gemm& g = std::get<Gemm>(*op);
  return std::to_string(g.m) + " " + std::to_string(g.n) + " " + std::to_string(g.k) + " " +
         std::to_string(g.batch) + (g.weight ? " weight" : "");
}

TEST(TracedOp, Products) {
  EXPECT_EQ(gemm_of("aten::mm", shapes({{4096, 1024}, {1024, 512}})), "4096 512 1024 1 weight");
  EXPECT_EQ(gemm_of("aten::addmm", shapes({{512}, {64, 32}, {32, 512}})), "64 512 32 1 weight");
  EXPECT_EQ(gemm_of("aten::linear", shapes({{2, 8, 32}, {512, 32}, {512}})), "16 512 32 1 weight");
  EXPECT_EQ(gemm_of("aten::bmm", shapes({{12, 64, 32}, {12, 32, 128}})), "64 128 32 12");
  EXPECT_EQ(gemm_of("aten::baddbmm", shapes({{1}, {12, 64, 32}, {12, 32, 128}})), "64 128 32 12");
  EXPECT_EQ(gemm_of("aten::_scaled_mm", shapes({{16, 32}, {32, 8}, {}, {}}, "c10::Float8_e4m3fn")),
            "16 8 32 1 weight");
  const auto op = traced_op("aten::mm", shapes({{1, 2}, {2, 3}}, "c10::Half"));
  EXPECT_EQ(std::get<Gemm>(*op).format, Format::kFp16);
}

TEST(TracedOp, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(gemm_of("aten::mm", shapes({{4096, 1024}, {512, 1024}})), "none");
  EXPECT_EQ(gemm_of("aten::mm", shapes({{4096, 1024}})), "none");
  EXPECT_EQ(gemm_of("aten::mm", shapes({{}, {}})), "none");
  EXPECT_EQ(gemm_of("aten::mm", shapes({{0, 4}, {4, 4}})), "none");
  EXPECT_EQ(gemm_of("aten::mm", shapes({{-1, 4}, {4, 4}})), "none");
  EXPECT_EQ(gemm_of("aten::bmm", shapes({{2, 3, 4}, {5, 4, 3}})), "none");
  EXPECT_EQ(gemm_of("aten::add", shapes({{4, 4}, {4, 4}})), "none");
}

TEST(TracedOp, Attention) {
  // Grouped queries, heads before tokens in the dispatcher's op and after them in the kernel's.
  const auto a = std::get<PrefillAttention>(
      *traced_op("aten::_scaled_dot_product_flash_attention",
                 shapes({{2, 32, 2048, 128}, {2, 8, 2048, 128}, {2, 8, 2048, 128}})));
  EXPECT_EQ(a.batch, 2);
  EXPECT_EQ(a.new_tokens, 2048);
  EXPECT_EQ(a.past, 0);
  EXPECT_EQ(a.heads, 32);
  EXPECT_EQ(a.kv_heads, 8);
  EXPECT_EQ(a.head_dim, 128);
  const auto b = std::get<AttentionBackward>(*traced_op(
      "aten::_flash_attention_backward",
      shapes({{2, 2048, 32, 128}, {2, 2048, 32, 128}, {2, 2048, 8, 128}, {2, 2048, 8, 128}})));
  EXPECT_EQ(b.forward.new_tokens, 2048);
  EXPECT_EQ(b.forward.kv_heads, 8);
  EXPECT_FALSE(traced_op("aten::_flash_attention_forward", shapes({{2, 2048}, {2, 2048}})));
}

TEST(TracedCollective, KindsRanksAndBytes) {
  KinetoDetail d;
  d.collective = "_allgather_base", d.dtype = "BFloat16";
  d.in_elements = 1000, d.out_elements = 8000, d.ranks = 8;
  const auto c = traced_collective("ncclDevKernel_AllGather_RING_LL", d, 64);
  EXPECT_EQ(c->kind, Collective::Kind::kAllGather);
  EXPECT_EQ(c->ranks, 8);
  EXPECT_EQ(c->bytes, Bytes(16000));
  d.collective = "reduce_scatter_tensor_coalesced", d.in_elements = 8000, d.out_elements = 1000;
  d.dtype = "Float";
  EXPECT_EQ(traced_collective("", d, 0)->kind, Collective::Kind::kReduceScatter);
  EXPECT_EQ(traced_collective("", d, 0)->bytes, Bytes(32000));
  // Only the kernel's name and the world.
  const auto bare = traced_collective("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {}, 16);
  EXPECT_EQ(bare->kind, Collective::Kind::kAllReduce);
  EXPECT_EQ(bare->ranks, 16);
  EXPECT_EQ(bare->bytes, Bytes(0));
  EXPECT_FALSE(traced_collective("ncclDevKernel_AllReduce_Sum_f32_RING_LL", {}, 0));
  EXPECT_FALSE(traced_collective("ncclDevKernel_SendRecv", {}, 16));
}

}  // namespace traced_op_test
}  // namespace orrery
