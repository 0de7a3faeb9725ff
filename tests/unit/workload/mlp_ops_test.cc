#include "orrery/workload/inference/mlp_ops.h"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/model/catalog/catalog.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace mlp_ops_test {

using namespace reading;

TEST(MlpOps, WithoutAGateThereIsOneProductUp) {
  const Program p = forward_program(load_model("opt-13b"), {2, 1, 1, 1}, {}, decode(3, 9));
  EXPECT_EQ(first<Gemm>(p, "up_proj").n, 20480 / 2);
  EXPECT_EQ(count(p, "gate_up_proj"), 0);
  EXPECT_EQ(first<Elementwise>(p, "activation").read, Bytes(3 * 10240 * 2));
  const Program gated = forward_program(load_model("llama-2-13b"), {2, 1, 1, 1}, {}, decode(3, 9));
  EXPECT_EQ(first<Gemm>(gated, "gate_up_proj").n, 13824);
  EXPECT_EQ(first<Elementwise>(gated, "activation").read, Bytes(3 * 13824 * 2));
  EXPECT_EQ(first<Elementwise>(gated, "activation").written, Bytes(3 * 6912 * 2));
}

TEST(MoeOps, RouterExpertsAndSharedExperts) {
  ProgramOptions options;
  options.expert_skew = 1.2;
  const Architecture model = load_model("deepseek-v3");
  const Precision precision = native_precision(model);
  const Program p = forward_program(model, {8, 1, 1, 8}, precision, decode(64, 999), options);
  EXPECT_EQ(count(p, "router"), 58);
  EXPECT_EQ(first<Gemm>(p, "router").n, 256);
  EXPECT_EQ(first<Gemm>(p, "router").format, Format::kBf16);
  const auto experts = first<MoeExperts>(p, "moe_experts");
  EXPECT_EQ(experts.tokens, 64);
  EXPECT_EQ(experts.experts, 256);
  EXPECT_EQ(experts.top_k, 8);
  EXPECT_EQ(experts.intermediate, 2048);
  EXPECT_EQ(experts.tp, 1);
  EXPECT_EQ(experts.ep, 8);
  EXPECT_EQ(experts.skew, 1.2);
  EXPECT_EQ(experts.format, Format::kFp8Block);
  EXPECT_EQ(first<Gemm>(p, "shared_gate_up_proj").n, 2 * 2048 / 8);
  EXPECT_EQ(count(p, "gate_up_proj"), 3);  // the first layers are dense
  EXPECT_EQ(count(p, "tp_all_reduce"), 122);
  EXPECT_EQ(count(p, "moe_dispatch"), 0);
}

TEST(MoeOps, WideExpertParallelismSendsTokensBothWays) {
  const Architecture model = load_model("deepseek-v3");
  const Program p = forward_program(model, {1, 1, 8, 8}, native_precision(model), decode(64, 999));
  const auto dispatch = first<Collective>(p, "moe_dispatch"),
             combine = first<Collective>(p, "moe_combine");
  EXPECT_EQ(dispatch.kind, Collective::Kind::kAllToAll);
  EXPECT_EQ(dispatch.group, Collective::Group::kExpert);
  EXPECT_EQ(dispatch.ranks, 8);
  // 8 tokens of a rank, each to 8 ranks, in fp8 with a scale per 128; back in 16 bits.
  EXPECT_DOUBLE_EQ(dispatch.bytes.value(), 8 * 8 * 7168 * 1.03125);
  EXPECT_DOUBLE_EQ(combine.bytes.value(), 8 * 8 * 7168 * 2.0);
  EXPECT_EQ(count(p, "moe_combine"), 58);
  EXPECT_EQ(count(p, "tp_all_reduce"), 0);
}

TEST(MoeOps, TensorRanksShareTheSendingOfTheirTokens) {
  const Program p = forward_program(load_model("mixtral-8x7b"), {4, 1, 2, 8}, {}, decode(64, 999));
  // 32 tokens of the group, 4 ranks send a quarter each, to 2 experts.
  EXPECT_DOUBLE_EQ(first<Collective>(p, "moe_dispatch").bytes.value(), 32 / 4.0 * 2 * 4096 * 2);
  EXPECT_EQ(count(p, "tp_all_reduce"), 64);
}

TEST(MoeOps, FewExpertGroupsGatherAllTokens) {
  const Program p = forward_program(load_model("mixtral-8x7b"), {1, 1, 4, 1}, {}, decode(64, 999));
  const auto gather = first<Collective>(p, "moe_dispatch"),
             scatter = first<Collective>(p, "moe_combine");
  EXPECT_EQ(gather.kind, Collective::Kind::kAllGather);
  EXPECT_EQ(gather.group, Collective::Group::kData);
  EXPECT_EQ(gather.ranks, 4);
  EXPECT_EQ(gather.bytes, Bytes(64.0 * 4096 * 2));
  EXPECT_EQ(scatter.kind, Collective::Kind::kReduceScatter);
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").tp, 4);
}

TEST(MoeOps, PaddingOfEveryGroupReachesTheExperts) {
  ProgramOptions options;
  options.padding = 3;
  const Program p =
      forward_program(load_model("mixtral-8x7b"), {1, 1, 4, 4}, {}, decode(20, 999), options);
  EXPECT_EQ(p.tokens, 8);
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").tokens, 32);
}

TEST(MoeOps, ASharedGateIsAProductOfWidthOne) {
  const Program p = forward_program(load_model("qwen1.5-moe-a2.7b"), {}, {}, decode(20, 999));
  EXPECT_EQ(first<Gemm>(p, "shared_gate").n, 1);
  EXPECT_EQ(count(p, "shared_gate"), 24);
}

TEST(MoeOps, AnFp32RouterMayRunInTf32) {
  Precision p;
  const Architecture m = load_model("minimax-m2");
  EXPECT_EQ(first<Gemm>(forward_program(m, {}, p, decode(20, 999)), "router").format,
            Format::kFp32);
  p.fp32_products = Format::kTf32;
  EXPECT_EQ(first<Gemm>(forward_program(m, {}, p, decode(20, 999)), "router").format,
            Format::kTf32);
}

// 64 ranks, one token each: 8 messages of 7168 values in fp8, back in 16 bits.
TEST(MoeOps, WideGroupsMoveTokensByDeepEp) {
  const Architecture model = load_model("deepseek-v3");
  const Precision precision = native_precision(model);
  ProgramOptions options;
  options.expert_skew = 1.01;
  const ParallelPlan plan{.dp = 64, .ep = 64};
  const Program p = forward_program(model, plan, precision, decode(64, 999), options);
  const ExpertMove dispatch = all(p, "moe_dispatch").at(0).move.value(),
                   combine = all(p, "moe_combine").at(0).move.value();
  EXPECT_TRUE(dispatch.low_latency && dispatch.narrow && !dispatch.combine);
  EXPECT_TRUE(combine.low_latency && combine.combine);
  EXPECT_EQ(dispatch.tokens, 1);
  EXPECT_EQ(dispatch.hidden, 7168);
  EXPECT_EQ(dispatch.top_k, 8);
  EXPECT_EQ(dispatch.groups, 8);
  EXPECT_EQ(dispatch.top_groups, 4);
  EXPECT_EQ(dispatch.imbalance, expert_imbalance(64, 256, 8, 64, 1.01));
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").dispatched, MoeExperts::Dispatched::kDecode);
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").skew, 1.01);
  const Program prompt = forward_program(model, plan, precision, prefill(64, 512), options);
  EXPECT_FALSE(all(prompt, "moe_dispatch").at(0).move->low_latency);
  EXPECT_EQ(all(prompt, "moe_dispatch").at(0).move->tokens, 512);
  EXPECT_EQ(first<MoeExperts>(prompt, "moe_experts").dispatched, MoeExperts::Dispatched::kPrefill);
}

TEST(MoeOps, TheUserChoosesTransportAndKernels) {
  const Architecture model = load_model("deepseek-v3");
  const Precision precision = native_precision(model);
  ParallelPlan wide{.dp = 64, .ep = 64}, narrow{.dp = 8, .ep = 8};
  wide.experts.transport = ExpertTransport::kCollectives;
  const Program plain = forward_program(model, wide, precision, decode(64, 999));
  EXPECT_FALSE(all(plain, "moe_dispatch").at(0).move);
  EXPECT_EQ(first<MoeExperts>(plain, "moe_experts").dispatched, MoeExperts::Dispatched::kNo);
  narrow.experts.transport = ExpertTransport::kDeepEp;
  narrow.experts.mode = DeepEpMode::kNormal;
  const Program normal = forward_program(model, narrow, precision, decode(64, 999));
  EXPECT_FALSE(all(normal, "moe_dispatch").at(0).move.value().low_latency);
}

// 288 copies on 72 ranks, of equal load: the busiest rank's load is in the number of tokens.
TEST(MoeOps, ALoadBalancerMakesCopiesOfEqualLoad) {
  const Architecture model = load_model("deepseek-v3");
  ProgramOptions options;
  options.expert_skew = 1.01;
  ParallelPlan plan{.dp = 72, .ep = 72};
  plan.experts.redundant = 32;
  const Program p =
      forward_program(model, plan, native_precision(model), decode(72 * 128, 999), options);
  const double load = eplb_imbalance(72 * 128, {256, 8, 1.01}, 32, 72);
  const auto experts = first<MoeExperts>(p, "moe_experts");
  EXPECT_EQ(experts.experts, 288);
  EXPECT_EQ(experts.skew, 0);
  EXPECT_EQ(experts.tokens, static_cast<std::int64_t>(std::ceil(72 * 128 * load)));
  EXPECT_EQ(all(p, "moe_combine").at(0).move.value().imbalance, load);
}

}  // namespace mlp_ops_test
}  // namespace orrery
