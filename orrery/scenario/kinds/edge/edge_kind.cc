// The kind of a network or an LLM at the edge (edge_question.h).
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/edge/edge_figures.h"
#include "orrery/scenario/kinds/edge/edge_points.h"
#include "orrery/scenario/kinds/edge/edge_table.h"

namespace orrery {

namespace {

const EdgeQuestion& question(const Scenario& s) { return s.as<EdgeQuestion>(); }

// Refuses values that only networks or only LLMs have, where no point asks about one.
void check_undecided(Facts& facts, std::span<const Scenario> points) {
  bool networks = false, llms = false;
  for (const Scenario& s : points) {
    const bool llm = !facts.own<EdgeTables>().llm_of(question(s)).empty();
    (llm ? llms : networks) = true;
  }
  check_edge_needs(points.front().undecided, networks, llms);
}

Verb edge_verb() {
  return {.name = "edge",
          .heading = "Predict networks on phones, boards and laptops",
          .place = 90,
          .help =
              "Predicts the latency of a network (ONNX, ncnn), or the rates of an LLM with "
              "llama.cpp, on phones, boards, laptops and PCs.",
          .examples =
              "  orrery edge mobilenet_v2,resnet50 --device raspberry-pi-5,rk3588\n"
              "  orrery edge llama-3.1-8b --device m4-max-40,rtx-4090 --format Q4_K_M,Q8_0\n"
              "  orrery edge model.onnx --device snapdragon-8-gen-2 --threads 4 --explain\n"
              "  orrery edge model.onnx --device jetson-orin-nano --measured mine.csv",
          .example = "orrery edge mobilenet_v2 --device raspberry-pi-5",
          .add_keys = [](VerbKeyList& keys) { keys.add_group("edge", {.word = "network"}); },
          .words = {"network", "device"},
          .complete =
              [](const Verb& verb, const GivenTexts&, Node& document) {
                require_keys(document, {{"edge.network", "NETWORK"}}, verb.example);
                require_keys(document, {{"edge.device", "--device"}}, verb.example);
              },
          .output = {.table = edge_table,
                     .columns = {"edge.network", "edge.device", "edge.format"},
                     .shows_misfits = true,
                     .explained = edge_explained,
                     .explain_help = "show each kernel, or each term of an LLM, with its time"},
          .page = {.figures = {"latency", "throughput", "macs", "output_throughput",
                               "prefill_throughput", "tpot", "ttft", "memory", "max_context"},
                   .up = {"prefill_throughput"},
                   .forms = {{.title = "A network",
                              .usual = {"network", "device", "gpu", "threads", "precision",
                                        "runtime", "batch"},
                              .values = {{"network", "mobilenet_v2,resnet50"},
                                         {"device", "raspberry-pi-5,rk3588,jetson-nano"},
                                         {"threads", "1,4"}}},
                             {.title = "An LLM",
                              .when = "network in models",
                              .usual = {"network", "device", "format", "prompt", "generate",
                                        "depth", "devices", "memory", "backend", "draft"},
                              .values = {{"network", "llama-3.1-8b"},
                                         {"device", "m4-max-40,rtx-4090,ryzen-ai-max-395"},
                                         {"format", "Q4_K_M,Q8_0"},
                                         {"prompt", "1024"}}}},
                   .compared = "device"}};
}

// ttft, tpot, output_throughput and memory have the meanings of all questions.
QuestionKind made() {
  QuestionKind kind = kind_of_one_group<EdgeQuestion>(
      "edge", "a network or an LLM on a phone, a board, a laptop or a GPU");
  kind.plural = "networks and LLMs at the edge";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "edge"}, "an edge"};
  };
  kind.check = [](const Node& document, const Scenario&) {
    for (const char* key : {"network", "device"}) document.at("edge").at(key);
  };
  kind.check_undecided = check_undecided;
  kind.answer = [](const Answering& with, const Scenario& s, PointAnswers& out) {
    out.points = answer_edge(with.facts, question(s), with.options);
  };
  kind.verbs = {edge_verb()};
  kind.figures = kEdgeFigures;
  return kind;
}

}  // namespace

const QuestionKind& edge_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const EdgeQuestion&) { return edge_kind(); }

}  // namespace orrery
