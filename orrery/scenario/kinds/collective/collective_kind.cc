// The kind of a single collective (collective_question.h).
#include "orrery/scenario/kind/document_checks.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/collective/collective_answer.h"
#include "orrery/scenario/kinds/collective/collective_table.h"

namespace orrery {

namespace {

const CollectiveQuestion& question(const Scenario& s) { return s.as<CollectiveQuestion>(); }

void check_collective(const Node& document, const Scenario& s) {
  const CollectiveQuestion& q = question(s);
  if (q.flow.asked()) refuse_knobs(document, s, "a collective at flow level");
  const bool hardware = !s.hardware.gpu.empty() || !s.hardware.node.empty();
  const bool topology = !q.flow.topology.empty();
  if (!q.nodes.empty()) {
    if (hardware || topology || q.gpus) {
      document.at("collective")
          .at("nodes")
          .fail("describes all GPUs: remove hardware, topology or gpus");
    }
    return;
  }
  if (!hardware && !topology)
    document.fail(
        "a collective needs hardware.gpu (--gpu), hardware.node (--node), collective.nodes "
        "(--nodes) or a topology (--topology)");
}

Verb network_verb() {
  return {
      .name = "network",
      .heading = "Predict single kernels and collectives, or change a recorded trace",
      .place = 70,
      .help = "Predicts time and bandwidth of collectives: all-reduce, all-gather, all-to-all, ...",
      .remark =
          "SIZES: 64K, 8 MiB, 1 GB, lists and ranges (1K-16G*4); a bare K, M, G is binary\n"
          "as in nccl-tests.",
      .examples =
          "  orrery network all-reduce --bytes 1K-1G*4 --gpus 8,64 --fabric h100-ib400\n"
          "  orrery network all-to-all --bytes 256M --gpus 16 --gpu mi300x -o csv\n"
          "  orrery network all-reduce --bytes 1G --gpus 64 -g h100-sxm --algorithm ring\n"
          "  orrery network all-reduce --bytes 1G --gpus 8 -g h100-sxm \\\n"
          "    --clock 700MHz,1980MHz --objective energy\n"
          "  orrery network moe-dispatch --gpus 32 -g h800-sxm --mode low-latency\n"
          "  orrery network all-reduce --bytes 1G --gpus 64 -g h100-sxm --fidelity flow \\\n"
          "    --degrade gpu3-rail3.leaf0=0.5\n"
          "  orrery network --topology cluster.yaml --chakra traces/llama\n"
          "  orrery network all-gather --bytes 1M --topology hgx.yml --as astra-sim",
      .example = "orrery network all-reduce --gpu h100-sxm",
      .add_keys =
          [](VerbKeyList& keys) {
            keys.add_group("collective", {.word = "kind"});
            for (const char* group : {"hardware", "cost", "energy"}) keys.add_group(group);
            keys.add_key("objective", "output");
          },
      .words = {"kind"},
      .presets = {{"collective.kind", "all-reduce"}},
      .output = {.table = collective_table,
                 .picture_flag = "--plot",
                 .picture = "sweep",
                 .picture_help = "draw bus bandwidth over size, as SVG, or as a page if the name "
                                 "ends in .html"},
      .page = {.figures = {"time", "algbw", "busbw", "power", "energy", "cost_per_million_calls"},
               .forms = {{.usual = {"kind", "bytes", "gpus", "gpu", "node", "algorithm"},
                          .values = {{"kind", "all-reduce"},
                                     {"bytes", "1K-1G*4"},
                                     {"gpus", "8,64"},
                                     {"gpu", "h100-sxm"}}}},
               .compared = "gpu"}};
}

QuestionKind made() {
  QuestionKind kind =
      kind_of_one_group<CollectiveQuestion>("collective", "a single collective, without a model");
  kind.plural = "collectives";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "objective", "hardware", "collective", "cost", "energy"},
            "a collective"};
  };
  kind.check = check_collective;
  kind.answer = [](const Answering& with, const Scenario& s, PointAnswers& out) {
    out.points = answer_collective(with.facts, question(s), s.hardware, {s.cost, s.plant},
                                   with.options.bounds);
  };
  kind.verbs = {network_verb()};
  return kind;
}

}  // namespace

const QuestionKind& collective_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const CollectiveQuestion&) { return collective_kind(); }

}  // namespace orrery
