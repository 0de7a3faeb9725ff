// Blocks of sparse attention: the rows of their table, and which surfaces serve them.
#include <gtest/gtest.h>

#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tables/kernel_tables.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/inference/program.h"

namespace orrery {
namespace sparse_attention_test {

using Block = SparseAttentionBlock;

// The block of a layer of a bundled model, as a step of it has it.
Block of_model(const char* id, int layer, int tp, const Batch& batch) {
  Architecture model = load_model(id);
  const LayerSpec spec = model.layers.at(layer);
  model.layers = {};
  model.layers.append(spec);
  const Program p = forward_program(model, {tp, 1, 1, 1}, native_precision(model), batch);
  for (const ProgramOp& op : p.ops) {
    if (const auto* b = std::get_if<Block>(&op.op)) return *b;
  }
  ADD_FAILURE() << id << " has no block in layer " << layer;
  return {};
}

Block of_row(const std::string& row) {
  const std::string text =
      "system,framework,version,kernel_source,table,model,phase,mla_dtype,kv_dtype,gemm_type,heads,"
      "batch,isl,past,compress_ratio,latency_us\nh200_sxm,vllm,0.24.0,x," +
      row + "\n";
  CsvReader csv(text, "sparse_attention_module.csv");
  KernelSample s;
  EXPECT_TRUE(csv.next());
  EXPECT_TRUE(sparse_attention_tables().read(csv, "sparse_attention_module", s));
  return std::get<Block>(s.op);
}

void expect_same(const Block& a, const Block& b) {
  EXPECT_EQ(flops(a), flops(b));
  EXPECT_EQ(bytes(a), bytes(b));
  EXPECT_EQ(describe(a), describe(b));
}

// The sizes that the table leaves out are those of the models.
TEST(SparseAttention, RowsAreBlocksOfTheirModels) {
  const Batch decode{{{8, 1, 5000, true}}}, prefill{{{2, 300, 700, true}}};
  expect_same(of_row("dsv4_csa_generation_module,sgl-project/DeepSeek-V4-Flash-FP8,decode,bfloat16,"
                     "fp8,fp8_block,16,8,1,5000,4,100"),
              of_model("deepseek-v4-flash", 2, 4, decode));
  expect_same(of_row("dsv4_hca_context_module,deepseek-ai/DeepSeek-V4-Pro,prefill,bfloat16,fp8,"
                     "fp8_block,32,2,300,700,128,100"),
              of_model("deepseek-v4-pro", 3, 4, prefill));
  expect_same(of_row("msa_generation_module,MiniMaxAI/MiniMax-M3,decode,bfloat16,bfloat16,bfloat16,"
                     "32,8,1,5000,,100"),
              of_model("minimax-m3", 3, 2, decode));
}

TEST(SparseAttention, SweepsServeTheirFrameworksAndGpus) {
  const Block decode = of_model("deepseek-v4-flash", 2, 4, Batch{{{8, 1, 5000, true}}});
  const auto origin = [&](const char* gpu, const char* framework) {
    KernelClasses classes;
    classes.sparse_attention = framework;
    return make_kernel_model(Catalog().gpu(gpu), classes, Bundle())->predict(decode).time.origin;
  };
  EXPECT_EQ(origin("h200-sxm", "vllm"), Origin::kMeasured);
  EXPECT_EQ(origin("b200-sxm", "sglang"), Origin::kMeasured);
  EXPECT_EQ(origin("h200-sxm", "trtllm"), Origin::kTransferred);  // swept on Blackwell alone
  EXPECT_EQ(origin("mi300x", "vllm"), Origin::kAnalytical);
}

TEST(SparseAttention, IsNeverFasterThanTheRoofline) {
  const Gpu gpu = Catalog().gpu("h200-sxm");
  for (const char* framework : {"vllm", "sglang", "trtllm"}) {
    KernelClasses classes;
    classes.sparse_attention = framework;
    const auto model = make_kernel_model(gpu, classes, Bundle());
    for (const int layer : {0, 2, 3}) {
      for (const std::int64_t sequences : {1, 64, 512}) {
        for (const double past : {100.0, 10'000.0, 1'000'000.0}) {
          const Op op =
              of_model("deepseek-v4-flash", layer, 8, Batch{{{sequences, 1, past, true}}});
          const KernelTime t = model->predict(op);
          EXPECT_GE(t.time.value, bytes(op) / gpu.memory.bandwidth) << describe(op);
        }
      }
    }
  }
}

}  // namespace sparse_attention_test
}  // namespace orrery
