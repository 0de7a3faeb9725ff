// The kind of a fixed batch or a closed loop (steady_question.h).
#include "orrery/base/error.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kind/remedies.h"
#include "orrery/scenario/kinds/steady/steady_answer.h"
#include "orrery/scenario/setup/engine_starts.h"
#include "orrery/scenario/setup/served_model.h"

namespace orrery {

namespace {

void check_steady(const Node& document, const Scenario&) {
  document.at("model");
  document.at("hardware").at("gpu");
}

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  if (s.cost.preemptions_per_day)
    throw InputError(
        "cost.preemptions_per_day: a steady state has no losses; simulate and train count them");
  answer_both_starts(
      with.facts, s, with.options,
      [&with](const Scenario& asked, const RunOptions& options, Point& p) {
        answer_steady(with.facts, asked, options, p);
      },
      out.points.front());
}

void require_deployment(const Verb& verb, const GivenTexts&, Node& document) {
  require_keys(document, {{"model", "--model"}, {"hardware.gpu", "--gpu"}}, verb.example);
}

// Memory does not depend on the clock of the boards.
void look_at_memory(std::span<const Scenario> points, RunOptions& options) {
  options.memory_only = true;
  for (const Scenario& s : points) {
    if (s.hardware.knobs().any())
      throw InputError("--power-limit and --clock have no effect on memory; orrery estimate");
  }
}

Verb memory_verb() {
  return {
      .name = "memory",
      .heading = "Predict an inference service",
      .place = 10,
      .help =
          "Says whether a deployment fits, what fills the memory of a GPU, and how many "
          "requests fit at once.",
      .examples =
          "  orrery memory --model llama-2-7b --gpu a100-80g-sxm --max-model-len 4096\n"
          "  orrery memory --model ./config.json --gpu l40s --tp 1,2,4 -o json",
      .defines = true,
      .example = "orrery memory --model llama-3-8b --gpu h100-sxm",
      .add_keys =
          [](VerbKeyList& keys) {
            keys.add_key("model", kAskedHeading);
            add_deployment_keys(keys, true);
            keys.add_engine_keys(false);
          },
      .any_key_heading = kEngineHeading,
      .complete = require_deployment,
      .narrow = look_at_memory,
      .page = {
          .figures = {"memory", "weights", "kv_cache_per_request", "max_concurrency"},
          .forms = {{.usual = {"model", "gpu", "tp", "pp", "isl", "osl", "batch", "max-model-len",
                               "quantization", "kv-cache-dtype"},
                     .values = {{"model", "llama-3-70b"}, {"gpu", "h100-sxm"}, {"tp", "2,4,8"}}}},
          .compared = "gpu"}};
}

Verb estimate_verb() {
  return {
      .name = "estimate",
      .heading = "Predict an inference service",
      .place = 20,
      .help =
          "Predicts latency, throughput, memory and the time of every kernel for one batch, or "
          "for a fixed number of users.",
      .examples =
          "  orrery estimate --model llama-3-70b --gpu h100-sxm --tp 8 --isl 1024 --osl 128\n"
          "  orrery estimate --model llama-3-8b --gpu a100-80g-sxm --batch 1-64*2 -o csv",
      .defines = true,
      .example = "orrery estimate --model llama-3-8b --gpu h100-sxm",
      .add_keys =
          [](VerbKeyList& keys) {
            for (const char* key : {"objective", "model"}) keys.add_key(key, kAskedHeading);
            add_deployment_keys(keys, true);
            keys.add_engine_keys(false);
          },
      .any_key_heading = kEngineHeading,
      .complete = require_deployment,
      .output = {.steps = true,
                 .files = {{.flag = "--chakra",
                            .help = "write one prefill and one decode step as Chakra traces "
                                    "(PREFIX.prefill.0.et and PREFIX.decode.0.et), for `orrery "
                                    "network --chakra` and ASTRA-sim",
                            .value = "PREFIX",
                            .needs = &RunOptions::chakra}}},
      .page = {.figures = {"ttft", "tpot", "e2e", "output_throughput", "power", "energy_per_token"},
               .forms = {{.usual = {"model", "gpu", "tp", "pp", "isl", "osl", "batch",
                                    "quantization", "kv-cache-dtype", "engine"},
                          .values = {{"model", "llama-3-70b"},
                                     {"gpu", "h100-sxm"},
                                     {"tp", "8"},
                                     {"isl", "1024"},
                                     {"osl", "128"},
                                     {"batch", "1-64*2"}}}},
               .compared = "gpu"}};
}

}  // namespace

const QuestionKind& steady_kind() {
  static const QuestionKind kind = {
      .name = "steady",
      .plural = "steady state",
      .ask = [](const Node&, const KeyValues& values) -> Asked { return values.batch; },
      .put = [](const Scenario& s, KeyValues& values) { values.batch = s.as<SteadyQuestion>(); },
      .check = check_steady,
      .resolved = [](Facts& facts,
                     const Scenario& s) { return deployment_of(facts, s)->resolved(s); },
      .answer = answer,
      .remedies = wider_layouts,
      .verbs = {memory_verb(), estimate_verb()},
  };
  return kind;
}

const QuestionKind& kind_of(const SteadyQuestion&) { return steady_kind(); }

}  // namespace orrery
