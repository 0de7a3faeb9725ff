// Questions about training: a written question reads back equal, undeclared settings widen the
// interval, layouts of a sweep.
#include "orrery/scenario/kinds/training/training_question.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include <nlohmann/json.hpp>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace training_question_test {

Answer answer_of(const std::string& yaml) {
  static Runner runner{Bundle()};
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "test.yaml")));
}

double width(const Point& p, const char* metric) {
  const Metric* m = p.find(metric);
  return m->high90 / m->low90;
}

constexpr const char* kBare = "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8}}";

TEST(TrainingQuestion, WhatIsNotDeclaredWidensAndIsListed) {
  const Point bare = answer_of(kBare).points.at(0);
  const Point told =
      answer_of(
          "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, stack: megatron, "
          "stack_version: '25.09', recompute: none, zero: 1}}")
          .points.at(0);
  EXPECT_GT(width(bare, "iteration_time"), 1.05 * width(told, "iteration_time"));
  const auto listed = [](const Point& p) {
    for (const std::string& note : p.notes)
      if (note.find("not declared") != std::string::npos) return note;
    return std::string();
  };
  EXPECT_NE(listed(bare).find("stack megatron, recompute none, zero 1"), std::string::npos);
  EXPECT_EQ(listed(told), "");
}

// A release that is not declared is the fit's usual one, and any other's time is in the interval.
TEST(TrainingQuestion, TheStacksReleaseIsAnInput) {
  const auto asked = [](const std::string& version) {
    return answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, " +
                     version + "recompute: none, zero: 1}}")
        .points.at(0);
  };
  const Point open = asked("stack: megatron, "),
              old = asked("stack: megatron, stack_version: 2023-06, ");
  const Point late = asked("stack: megatron, stack_version: '26.04', ");
  const Metric* usual = open.find("iteration_time");
  EXPECT_NE(old.find("iteration_time")->value, late.find("iteration_time")->value);
  for (const Point* p : {&old, &late}) {
    EXPECT_GT(p->find("iteration_time")->value, usual->low90);
    EXPECT_LT(p->find("iteration_time")->value, usual->high90);
    EXPECT_LT(width(*p, "iteration_time"), width(open, "iteration_time"));
  }
  EXPECT_THROW(asked("stack: megatron, stack_version: newest, "), InputError);
  EXPECT_THROW(asked("stack_version: '25.09', "), InputError);  // of which stack?
}

TEST(TrainingQuestion, ResolvedDocumentAsksTheSame) {
  const ScenarioSweep s = read_scenario(all_kinds(), parse_yaml(kBare, "test.yaml"));
  const ScenarioSweep again =
      read_scenario(all_kinds(), parse_json(to_json(s).dump(), "resolved.json"));
  Runner runner{Bundle()};
  const auto first = to_json(runner.run(s).points.at(0), true);
  EXPECT_EQ(first.dump(), to_json(runner.run(again).points.at(0), true).dump());
}

TEST(TrainingQuestion, SweepsMarkWhatCannotBe) {
  const Answer a = answer_of(
      "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 16, tp: [1, 3, 16], pp: [1, "
      "5], global_batch: 32}}");
  ASSERT_EQ(a.points.size(), 6u);
  EXPECT_TRUE(a.points[0].find("iteration_time"));
  EXPECT_NE(a.points[1].feasibility.reason.find("16 GPUs do not divide by"), std::string::npos);
  EXPECT_NE(a.points[2].feasibility.reason.find("16 GPUs do not divide by tp 3"),
            std::string::npos);
}

// Three runs on a stack that takes 1.4 times as long correct the prediction of another layout.
TEST(TrainingQuestion, OwnRunsCarryOver) {
  const auto ask = [](const std::string& more) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {stack: fsdp, seq: "
               "4096, recompute: none, " +
               more + "}}")
        .points.at(0);
  };
  const auto time = [](const Point& p) { return p.find("iteration_time")->value; };
  const std::string file = ::testing::TempDir() + "orrery-own-runs.csv";
  std::ofstream runs(file);
  runs << "gpus,tensor-model-parallel-size,global_batch,iteration_time\n";
  for (const auto& [gpus, tp] : {std::pair{8, 1}, std::pair{16, 1}, std::pair{16, 2}}) {
    const Point p = ask(fmt::format("gpus: {}, tp: {}, global_batch: 32", gpus, tp));
    runs << gpus << "," << tp << ",32," << 1.4 * time(p) << "\n";
  }
  runs.close();
  // More of the same GPUs; and a layout of which three runs say less.
  const auto change = [&](const std::string& layout) {
    return time(ask(layout + ", own_runs: " + file)) / time(ask(layout));
  };
  EXPECT_NEAR(change("gpus: 32, tp: 2, global_batch: 64"), 1.4, 0.07);
  EXPECT_GT(change("gpus: 64, tp: 8, pp: 2, global_batch: 64"), 1.02);
  EXPECT_LT(change("gpus: 64, tp: 8, pp: 2, global_batch: 64"), 1.45);
  const Point after = ask("gpus: 8, own_runs: " + file);
  EXPECT_NE(after.notes[after.notes.size() - 2].find("3 own runs"), std::string::npos);

  const auto refusal = [&](const std::string& text) -> std::string {
    std::ofstream(file) << text;
    return refusal_of([&] { ask("gpus: 8, own_runs: " + file); });
  };
  EXPECT_NE(refusal("gpus,tp\n8,1\n").find("no column iteration_time"), std::string::npos);
  EXPECT_NE(refusal("gpus,tpp,iteration_time\n8,1,2\n").find(":2: tpp: unknown key"),
            std::string::npos);
  EXPECT_NE(refusal("gpus,iteration_time\n").find("no run"), std::string::npos);
  EXPECT_NE(refusal("gpus,iteration_time\n8,-1\n").find("must be above 0"), std::string::npos);
  EXPECT_NE(refusal("gpus,tp,iteration_time\n8,3,1\n").find(":2: 8 GPUs do not divide by tp 3"),
            std::string::npos);
  EXPECT_NE(refusal("gpus,iteration_time\n\"8,16\",1\n").find(":2: gpus: expected one number"),
            std::string::npos);
}

// An evaluation has only forward passes and takes less than half of as many iterations. The cost of
// the run includes it.
TEST(TrainingQuestion, EvaluationsAndPrice) {
  const auto ask = [](const std::string& more) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {stack: fsdp, gpus: "
               "8, global_batch: 64, tokens: 1e10" +
               more + "}}")
        .points.at(0);
  };
  const auto value = [](const Point& p, const char* name) { return p.find(name)->value; };
  const Point plain = ask("");
  const Point run = ask(", eval_interval: 100, eval_iterations: 20}, cost: {price: 2.5");
  const double iteration = value(run, "iteration_time"), evaluation = value(run, "evaluation");
  EXPECT_GT(evaluation, 20 * 0.25 * iteration);
  EXPECT_LT(evaluation, 20 * 0.40 * iteration);
  // 1e10 tokens are 76,294 steps: 762 evaluations.
  EXPECT_NEAR(3600 * (value(run, "time_to_train") - value(plain, "time_to_train")),
              762 * evaluation, 1);
  EXPECT_NEAR(value(run, "cost"), 2.5 * value(run, "gpu_hours"), 1e-6 * value(run, "cost"));
  EXPECT_EQ(plain.find("cost"), nullptr);
  const Point no_run = answer_of(
                           "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, "
                           "global_batch: 64}, cost: {price: 2}}")
                           .points.at(0);
  EXPECT_EQ(value(no_run, "cost_per_hour"), 16);
  EXPECT_EQ(no_run.find("cost"), nullptr);
}

// Failures lengthen the run, and its GPUs are paid for meanwhile: the time, the hours and the cost
// are all means with failures.
TEST(TrainingQuestion, FailuresAreInTheTimeAndTheCost) {
  const auto ask = [](const std::string& chance) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {stack: fsdp, gpus: "
               "64, global_batch: 64, tokens: 1e11}, cost: {price: 2}" +
               chance + "}")
        .points.at(0);
  };
  const auto value = [](const Point& p, const char* name) { return p.find(name)->value; };
  const Point sound = ask("");
  const Point failing =
      ask(", chance: {failures_per_gpu_day: 0.05, checkpoint_write: 60s, checkpoint_interval: 1h, "
          "restart: 10min}");
  // 3.2 failures a day: each costs 10 minutes and on average half of a segment of 61 minutes, and
  // each hour of work a minute of writing.
  const double rate = 64 * 0.05 / 24;  // an hour
  const double more = std::exp(rate / 6) * std::expm1(rate * 61 / 60) / rate;
  EXPECT_NEAR(value(failing, "time_to_train"), more * value(sound, "time_to_train"),
              0.02 * value(failing, "time_to_train"));
  for (const Point* p : {&sound, &failing}) {
    EXPECT_NEAR(value(*p, "gpu_hours"), 64 * value(*p, "time_to_train"), 1e-6);
    EXPECT_NEAR(value(*p, "cost"), 2 * value(*p, "gpu_hours"), 1e-6);
  }
  EXPECT_GT(value(failing, "time_to_train"), value(failing, "time_to_train_p5"));
  EXPECT_LT(value(failing, "time_to_train"), value(failing, "time_to_train_p95"));
}

// Metrics of a layer are of a stage that has one, although the first stage has none. (The lower
// bound of elementwise factors is of all such work of a stage: the embedding's differs by 1e-4.)
TEST(TrainingQuestion, ALayerOfASplitWithoutLayersOnTheFirstStage) {
  const auto ask = [](const std::string& split) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {stack: megatron, gpus: "
               "4, pp: 4, global_batch: 8" +
               split + "}}")
        .points.at(0);
  };
  const Point even = ask(""), uneven = ask(", split: [0, 10, 11, 11]");
  for (const char* name : {"layer", "attention_block", "mlp_block", "layer_flops"})
    EXPECT_NEAR(uneven.find(name)->value, even.find(name)->value, 1e-3 * even.find(name)->value)
        << name;
}

// torchtitan publishes what torch.compile gains for Llama 3 8B on 8 and on 128 H100
// (benchmarks/llama3_h100_202412_torchtitan.md, tables 1 and 2: 5,762 to 6,667 and 5,605 to 6,514
// tokens/s of a GPU).
TEST(TrainingQuestion, CompiledGainsWhatTorchtitanPublishes) {
  for (const auto& [gpus, gain] : {std::pair{8, 6667.0 / 5762}, std::pair{128, 6514.0 / 5605}}) {
    const auto rate = [gpus = gpus](bool compiled) {
      return answer_of(
                 fmt::format("{{model: llama-3-8b, hardware: {{gpu: h100-sxm}}, training: {{gpus: "
                             "{}, stack: fsdp, seq: 8192, micro_batch: 2, global_batch: {}, "
                             "recompute: selective, compiled: {}}}}}",
                             gpus, 2 * gpus, compiled))
          .points.at(0)
          .find("throughput_per_gpu")
          ->value;
    };
    EXPECT_NEAR(rate(true) / rate(false), gain, 0.05) << gpus;
  }
}

// Slices of Llama 3 8B with PyTorch 2.11 on one H100 (catalog/measured/h100-sxm-2026-11-26,
// training: six layers minus two, no recomputation, 8,192 tokens): a layer takes 22.3 ms eager and
// 21.6 compiled. torch.compile gains less than with the releases above, whose norms are several
// kernels.
TEST(TrainingQuestion, NewerReleasesOfTorchLeaveLessToCompile) {
  const auto metric_of = [](const char* metric, const char* keys) {
    return answer_of(
               fmt::format("{{model: llama-3-8b, hardware: {{gpu: h100-sxm}}, training: "
                           "{{gpus: 1, stack: fsdp, zero: 0, seq: 8192, recompute: none, {}}}}}",
                           keys))
        .points.at(0)
        .find(metric)
        ->value;
  };
  const auto layer = [&](const char* keys) { return metric_of("layer", keys); };
  const double eager = layer("torch: '2.11'"), compiled = layer("torch: '2.11', compiled: true");
  EXPECT_NEAR(eager / compiled, 22.3 / 21.6, 0.05);
  EXPECT_GT(layer("torch: '2.8', attention: cudnn"), 1.05 * eager);  // norms of several kernels
  EXPECT_DOUBLE_EQ(layer("torch: '2.8', attention: cudnn, compiled: true"), compiled);
  EXPECT_DOUBLE_EQ(layer("torch: '2.11', attention: cudnn"), eager);  // PyTorch's own choice
  // A layer's attention takes 1.2 ms forward and 3.1 backward by cuDNN; FlashAttention-2 takes 1.86
  // and 1.77 times as long.
  EXPECT_NEAR(metric_of("attention_core", "torch: '2.11', attention: flash2") /
                  metric_of("attention_core", "torch: '2.11'"),
              (1.2 * 1.86 + 3.1 * 1.77) / 4.3, 0.04);
}

TEST(TrainingQuestion, TheReleaseOfTorchIsInTheIntervalUnlessItIsStated) {
  const auto ask = [](const char* keys) {
    return answer_of(
               fmt::format("{{model: llama-3-8b, hardware: {{gpu: h100-sxm}}, training: "
                           "{{gpus: 8, stack: fsdp, zero: 3, recompute: none, seq: 8192{}}}}}",
                           keys))
        .points.at(0);
  };
  const Point open = ask(", compiled: true"), stated = ask(", compiled: true, torch: '2.5'");
  EXPECT_EQ(open.find("iteration_time")->value, stated.find("iteration_time")->value);
  EXPECT_GT(width(open, "iteration_time"), width(stated, "iteration_time"));
  EXPECT_NE(refusal_of<InputError>([&] { ask(", torch: newest"); }).find("release of PyTorch"),
            std::string::npos);
}

// Megatron Bridge publishes Qwen3 30B on eight GB300, micro-batches of eight sequences with the
// exchange of experts overlapped. A pair of passes runs layer by layer, so that it holds one
// micro-batch and a layer.
TEST(TrainingQuestion, PairsOfMicroBatchesFitAsPublished) {
  const Point p =
      answer_of(
          "{model: qwen3-30b-a3b, hardware: {gpu: gb300}, training: {gpus: 8, ep: 8, etp: 1, "
          "micro_batch: 8, global_batch: 512, seq: 4096, compute: fp8, fp8_recipe: mx, gradients: "
          "bf16, fused_cross_entropy: true, stack: megatron, stack_version: '26.08', zero: 1, "
          "recompute: none, dispatcher: flex, ep_overlap: true, fused_experts: true}}")
          .points.at(0);
  EXPECT_TRUE(p.feasibility.fits) << p.feasibility.reason;
}

// A verdict that a job does not fit says how sure it is; what is offloaded must fit the hosts.
TEST(TrainingQuestion, VerdictsCarryTheirChanceAndHostsHaveALimit) {
  const auto ask = [](const std::string& more) {
    return answer_of(
               "{model: llama-3-70b, hardware: {gpu: h100-sxm}, training: {gpus: 8, stack: "
               "deepspeed, recompute: full, " +
               more + "}}")
        .points.at(0);
  };
  const Point small = ask("zero: 3");
  EXPECT_FALSE(small.feasibility.fits);
  EXPECT_NE(small.feasibility.reason.find("chance that it fits"), std::string::npos);
  EXPECT_EQ(small.find("host_memory"), nullptr);
  // 12 bytes of states and 4 of a gradient for each of 70.6 G parameters: 1.13 TB of the 2 TiB of a
  // node with eight GPUs. Without sharding each rank's host share holds all of them.
  const Point moved = ask("zero: 3, offload_optimizer: true");
  EXPECT_NEAR(moved.find("host_memory")->value, 1130, 15);
  const Point copies = ask("zero: 0, offload_optimizer: true");
  EXPECT_FALSE(copies.feasibility.fits);
  const Point activations =
      answer_of(
          "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, stack: fsdp, "
          "seq: 1048576, recompute: none, offload_activations: true}}")
          .points.at(0);
  EXPECT_FALSE(activations.feasibility.fits);
}

// Without a rate of its own, a question of chance has the failures of Llama 3 405B.
TEST(TrainingQuestion, FailuresAreThoseOfLlama3UnlessTold) {
  const auto failures = [](const std::string& rate) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 64, stack: fsdp, "
               "global_batch: 64, tokens: 1e12}, chance: {restart: 5min" +
               rate + "}}")
        .points.at(0);
  };
  const Point usual = failures("");
  const double days = usual.find("time_to_train")->value / 24;
  EXPECT_NEAR(usual.find("failures")->value, 64 * days * 419 / (16384 * 54.0), 0.01);
  EXPECT_EQ(failures(", failures_per_gpu_day: 0").find("failures"), nullptr);
}

// A run is as long in tokens, in sequences and in steps.
TEST(TrainingQuestion, LengthOfARun) {
  const auto hours = [](const std::string& run) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {stack: fsdp, gpus: "
               "8, seq: 4096, global_batch: 64, " +
               run + "}}")
        .points.at(0)
        .find("time_to_train")
        ->value;
  };
  EXPECT_DOUBLE_EQ(hours("iterations: 1000"), hours("samples: 64000"));
  EXPECT_DOUBLE_EQ(hours("train_iters: 1000"), hours("tokens: 262144000"));
  // A step that is begun is ended.
  EXPECT_DOUBLE_EQ(hours("samples: 63990"), hours("samples: 64000"));
  EXPECT_THROW(hours("iterations: 10, samples: 640"), InputError);
}

// No interval of a share of the peak passes it.
TEST(TrainingQuestion, SharesOfThePeakEndAtIt) {
  const Point p = answer_of(
                      "{model: llama-2-7b, hardware: {gpu: a100-80g-sxm}, training: {moments: "
                      "bf16, master_weights: false}}")
                      .points.at(0);
  EXPECT_GT(p.find("mlp_of_peak")->value, 60);
  EXPECT_LE(p.find("mlp_of_peak")->high90, 100);
  EXPECT_GT(p.find("mfu")->high90, p.find("mfu")->value);
}

// Chance stretches iterations, of which the model is not sure: neither is it of the quantiles.
TEST(TrainingQuestion, QuantilesOfARunAreAsUnsureAsItsIteration) {
  const Point p =
      answer_of(
          "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 64, tokens: 1e11, "
          "global_batch: 64, stack: megatron}, chance: {gpu_variability: 0.02}}")
          .points.at(0);
  const Metric& iteration = *p.find("iteration_time");
  for (const char* name : {"iteration_p50", "iteration_p95", "time_to_train_p5",
                           "time_to_train_p50", "time_to_train_p95"}) {
    const Metric* m = p.find(name);
    ASSERT_NE(m, nullptr) << name;
    EXPECT_NEAR(m->low90 / m->value, iteration.low90 / iteration.value, 1e-9) << name;
    EXPECT_NEAR(m->high90 / m->value, iteration.high90 / iteration.value, 1e-9) << name;
    EXPECT_EQ(m->origin, iteration.origin) << name;
  }
  EXPECT_LT(p.find("time_to_train_p5")->value, p.find("time_to_train_p95")->value);
}

// A row of both gradients: its share of the peak is that of their flops in its time, and it names
// both products.
TEST(TrainingQuestion, RowsOfSeveralOpsAreOfAllOfThem) {
  const Point full = answer_of(
                         "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, tp: "
                         "8, micro_batch: 1, global_batch: 1, seq: 4096, stack: megatron}}")
                         .points.at(0);
  int merged = 0;
  for (const KernelRow& r : full.kernels) {
    if (r.name != "gate_up_proj grad" || r.part != "products") continue;
    ++merged;
    // Two products of [4096 x 4096] x [2 x 14336 / 8] in 32 layers; 989.4 TFLOP/s.
    const double flops = 2 * 32 * 2.0 * 4096 * 4096 * (2 * 14336 / 8);
    EXPECT_NEAR(r.of_peak, flops / 989.4e12 / r.time.value.value(), 0.01 * r.of_peak);
    EXPECT_NE(r.sizes.find("; "), std::string::npos) << r.sizes;
  }
  EXPECT_EQ(merged, 1);
}

// The breakdown of a rank is that of its stage: the first stage holds more activations, the last
// one has the LM head. The rows and the idle time add up to the iteration.
TEST(TrainingQuestion, ARanksOwnBreakdown) {
  const auto asked = [](const std::string& rank) {
    return answer_of(
               "{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8, pp: 4, "
               "global_batch: 16, stack: megatron" +
               rank + "}}")
        .points.at(0);
  };
  const auto share = [](const Point& p, std::string_view name) {
    double sum = 0;
    for (const KernelRow& r : p.kernels)
      if (name.empty() || r.name == name) sum += r.share;
    return sum;
  };
  const Point whole = asked(""), first = asked(", rank: 0"), last = asked(", rank: 7");
  EXPECT_EQ(first.find("iteration_time")->value, whole.find("iteration_time")->value);
  for (const Point* p : {&whole, &first, &last}) EXPECT_NEAR(share(*p, ""), 1, 1e-6);
  EXPECT_EQ(share(first, "lm_head"), 0);
  EXPECT_GT(share(last, "lm_head"), 0);
  EXPECT_GT(share(first, "bubble"), share(last, "bubble"));
  EXPECT_GT(first.find("activations")->value, last.find("activations")->value);
  EXPECT_LE(first.find("memory")->value, whole.find("memory")->value);
}

TEST(TrainingQuestion, RefusesForeignKeys) {
  EXPECT_THROW(answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpus: 8}, "
                         "parallel: {tp: 2}}"),
               InputError);
  EXPECT_THROW(answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {gpu: 8}}"),
               InputError);
  EXPECT_THROW(
      answer_of("{model: llama-3-8b, hardware: {gpu: h100-sxm}, training: {pp: 2, gpus: 2, "
                "schedule: 1f2b}}"),
      InputError);
}

}  // namespace training_question_test
}  // namespace orrery
