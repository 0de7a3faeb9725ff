#include "orrery/workload/inference/program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orrery/base/error.h"
#include "orrery/model/catalog/catalog.h"
#include "tests/refusal.h"
#include "tests/unit/workload/reading.h"

namespace orrery {
namespace program_test {

using namespace reading;

TEST(Program, DenseDecodeOnEightRanks) {
  const Architecture model = load_model("llama-3-70b");
  const Program p = forward_program(model, {8, 1, 1, 1}, {}, decode(64, 1023));
  EXPECT_EQ(p.tokens, 64);
  EXPECT_EQ(p.sequences, 64);
  EXPECT_EQ(p.layers, 80);

  const auto qkv = first<Gemm>(p, "qkv_proj");
  EXPECT_EQ(qkv.m, 64);
  EXPECT_EQ(qkv.n, 8 * 128 + 2 * 128);
  EXPECT_EQ(qkv.k, 8192);
  EXPECT_EQ(count(p, "qkv_proj"), 80);
  const auto attention = first<DecodeAttention>(p, "attn_decode");
  EXPECT_EQ(attention.batch, 64);
  EXPECT_EQ(attention.context, 1024);
  EXPECT_EQ(attention.heads, 8);
  EXPECT_EQ(attention.kv_heads, 1);
  EXPECT_EQ(first<Gemm>(p, "o_proj").k, 1024);
  EXPECT_EQ(first<Gemm>(p, "gate_up_proj").n, 2 * 3584);
  EXPECT_EQ(first<Gemm>(p, "down_proj").k, 3584);
  EXPECT_EQ(count(p, "add_norm"), 160);
  EXPECT_EQ(count(p, "norm"), 0);
  EXPECT_EQ(count(p, "final_norm"), 1);
  EXPECT_EQ(count(p, "qk_norm"), 0);
  EXPECT_EQ(count(p, "tp_all_reduce"), 160);
  EXPECT_EQ(first<Collective>(p, "tp_all_reduce").bytes, Bytes(64 * 8192 * 2));
  EXPECT_EQ(first<Collective>(p, "embedding_all_reduce").ranks, 8);
  EXPECT_EQ(first<Gemm>(p, "lm_head").n, 128256 / 8);
  EXPECT_EQ(first<Collective>(p, "logits_all_gather").bytes, Bytes(64.0 * 128256 * 2));
  EXPECT_TRUE(all(p, "rope").at(0).fusible);
  // rope: 8 + 1 heads of 128 turned, one value head of 128 copied, 16 bits in and out.
  EXPECT_EQ(first<Elementwise>(p, "rope").read, Bytes(64 * 10 * 128 * 2));
}

// GLM-4-9B has 2 key-value heads: on 8 ranks four of them hold the same one.
TEST(Program, RanksThatDivideACacheGatherQueriesAndSumOutputs) {
  const Architecture model = load_model("glm-4-9b");
  ParallelPlan plan{8};
  const Program whole = forward_program(model, plan, {}, decode(16, 8191));
  EXPECT_EQ(count(whole, "cp_query_all_gather"), 0);
  plan.cp = 4;
  const Program divided = forward_program(model, plan, {}, decode(16, 8191));
  const auto own = first<DecodeAttention>(whole, "attn_decode");
  const auto attention = first<DecodeAttention>(divided, "attn_decode");
  EXPECT_EQ(attention.heads, 4 * own.heads);
  EXPECT_EQ(attention.kv_heads, 1);
  EXPECT_DOUBLE_EQ(attention.context, (8192 + 3) / 4.0);
  const auto queries = first<Collective>(divided, "cp_query_all_gather");
  EXPECT_EQ(queries.ranks, 4);
  EXPECT_EQ(queries.group, Collective::Group::kContext);
  EXPECT_EQ(queries.bytes, Bytes(16 * 16 * 128 * 2));  // of 16 heads on 4 ranks
  EXPECT_EQ(first<Collective>(divided, "cp_lse_all_gather").bytes, Bytes(4 * 16 * 16 * 4));
  const auto outputs = first<Collective>(divided, "cp_output_reduce_scatter");
  EXPECT_EQ(outputs.kind, Collective::Kind::kReduceScatter);
  EXPECT_EQ(outputs.bytes, Bytes(16 * 16 * 128 * 2));
  EXPECT_EQ(count(divided, "cp_output_reduce_scatter"), 40);
  EXPECT_DOUBLE_EQ(weight_bytes(divided), weight_bytes(whole));
  // A prompt has them where tokens before it are cached.
  EXPECT_EQ(count(forward_program(model, plan, {}, prefill(1, 512)), "cp_query_all_gather"), 0);
  EXPECT_EQ(count(forward_program(model, plan, {}, prefill(1, 512, 512)), "cp_query_all_gather"),
            40);
}

TEST(Program, RanksThatDivideLatentsGatherThemForPrompts) {
  const Architecture model = load_model("deepseek-v2-lite");
  ParallelPlan plan{8};
  plan.cp = 8;
  const Program divided = forward_program(model, plan, {}, decode(4, 1000));
  const auto core = first<LatentAttentionCore>(divided, "attn_decode");
  EXPECT_EQ(core.heads, 16);
  EXPECT_DOUBLE_EQ(core.context, (1001 + 7) / 8.0);
  EXPECT_EQ(first<Collective>(divided, "cp_query_all_gather").bytes, Bytes(4 * 16 * 576 * 2));
  EXPECT_EQ(first<Collective>(divided, "cp_output_reduce_scatter").bytes, Bytes(4 * 16 * 512 * 2));
  const Program prompt = forward_program(model, plan, {}, prefill(2, 100, 300));
  EXPECT_EQ(first<Collective>(prompt, "cp_context_all_gather").bytes, Bytes(2 * 300 * 576 * 2));
  EXPECT_EQ(count(prompt, "cp_query_all_gather"), 0);
}

TEST(Program, OneRankHasNoCollectives) {
  const Program p = forward_program(load_model("llama-3-8b"), {}, {}, decode(1, 100));
  for (const ProgramOp& op : p.ops)
    EXPECT_FALSE(std::holds_alternative<Collective>(op.op)) << op.name;
}

TEST(Program, OnlySampledSequencesReachTheLmHead) {
  const Architecture model = load_model("llama-3-8b");
  Batch batch{{{2, 1000, 0, true}, {1, 512, 512, false}, {30, 1, 700, true}}};
  const Program p = forward_program(model, {}, {}, batch);
  EXPECT_EQ(p.tokens, 2000 + 512 + 30);
  EXPECT_EQ(p.sequences, 32);
  EXPECT_EQ(first<Gemm>(p, "lm_head").m, 32);
  EXPECT_EQ(all(p, "attn_prefill").size(), 2u);
  EXPECT_EQ(first<PrefillAttention>(p, "attn_prefill").new_tokens, 1000);
  batch.groups = {{1, 512, 0, false}};
  EXPECT_EQ(count(forward_program(model, {}, {}, batch), "lm_head"), 0);
}

TEST(Program, DecodingSequencesAreOneCallAtTheirMean) {
  const Batch batch{{{3, 1, 100, true}, {1, 1, 500, true}}};
  const Program p = forward_program(load_model("llama-3-8b"), {}, {}, batch);
  ASSERT_EQ(all(p, "attn_decode").size(), 1u);
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").batch, 4);
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").context, (3 * 101 + 501) / 4.0);
}

TEST(Program, PaddingIsComputedButNotAttendedOrSampled) {
  ProgramOptions options;
  options.padding = 6;
  const Program p =
      forward_program(load_model("llama-3-8b"), {2, 1, 1, 1}, {}, decode(10, 100), options);
  EXPECT_EQ(p.tokens, 16);
  EXPECT_EQ(p.sequences, 10);
  EXPECT_EQ(first<Gemm>(p, "qkv_proj").m, 16);
  EXPECT_EQ(first<Collective>(p, "tp_all_reduce").bytes, Bytes(16 * 4096 * 2));
  EXPECT_EQ(first<DecodeAttention>(p, "attn_decode").batch, 10);
  EXPECT_EQ(first<Gemm>(p, "lm_head").m, 10);
}

TEST(Program, StagesTogetherAreTheWhole) {
  const Architecture model = load_model("gemma-3-27b");  // 62 layers, windows in five of six
  const Batch batch = prefill(1, 3000);
  const Program whole = forward_program(model, {}, {}, batch);
  double flops_sum = 0, layers = 0, embeddings = 0, heads = 0;
  for (int stage = 0; stage < 4; ++stage) {
    ProgramOptions options;
    options.stage = stage;
    const Program part = forward_program(model, {1, 4, 1, 1}, {}, batch, options);
    flops_sum += total_flops(part);
    layers += part.layers;
    embeddings += count(part, "embedding");
    heads += count(part, "lm_head");
    EXPECT_EQ(first<Collective>(part, "pp_send").bytes, Bytes(3000.0 * 5376 * 2));
  }
  EXPECT_DOUBLE_EQ(flops_sum, total_flops(whole));
  EXPECT_EQ(layers, 62);
  EXPECT_EQ(embeddings, 1);
  EXPECT_EQ(heads, 1);
}

TEST(Program, TheSlowestStageIsTaken) {
  const Architecture model =
      load_model("llama-3-8b");  // 32 layers: 8 each, the LM head is on the last
  const Program even = forward_program(model, {1, 4, 1, 1}, {}, decode(8, 100));
  EXPECT_EQ(even.layers, 8);
  EXPECT_EQ(count(even, "lm_head"), 1);
  // 10, 11, 11 layers dealt as 11, 11, 10: of a long prompt the LM head is one row only.
  const Program odd = forward_program(model, {1, 3, 1, 1}, {}, prefill(1, 4096));
  EXPECT_EQ(odd.layers, 11);
  EXPECT_EQ(count(odd, "lm_head"), 0);
}

TEST(Program, AttentionDataParallelDealsSequences) {
  const Architecture model = load_model("deepseek-v3");
  const Program p = forward_program(model, {1, 1, 8, 8}, {}, decode(100, 1000));
  EXPECT_EQ(p.tokens, 13);  // the busiest of 8: 12.5 on average
  EXPECT_EQ(first<MoeExperts>(p, "moe_experts").tokens, 100);
  // Eight prompts in eight groups go to eight ranks, the longest to the first.
  Batch prompts;
  for (int i = 1; i <= 8; ++i) prompts.groups.push_back({1, 100 * i, 0, true});
  const Program q = forward_program(model, {1, 1, 8, 8}, {}, prompts);
  EXPECT_EQ(q.tokens, 800);
  EXPECT_EQ(q.sequences, 1);
}

TEST(Program, ParallelBlocksShareANormAndAnAllReduce) {
  const Program falcon = forward_program(load_model("falcon-40b"), {4, 1, 1, 1}, {}, decode(4, 10));
  EXPECT_EQ(count(falcon, "tp_all_reduce"), 60);
  EXPECT_EQ(count(falcon, "residual_add"), 60);
  const Program gptj = forward_program(load_model("gpt-j-6b"), {2, 1, 1, 1}, {}, decode(4, 10));
  EXPECT_EQ(count(gptj, "tp_all_reduce"), 28);
  EXPECT_EQ(count(gptj, "add_norm"), 28);
  EXPECT_EQ(count(gptj, "norm"), 0);
}

TEST(Program, MiniMaxRoutesInSinglePrecision) {
  const Program p = forward_program(load_model("minimax-m2.5"), {}, {}, decode(16, 10));
  EXPECT_EQ(first<Gemm>(p, "router").format, Format::kFp32);
  EXPECT_EQ(count(p, "qk_norm_sum"), 0);  // nothing to exchange on one GPU
  const Program q = forward_program(load_model("qwen3-30b-a3b"), {}, {}, decode(16, 10));
  EXPECT_EQ(first<Gemm>(q, "router").format, Format::kBf16);
}

TEST(Program, Gemma3NormsAroundEveryBlock) {
  const Program p = forward_program(load_model("gemma-3-27b"), {}, {}, decode(1, 10));
  EXPECT_EQ(count(p, "add_norm"), 124);
  EXPECT_EQ(count(p, "norm"), 124);
  EXPECT_EQ(count(p, "qk_norm"), 62);
}

TEST(Program, EncodersSeeBothWaysAndDoNotSample) {
  const Architecture model = load_model("bert-large");
  const Program p = forward_program(model, {}, {}, prefill(4, 384));
  EXPECT_FALSE(first<PrefillAttention>(p, "attn_prefill").causal);
  EXPECT_EQ(count(p, "sample"), 0);
  EXPECT_EQ(count(p, "lm_head"), 0);
  EXPECT_EQ(count(p, "kv_write"), 0);
  EXPECT_EQ(count(p, "position_embedding"), 1);
  EXPECT_EQ(count(p, "embedding_norm"), 1);
  EXPECT_THROW(forward_program(model, {}, {}, decode(1, 10)), InputError);
}

TEST(Program, QuantisationIsAnOpOnlyWhereTheProductLeavesItOut) {
  Precision precision;
  precision.weights = Format::kInt8;
  const Program int8 = forward_program(load_model("llama-3-8b"), {}, precision, decode(8, 10));
  for (const char* name : {"qkv_quantise", "o_quantise", "mlp_quantise", "down_quantise"}) {
    EXPECT_EQ(count(int8, name), 32) << name;
  }
  EXPECT_EQ(first<Elementwise>(int8, "down_quantise").read, Bytes(8 * 14336 * 2));
  EXPECT_EQ(first<Elementwise>(int8, "down_quantise").written, Bytes(8 * 14336));
  EXPECT_EQ(first<Gemm>(int8, "lm_head").format, Format::kBf16);
  precision.weights = Format::kFp8;
  EXPECT_EQ(count(forward_program(load_model("llama-3-8b"), {}, precision, decode(8, 10)),
                  "qkv_quantise"),
            0);
}

TEST(Program, RefusesBatchesThatMeanNothing) {
  const Architecture model = load_model("llama-3-8b");
  const auto run = [&](SequenceGroup g) { forward_program(model, {}, {}, Batch{{g}}); };
  EXPECT_THROW(forward_program(model, {}, {}, Batch{}), InputError);
  EXPECT_THROW(run({0, 1, 10, true}), InputError);
  EXPECT_THROW(run({-1, 1, 10, true}), InputError);
  EXPECT_THROW(run({1, 0, 10, true}), InputError);
  EXPECT_THROW(run({1, 1, -1, true}), InputError);
  EXPECT_THROW(run({1, 1, std::numeric_limits<double>::quiet_NaN(), true}), InputError);
  EXPECT_THROW(run({1, 1, std::numeric_limits<double>::infinity(), true}), InputError);
  EXPECT_THROW(run({std::numeric_limits<std::int64_t>::max(), 2, 0, true}), InputError);
  EXPECT_THROW(forward_program(model, {3, 1, 1, 1}, {}, decode(1, 10)), Infeasible);
  ProgramOptions options;
  options.stage = 1;
  EXPECT_THROW(forward_program(model, {}, {}, decode(1, 10), options), InputError);
}

// A model without one is refused by name.
TEST(Program, EveryBundledModelHasOne) {
  ASSERT_GT(model_ids().size(), 60u);
  for (const std::string& id : model_ids()) {
    const Architecture model = load_model(id);
    if (model.kind == Kind::kEncoderDecoder) continue;
    const std::string refusal = refusal_of<NoData>(
        [&] { forward_program(model, {}, native_precision(model), prefill(1, 100)); });
    if (!refusal.empty()) {
      EXPECT_TRUE(refusal.starts_with(id)) << refusal;
      continue;
    }
    const bool encoder = model.kind == Kind::kEncoder;
    for (const Batch& batch :
         {encoder ? prefill(1, 100) : decode(4, 5000), prefill(2, 300, encoder ? 0 : 200)}) {
      const Program p = forward_program(model, {}, native_precision(model), batch);
      EXPECT_EQ(p.layers, model.layers.size()) << id;
      for (const ProgramOp& op : p.ops) {
        EXPECT_TRUE(std::isfinite(flops(op.op).value()) && flops(op.op).value() >= 0)
            << id << ' ' << op.name;
        const double moved = bytes(op.op).value();
        EXPECT_TRUE(std::isfinite(moved) && moved > 0)
            << id << ' ' << op.name << ' ' << describe(op.op);
        EXPECT_GT(op.count, 0) << id << ' ' << op.name;
      }
    }
  }
}

}  // namespace program_test
}  // namespace orrery
