// Questions about single kernels: files, refusals and answers.
#include "orrery/scenario/kinds/kernel/kernel_question.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "orrery/base/error.h"
#include "orrery/kinds/all_kinds.h"
#include "orrery/scenario/kinds/kernel/kernel_inverse.h"
#include "orrery/scenario/kinds/kernel/kernel_ops.h"
#include "orrery/scenario/runner/runner.h"
#include "tests/refusal.h"

namespace orrery {
namespace kernel_question_test {

using testing::HasSubstr;

std::vector<Point> run(const std::string& kernel, const std::string& gpu = "h100-sxm") {
  Runner runner{Bundle()};
  const std::string yaml = fmt::format("hardware: {{gpu: {}}}\nkernel: {{{}}}\n", gpu, kernel);
  return runner.run(read_scenario(all_kinds(), parse_yaml(yaml, "s.yaml"))).points;
}
double value(const std::string& kernel, const char* metric) {
  return run(kernel).at(0).find(metric)->value;
}
std::string refusal(const std::string& kernel) {
  return refusal_of([&] { run(kernel); });
}

// Every declared key is read by an op, and every key that an op reads is declared.
TEST(KernelOps, EveryKeyIsDeclaredAndRead) {
  KernelQuestion q;
  Fields fields;
  declare(fields, q);
  std::set<std::string> declared, read;
  for (const Field& f : fields.all()) declared.insert(f.name());
  for (const KernelOp& op : kernel_ops()) {
    for (const std::string_view key : op.keys) read.emplace(key.substr(0, key.find('@')));
  }
  for (const char* always : {"op", "framework", "m", "repeated"}) read.insert(always);
  EXPECT_EQ(declared, read);
}

// Each key that an op names changes the op that it makes.
TEST(KernelOps, EveryKeyHasItsEffect) {
  const std::map<std::string_view, std::string> other = {
      {"format", "fp8"},    {"kv_dtype", "fp8"}, {"context", "512"}, {"n", "2048"},
      {"k", "2048"},        {"batch", "3"},      {"past", "100"},    {"heads", "64"},
      {"kv_heads", "4"},    {"head_dim", "64"},  {"window", "77"},   {"mixer", "mamba2"},
      {"phase", "decode"},  {"experts", "16"},   {"top_k", "1"},     {"tp", "2"},
      {"ep", "2"},          {"skew", "1.2"},     {"gated", "false"}, {"block", "glm-5"},
      {"attn_dtype", "fp8"}};
  for (const KernelOp& op : kernel_ops()) {
    const bool phased =
        std::find(op.keys.begin(), op.keys.end(), std::string_view("phase")) != op.keys.end();
    const std::string base = fmt::format("op: {}{}", op.name, phased ? ", phase: prefill" : "");
    const auto asked = [&](const std::string& text) {
      const Point p = run(text).at(0);
      return p.at.dump() + fmt::format("{:.17g} {:.17g}", p.find("time")->value,
                                       p.find("memory_roofline")->value);
    };
    const std::string plain = asked(base);
    for (const std::string_view key : op.keys) {
      const std::string bare(key.substr(0, key.find('@')));
      const std::string text = bare == "phase"
                                   ? fmt::format("op: {}, phase: decode", op.name)
                                   : fmt::format("{}, {}: {}", base, bare, other.at(bare));
      EXPECT_NE(asked(text), plain) << text;
    }
  }
}

// The keys that ask for an op make that op again.
TEST(KernelOps, KeysOfAnOpAskForIt) {
  std::size_t asked = 0;
  for (const KernelOp& op : kernel_ops()) {
    for (const char* phase : {"prefill", "decode"}) {
      KernelQuestion q;
      q.op = op.name, q.phase = phase, q.m = 3, q.context = 640, q.past = 64, q.batch = 4;
      q.gated = false, q.block = "minimax-m3", q.attn_dtype = "fp8", q.heads = 64;
      const Op made = make_op(q, q.m, q.context);
      const auto keys = kernel_keys_of(made);
      if (!keys) continue;
      ++asked;
      std::string text = "{";
      for (const auto& [key, value] : *keys) text += fmt::format("{}: {}, ", key, value);
      KernelQuestion again;
      Fields fields;
      declare(fields, again);
      fields.read(parse_yaml(text + "framework: vllm}", "keys"));
      const Op same = make_op(again, again.m, again.context);
      EXPECT_EQ(describe(same), describe(made)) << text;
      EXPECT_EQ(bytes(same).value(), bytes(made).value()) << text;
      EXPECT_EQ(flops(same).value(), flops(made).value()) << text;
    }
  }
  EXPECT_GE(asked, 30u);
}

// A benchmark repeats a call on operands that stay in the L2, and times its kernel alone.
TEST(KernelQuestion, ARepeatedCallIsThatOfABenchmark) {
  // 8 MiB of weights and 34 MB of a KV cache stay in 96 MiB of L2.
  const auto time = [](const std::string& kernel) {
    return run(kernel, "l40s").at(0).find("time")->value;
  };
  const std::string product = "op: gemm, m: 1, n: 2048, k: 2048";
  const std::string attention = "op: decode, m: 4, context: 2048";
  EXPECT_LT(time(product + ", repeated: true"), time(product));
  EXPECT_LT(time(attention + ", repeated: true"), time(attention) * 0.8);
  // The convolution in front of the delta rule is a kernel of its own.
  const std::string mixer = "op: linear-attention, phase: prefill, m: 8, context: 8192, heads: 32";
  const double moved = 2.0 * 8 * 8192 * (2 * 8 + 32) * 128 * 2;  // bytes in and out
  EXPECT_NEAR(value(mixer, "time") - value(mixer + ", repeated: true", "time"),
              2 + moved / (3.35e12 * 0.7) * 1e6, 2);
  EXPECT_THAT(run(product + ", repeated: true").at(0).notes.at(0), HasSubstr("repeated"));
}

TEST(KernelQuestion, NoTimeIsBelowTheRooflineOfStreamedOperands) {
  for (const KernelOp& op : kernel_ops()) {
    for (const char* gpu : {"h100-sxm", "a100-80g-sxm", "mi300x"}) {
      const Point p = run(fmt::format("op: {}, m: 4096", op.name), gpu).at(0);
      const double time = p.find("time")->value;
      const Metric* compute = p.find("compute_roofline");
      EXPECT_GE(time, compute ? compute->value : 0) << op.name;
      EXPECT_GT(time, 0) << op.name;
      EXPECT_LT(p.find("time")->low90, time) << op.name;
    }
  }
}

// By hand: 2 * 512 * 8192^2 FLOPs at 989.4 TFLOP/s; the weight and 512 rows in and out at 3350
// GB/s.
TEST(KernelQuestion, RooflinesAreTheDataSheets) {
  const std::string ask = "op: gemm, m: 512, n: 8192, k: 8192";
  EXPECT_NEAR(value(ask, "compute_roofline"), 69.46, 0.01);
  EXPECT_NEAR(value(ask, "memory_roofline"), (8192. * 8192 * 2 + 2 * 512 * 8192 * 2.) / 3350e3,
              0.01);
  const double time = value(ask, "time");
  EXPECT_NEAR(value(ask, "efficiency"), 100 * 69.46 / time, 0.01);
  EXPECT_NEAR(value(ask, "rate"), 2 * 512 * 8192. * 8192 / time / 1e6, 0.1);
  EXPECT_EQ(run("op: norm").at(0).find("rate"), nullptr);
}

TEST(KernelQuestion, APointForEachSize) {
  const auto points = run("op: decode, m: [1, 8], context: 1024-4096*2");
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[4].at["m"], 8);
  EXPECT_EQ(points[4].at["context"], 2048);
  EXPECT_FALSE(run("op: gemm").at(0).at.contains("context"));
}

TEST(KernelQuestion, SaysWhatStandsForAFormat) {
  const auto points = run("op: gemm, format: fp8", "a100-80g-sxm");
  EXPECT_EQ(points[0].at["arithmetic"], "bf16");
  EXPECT_THAT(points[0].notes.at(0), HasSubstr("has no fp8"));
}

TEST(KernelQuestion, IsReadBackAsWritten) {
  Runner runner{Bundle()};
  const Answer a = runner.run(read_scenario(
      all_kinds(),
      parse_yaml("hardware: {gpu: h100}\nkernel: {op: mla, phase: prefill, past: 64, heads: 16}\n",
                 "s.yaml")));
  const Answer b = runner.run(read_scenario(all_kinds(), parse_yaml(a.resolved.dump(), "b.json")));
  EXPECT_EQ(to_json(a, true), to_json(b, true));
  EXPECT_FALSE(a.resolved.contains("model"));
}

TEST(KernelQuestion, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal("op: gem"), HasSubstr("did you mean 'gemm'"));
  EXPECT_THAT(refusal("op: gemm, format: fp9"), HasSubstr("did you mean 'fp8'"));
  EXPECT_THAT(refusal("op: decode, kv_heads: 7"), HasSubstr("7 does not divide 32 heads"));
  EXPECT_THAT(refusal("op: moe, top_k: 9"), HasSubstr("9 is more than 8 experts"));
  EXPECT_THAT(refusal("op: moe, ep: 3"), HasSubstr("3 does not divide 8 experts"));
  EXPECT_THAT(refusal("op: moe, tp: 3"), HasSubstr("3 does not divide 4096 columns"));
  EXPECT_THAT(refusal("op: gemm, experts: 4"), HasSubstr("needs op moe"));
  EXPECT_THAT(refusal("op: mla, past: 4"), HasSubstr("mla (phase prefill)"));
  EXPECT_THAT(refusal("op: decode, format: int4_weight"), HasSubstr("single numbers"));
  EXPECT_THAT(refusal("op: gemm, m: 0"), HasSubstr("kernel"));
  const auto all = [](const std::string& yaml) {
    return refusal_of([&] { read_scenario(all_kinds(), parse_yaml(yaml, "s.yaml")); });
  };
  EXPECT_THAT(all("kernel: {op: gemm}"), HasSubstr("hardware"));
  EXPECT_THAT(all("hardware: {gpu: h100, node: hgx-h100}\nkernel: {op: gemm}"),
              HasSubstr("one GPU"));
  EXPECT_THAT(all("model: llama-3-8b\nhardware: {gpu: h100}\nkernel: {op: gemm}"),
              HasSubstr("s.yaml:1: model"));
}

}  // namespace kernel_question_test
}  // namespace orrery
