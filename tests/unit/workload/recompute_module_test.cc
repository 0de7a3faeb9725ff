// Selective recomputation by modules: which ops of the forward pass run again.
#include "orrery/workload/plan/recompute_module.h"

#include <gtest/gtest.h>

#include <set>

#include "orrery/model/catalog/catalog.h"
#include "orrery/workload/training/training_program.h"
#include "tests/refusal.h"

namespace orrery {
namespace recompute_module_test {

using Module = RecomputeModule;

TrainingJob with(std::vector<Module> modules) {
  TrainingJob j;
  j.recompute = Recompute::kSelective;
  j.recompute_modules = std::move(modules);
  return j;
}

// FLOPs and bytes of the ops of a pass, the bytes of those that stacks do not fuse away, and names.
struct Work {
  double flops = 0, bytes = 0, unfused_bytes = 0;
  std::set<std::string_view> names;
};
Work run_of(const Architecture& model, const TrainingJob& job, TrainingPass pass,
            const std::set<std::string_view>& only = {}) {
  Work run;
  for (const TrainingOp& op : training_ops(model, job, 0)) {
    if (op.pass != pass || (!only.empty() && !only.contains(op.name))) continue;
    run.flops += op.count * flops(op.op).value();
    run.bytes += op.count * bytes(op.op).value();
    if (!op.fusible) run.unfused_bytes += op.count * bytes(op.op).value();
    run.names.insert(op.name);
  }
  return run;
}
Work again(const Architecture& model, const TrainingJob& job) {
  return run_of(model, job, TrainingPass::kRecompute);
}

// Each module repeats its own ops, as often and as large as in the forward pass.
TEST(RecomputeModules, EachRepeatsItsOwnOps) {
  const Architecture v3 = load_model("deepseek-v3", Bundle());
  const auto same = [&](std::vector<Module> modules, const std::set<std::string_view>& names) {
    const TrainingJob job = with(std::move(modules));
    const Work repeated = again(v3, job), first = run_of(v3, job, TrainingPass::kForward, names);
    EXPECT_EQ(repeated.names, names);
    EXPECT_DOUBLE_EQ(repeated.flops, first.flops);
    EXPECT_DOUBLE_EQ(repeated.bytes, first.bytes);
  };
  same({Module::kCoreAttention}, {"attn_prefill"});
  same({}, {"attn_prefill"});  // Megatron's default
  same({Module::kMlp}, {"gate_up_proj", "activation", "down_proj"});
  same({Module::kMlaUpProj}, {"q_b_proj", "kv_b_proj", "rope"});
  same({Module::kMoe}, {"router", "moe_router", "moe_permute", "moe_experts", "shared_gate_up_proj",
                        "shared_activation", "shared_down_proj", "shared_add"});
  same({Module::kMlp, Module::kCoreAttention},
       {"gate_up_proj", "activation", "down_proj", "attn_prefill"});
}

// The activation between the products of experts reads two halves and writes one: of 61 - 3 layers
// with 8 experts a token, each 2048 wide, in 16 bits. With moe it is repeated once.
TEST(RecomputeModules, TheActivationOfExperts) {
  const Architecture v3 = load_model("deepseek-v3", Bundle());
  const Work act = again(v3, with({Module::kMoeActivation}));
  EXPECT_NEAR(act.unfused_bytes, 58.0 * 2048 * 8 * 3 * 2048 * 2, 1e-6 * act.bytes);
  const Work both = again(v3, with({Module::kMoe, Module::kMoeActivation}));
  EXPECT_DOUBLE_EQ(both.bytes, again(v3, with({Module::kMoe})).bytes);
}

// gpt-oss clamps the two halves before the activation. The clamps are of it, and the biases of the
// second product are not.
TEST(RecomputeModules, TheActivationOfExpertsHasItsClamps) {
  const Architecture oss = load_model("gpt-oss-120b", Bundle());
  const TrainingJob job = with({Module::kMoeActivation});
  EXPECT_DOUBLE_EQ(run_of(oss, job, TrainingPass::kRecompute, {"moe_clamp"}).bytes,
                   run_of(oss, job, TrainingPass::kForward, {"moe_clamp"}).bytes);
  EXPECT_FALSE(again(oss, job).names.contains("moe_bias"));
  const Work both = again(oss, with({Module::kMoe, Module::kMoeActivation}));
  EXPECT_DOUBLE_EQ(both.bytes, again(oss, with({Module::kMoe})).bytes);
}

// A norm reads a row and writes one: 32 layers of two, of 2048 tokens 4096 wide in 16 bits.
TEST(RecomputeModules, NormsAloneWithoutTheResidual) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  const Work norms = again(llama, with({Module::kLayerNorm}));
  EXPECT_NEAR(norms.unfused_bytes, 32 * 2 * 2.0 * 2048 * 4096 * 2, 0.001 * norms.unfused_bytes);
}

// An MLP that runs again under tensor parallelism reduces its output again, which is half of the
// collectives of a layer; with sequence parallelism it also gathers its input.
TEST(RecomputeModules, TheMlpsOwnCollectives) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  for (const bool sequence_parallel : {false, true}) {
    TrainingJob job = with({Module::kMlp});
    job.plan.tp = 8, job.plan.sequence_parallel = sequence_parallel;
    const auto calls = [&](TrainingPass pass) {
      double count = 0;
      for (const TrainingOp& op : training_ops(llama, job, 0))
        if (op.pass == pass && op.name == "tp_all_reduce") count += op.count;
      return count;
    };
    EXPECT_EQ(calls(TrainingPass::kForward), 32 * 2 * (sequence_parallel ? 2 : 1));
    EXPECT_EQ(calls(TrainingPass::kRecompute), 32 * (sequence_parallel ? 2 : 1));
  }
}

// torchtitan's selective checkpointing: every second product again, and all that is elementwise.
TEST(RecomputeModules, EverySecondProduct) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  const std::set<std::string_view> names = {"qkv_proj", "o_proj", "gate_up_proj", "down_proj"};
  const TrainingJob job = with({Module::kProducts});
  EXPECT_DOUBLE_EQ(2 * again(llama, job).flops,
                   run_of(llama, job, TrainingPass::kForward, names).flops);
  EXPECT_TRUE(again(llama, job).names.contains("add_norm"));
  EXPECT_FALSE(again(llama, job).names.contains("attn_prefill"));
  EXPECT_THROW(check_job(llama, with({Module::kProducts, Module::kMlp})), InputError);
}

// Bytes that eager PyTorch moves beyond fused kernels, of a token of a layer in 16 bits: RMS
// norms of 4096 (forward 20 + 16 in place of 2 + 2 and the sum once more, backward 46 + 30 in place
// of 4 + 2), a rotation (10 + 10 in place of 2 + 2, both ways), and a gated activation of 14336.
TEST(EagerKernels, BytesOfALlamaLayer) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  TrainingJob job;
  const auto fusible = [&](TrainingPass pass, std::string_view name) {
    double sum = 0;
    for (const TrainingOp& op : training_ops(llama, job, 0))
      if (op.fusible && op.pass == pass && op.name == name && op.cost == TrainingCost::kElementwise)
        sum += op.count * bytes(op.op).value();
    return sum / (32 * 2048);
  };
  using P = TrainingPass;
  EXPECT_NEAR(fusible(P::kForward, "add_norm"), 2 * 4096 * (36 - 4 + 2), 10);
  EXPECT_NEAR(fusible(P::kBackwardInput, "add_norm"), 2 * 4096 * (76 - 6), 10);
  // The rotation itself is fusible too: 6144 wide with the values, which the op copies.
  EXPECT_NEAR(fusible(P::kForward, "rope"), 6144 * 20, 10);
  EXPECT_NEAR(fusible(P::kBackwardInput, "rope"), 6144 * 20, 10);
  // silu and product move 10 in place of 6; their gradients 18 in place of 10.
  EXPECT_NEAR(fusible(P::kForward, "activation"), 14336 * 4, 10);
  EXPECT_NEAR(fusible(P::kBackwardInput, "activation"), 14336 * 8, 10);
}

TEST(RecomputeModules, RefusesModulesThatAModelLacks) {
  const Architecture llama = load_model("llama-3-8b", Bundle());
  for (const Module m : {Module::kMoe, Module::kMoeActivation, Module::kMlaUpProj})
    EXPECT_NE(refusal_of<Infeasible>([&] { check_job(llama, with({m})); }).find("has none"),
              std::string::npos);
  TrainingJob full = with({Module::kMlp});
  full.recompute = Recompute::kFull;
  EXPECT_THROW(check_job(llama, full), InputError);
}

}  // namespace recompute_module_test
}  // namespace orrery
