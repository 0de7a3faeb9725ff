// The kind of a training iteration, and of the run that repeats it (training_question.h).
#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/scenario/kind/question_kind.h"
#include "orrery/scenario/kinds/training/training_answer.h"
#include "orrery/scenario/kinds/training/training_metrics.h"
#include "orrery/scenario/kinds/training/training_question.h"
#include "orrery/scenario/kinds/training/training_recipe.h"
#include "orrery/scenario/setup/gpu_price.h"
#include "orrery/scenario/setup/served_model.h"
#include "orrery/training/iteration/training_kernels.h"

namespace orrery {

namespace {

const TrainingQuestion& question(const Scenario& s) { return s.as<TrainingQuestion>(); }

void check_training(const Node& document, const Scenario&) {
  document.at("model");
  document.at("hardware").at("gpu");
}

struct TrainedModelKey {
  std::string model;
  ServingSetup::ModelOverrides overrides;
  bool operator==(const TrainedModelKey&) const = default;
};

void answer(const Answering& with, const Scenario& s, PointAnswers& out) {
  Facts& facts = with.facts;
  Point& point = out.points.front();
  const Gpu& gpu = facts.gpu(s.hardware.gpu);
  const auto model = facts.latest<Architecture>(TrainedModelKey{s.model, s.model_overrides},
                                                [&] { return architecture_of(facts, s); });
  const auto price = gpu_price(facts, s.cost, gpu, point.notes);
  TrainingQuestion training = question(s);
  if (price) {
    const double gpus = node_of(facts.catalog(), gpu, s.hardware.node).gpu_count;
    add_preemptions(*price, gpus, training, point.notes);
  }
  answer_training(facts, training,
                  {.model = *model,
                   .gpu = gpu,
                   .node = s.hardware.node,
                   .kernels = facts.kernels(gpu, training_kernels(gpu, facts.bundle())),
                   .breakdown = with.options.breakdown,
                   .timeline = with.options.steps,
                   .bounds = with.options.bounds,
                   .chakra = with.options.chakra,
                   .price = price ? &*price : nullptr,
                   .plant = s.plant.asked() ? &s.plant : nullptr,
                   .knobs = s.hardware.knobs()},
                  point);
}

std::vector<Remedy> remedies(const Scenario& s) {
  std::vector<Remedy> out = {{s, "training.recompute: full"}};
  out.back().changed.ask<TrainingQuestion>().recompute = Recompute::kFull;
  for (const std::int64_t gpus : {8, 16, 32, 64, 128, 256}) {
    if (gpus <= question(s).gpus) continue;
    out.push_back({s, fmt::format("training.gpus: {} with zero: 3", gpus)});
    TrainingQuestion& changed = out.back().changed.ask<TrainingQuestion>();
    changed.gpus = gpus, changed.zero = 3;
  }
  return out;
}

Node base_document(const GivenTexts& texts, const Bundle& bundle) {
  const std::string recipe = texts.text("recipe");
  return recipe.empty() ? Node() : training_recipe(recipe, bundle).scenario;
}

void complete(const Verb& verb, const GivenTexts&, Node& document) {
  require_keys(document, {{"model", "--model"}, {"hardware.gpu", "--gpu"}}, verb.example);
  if (!document.find("training")) set_path(document, "training.gpus", scalar_node("1", ""));
}

std::string timeline_file(const Answer& answer, const std::string&) {
  if (answer.points.size() != 1) throw InputError("--timeline: expected one layout, got a sweep");
  return answer.points.front().timeline().trace;
}

Verb train_verb() {
  return {
      .name = "train",
      .heading = "Predict a training job",
      .place = 50,
      .help =
          "Predicts the time of an iteration, throughput, MFU, memory and cost of a training "
          "job.",
      .examples =
          "  orrery train -m llama-3-8b -g h100-sxm --gpus 64 --seq 8192 --stack fsdp\n"
          "  orrery train -m gpt-3-175b -g h100-sxm --gpus 64 --tp 8 --pp 1-8*2 \\\n"
          "    --global-batch 64 --recompute selective\n"
          "  orrery train -m llama-2-70b -g a100-80g-sxm --tuning qlora --lora-targets q,v\n"
          "  orrery train -m mixtral-8x7b -g h100-sxm --gpus 32-256*2 --ep 8 --zero 1\n"
          "  orrery train --recipe llama-3-70b-bridge-h100-fp8 --gpus 128 \\\n"
          "    --global-batch 256",
      .example = "orrery train --model llama-3-8b --gpu h100-sxm --gpus 64 --stack fsdp",
      .add_keys =
          [](VerbKeyList& keys) {
            for (const char* key : {"model", "objective"}) keys.add_key(key, kAskedHeading);
            for (const char* group : {"hardware", "training"}) keys.add_group(group);
            keys.add_group("chance", {.prefix = "chance"});
            for (const char* group : {"cost", "energy"}) keys.add_group(group);
          },
      .texts = {{.name = "recipe",
                 .help = "model, hardware and layout of a recipe that a training stack publishes "
                         "(`orrery list recipes`); flags override it",
                 .heading = kAskedHeading,
                 .value = "NAME"}},
      .base = base_document,
      .complete = complete,
      .output =
          {.steps = true,
           .draws_steps = true,
           .files = {{.flag = "--timeline",
                      .help = "write the events of the pipeline for ui.perfetto.dev (not with a "
                              "sweep)",
                      .needs = &RunOptions::steps,
                      .text = timeline_file},
                     {.flag = "--chakra",
                      .help = "write the iteration, event by event, as a Chakra trace of each rank "
                              "(PREFIX.0.et, PREFIX.1.et, ... and PREFIX.groups.json), for `orrery "
                              "network --chakra` and ASTRA-sim (not with a sweep)",
                      .value = "PREFIX",
                      .needs = &RunOptions::chakra}}},
      .page = {.figures = {"iteration_time", "throughput", "mfu", "memory", "bubble",
                           "time_to_train", "cost"},
               .across = {"memory"},
               .up = {"throughput_per_gpu", "mfu"},
               .forms = {{.usual = {"model", "gpu", "gpus", "tp", "pp", "seq", "micro-batch",
                                    "global-batch", "stack", "precision", "recompute", "zero"},
                          .values = {{"model", "gpt-3-175b"},
                                     {"gpu", "h100-sxm"},
                                     {"gpus", "64"},
                                     {"tp", "8"},
                                     {"pp", "1-8*2"},
                                     {"global-batch", "64"}},
                          .marker = {"training.gpus", "1"}}},
               .compared = "gpu",
               .timeline = "Timeline of an iteration"}};
}

}  // namespace

const QuestionKind& training_kind() {
  static const QuestionKind kind = {
      .name = "training",
      .plural = "training",
      .group = "training",
      .keys = key_set<TrainingKeys>(
          [](Fields& fields, KeyValues& values) { declare(fields, values.of<TrainingKeys>()); }),
      .top_keys = [](const Scenario&) -> TopKeys {
        return {{"name", "question", "objective", "model", "model_overrides", "hardware",
                 "training", "chance", "cost", "energy"},
                "a training"};
      },
      .lone_group = "{} is supported with training only",
      .ask = [](const Node& document, const KeyValues& values) -> Asked {
        return values.of<TrainingKeys>().asked(document.find("chance") != nullptr);
      },
      .put = [](const Scenario& s,
                KeyValues& values) { values.of<TrainingKeys>() = TrainingKeys::of(question(s)); },
      .check = check_training,
      .tidy =
          [](const Scenario& s, nlohmann::ordered_json& document) {
            if (!question(s).chance) document.erase("chance");
          },
      .answer = answer,
      .compare = [](std::span<Point> points,
                    const RunOptions& options) { compare_training(points, options.bounds); },
      .remedies = remedies,
      .verbs = {train_verb()},
  };
  return kind;
}

const QuestionKind& kind_of(const TrainingQuestion&) { return training_kind(); }

}  // namespace orrery
