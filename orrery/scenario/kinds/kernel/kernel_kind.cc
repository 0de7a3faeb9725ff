// The kind of a single kernel (kernel_question.h).
#include "orrery/base/error.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/kernel/kernel_answer.h"
#include "orrery/scenario/kinds/kernel/kernel_table.h"

namespace orrery {

namespace {

const KernelQuestion& question(const Scenario& s) { return s.as<KernelQuestion>(); }

// A kernel runs on one GPU and has no other hardware.
void check_kernel(const Node& document, const Scenario& s) {
  const Node& hardware = document.at("hardware");
  hardware.at("gpu");
  const Node* node = hardware.find("node");
  if (node && !s.hardware.node.empty()) node->fail("a kernel runs on one GPU, in any node");
}

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  Facts& facts = with.facts;
  const KernelQuestion& q = question(s);
  const Gpu& gpu = facts.gpu(s.hardware.gpu);
  const KernelClasses classes = classes_of(q);
  out.points = {answer_kernel(
      facts, q, {gpu, facts.kernels(gpu, classes), facts.power(gpu, classes), s.hardware.knobs()},
      {s.cost, s.plant})};
}

Verb kernel_verb() {
  return {
      .name = "kernel",
      .heading = "Predict single kernels and collectives, or change a recorded trace",
      .place = 60,
      .help =
          "Predicts the time of one kernel: GEMM, attention, mixture of experts, norm, "
          "optimizer, ...",
      .examples =
          "  orrery kernel gemm --gpu h100-sxm,b200-sxm -m 1-4096*2 -n 8192 -k 8192\n"
          "  orrery kernel decode --gpu a100-80g-sxm -m 64 --context 4096 --kv-heads 4\n"
          "  orrery kernel moe --gpu h200-sxm -m 64 --experts 128 --top-k 8 -n 768 -k 2048\n"
          "  orrery kernel mla --gpu b200-sxm --phase prefill --context 4096 --heads 128",
      .example = "orrery kernel gemm --gpu h100-sxm -m 64",
      .add_keys =
          [](VerbKeyList& keys) {
            keys.add_group("kernel", {.word = "op"});
            for (const char* key : {"hardware.gpu", "hardware.power_limit", "hardware.clock"})
              keys.add_key(key, "hardware");
            for (const char* group : {"cost", "energy"}) keys.add_group(group);
            keys.add_key("objective", "output");
          },
      .words = {"op"},
      .presets = {{"kernel.op", "gemm"}},
      .complete =
          [](const Verb& verb, const GivenTexts&, Node& document) {
            require_keys(document, {{"hardware.gpu", "--gpu"}}, verb.example);
          },
      .output = {.table = kernel_table,
                 .columns = {"hardware.gpu"},
                 .picture_flag = "--roofline",
                 .picture = "roofline",
                 .picture_help = "draw the kernels on the roofline of their GPUs, as SVG, or as a "
                                 "page if the name ends in .html"},
      .page = {.figures = {"time", "rate", "bandwidth", "efficiency", "power",
                           "cost_per_million_calls"},
               .forms = {{.usual = {"op", "gpu", "m", "n", "k", "format", "context", "heads",
                                    "kv-heads"},
                          .values = {{"op", "gemm"},
                                     {"gpu", "h100-sxm,a100-80g-sxm"},
                                     {"m", "1-4096*2"},
                                     {"n", "8192"},
                                     {"k", "8192"}}}},
               .compared = "gpu"}};
}

QuestionKind made() {
  QuestionKind kind =
      kind_of_one_group<KernelQuestion>("kernel", "a single kernel, without a model");
  kind.plural = "kernels";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "objective", "hardware", "kernel", "cost", "energy"}, "a kernel"};
  };
  kind.check = check_kernel;
  kind.answer = answer;
  kind.verbs = {kernel_verb()};
  return kind;
}

}  // namespace

const QuestionKind& kernel_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const KernelQuestion&) { return kernel_kind(); }

}  // namespace orrery
