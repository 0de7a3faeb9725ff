// The kind of a chip of a user's own (accelerator_question.h).
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/accelerator/accelerator_answer.h"
#include "orrery/scenario/kinds/accelerator/accelerator_detail.h"
#include "orrery/scenario/setup/facts.h"

namespace orrery {
namespace {

const AcceleratorQuestion& question(const Scenario& s) { return s.as<AcceleratorQuestion>(); }

void check_accelerator(const Node& document, const Scenario& s) {
  const AcceleratorQuestion& q = question(s);
  const Node& asked = document.at("accelerator");
  if (q.maps_nest()) asked.at("arch");
  if (q.ask == "systolic") asked.at("config"), asked.at("topology");
  if (q.ask == "evaluate" || q.ask == "explain" || q.ask == "directives") asked.at("mapping");
}

const AcceleratorDetail& detail_of(const Answer& a) {
  return dynamic_cast<const AcceleratorDetail&>(*a.points.front().detail);
}

std::string table(const Answer& a) { return detail_of(a).text(a.points.front()); }
std::string json(const Answer& a) { return detail_of(a).json().dump(1) + "\n"; }
std::string csv(const Answer& a) { return detail_of(a).csv(); }

Verb accelerator_verb() {
  return {
      .name = "accelerator",
      .heading = "Design a chip",
      .place = 100,
      .help = "Predicts cycles, energy and area of tensor operations on a chip of your own design.",
      .examples =
          "  orrery accelerator map --arch simba-like --workload resnet50-conv2_3x3\n"
          "  orrery accelerator explain --arch chip.yaml --workload conv.yaml \\\n"
          "    --mapping map.yaml\n"
          "  orrery accelerator evaluate --convention looptree \\\n"
          "    --arch nvdla --workload matmul_1024 --mapping map.txt\n"
          "  orrery accelerator map --arch tpu_v4i --model llama-3-8b --op qkv_proj\n"
          "  orrery accelerator map --arch chip.yaml --workload conv.yaml \\\n"
          "    --objective delay --valid 100000 --mapper hill-climb\n"
          "  orrery accelerator systolic -c scale.cfg -t resnet18.csv -o csv\n"
          "  orrery accelerator directives --hardware accelerator.m --mapping vgg16_ws.m",
      .example = "orrery accelerator map --arch simba-like --workload resnet50-conv2_3x3",
      .add_keys =
          [](VerbKeyList& keys) {
            keys.add_group("accelerator",
                           {.word = "ask", .letters = {{"config", 'c'}, {"topology", 't'}}});
          },
      .words = {"ask"},
      .complete =
          [](const Verb& verb, const GivenTexts&, Node& document) {
            require_keys(document, {{"accelerator.ask", "ASK"}}, verb.example);
          },
      .output = {.table = table,
                 .forms = {{.name = "json", .text = json}, {.name = "csv", .text = csv}}},
      .page = {.figures = {"cycles", "time", "chip_energy", "utilization", "chip_area",
                           "operations"},
               .forms = {{.usual = {"ask", "arch", "workload", "einsum", "objective", "mapper",
                                    "valid", "model", "op", "phase", "batch", "isl"},
                          .values = {{"ask", "map"},
                                     {"arch", "simba-like"},
                                     {"workload", "resnet50-conv2_3x3"}}}},
               .files = {"arch", "workload", "energies", "mapping", "sparse", "constraints",
                         "config", "topology", "hardware"},
               .waits = true}};
}

QuestionKind made() {
  QuestionKind kind = kind_of_one_group<AcceleratorQuestion>(
      "accelerator", "a tensor operation on a chip of your own design");
  kind.plural = "operations on a chip";
  kind.top_keys = [](const Scenario&) -> TopKeys {
    return {{"name", "question", "accelerator"}, "an accelerator"};
  };
  kind.check = check_accelerator;
  kind.effort = [](const Scenario& s) { return Effort{.long_search = question(s).ask == "map"}; };
  kind.answer = [](const Answering& with, const Scenario& s, PointAnswers& out) {
    out.points = {answer_accelerator(with.facts.bundle(), question(s))};
  };
  kind.verbs = {accelerator_verb()};
  kind.figures = accelerator_figures();
  return kind;
}

}  // namespace

const QuestionKind& accelerator_kind() {
  static const QuestionKind kind = made();
  return kind;
}

const QuestionKind& kind_of(const AcceleratorQuestion&) { return accelerator_kind(); }

}  // namespace orrery
