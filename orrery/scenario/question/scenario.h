// The question: a common part (model, hardware, parallelism, precision, engine, workload, money and
// plant) and what a kind of question adds to it (scenario/kind/question_kind.h), as one document.
//
//   model: llama-3-70b            # bundled id, Hugging Face id, path to a config.json or its text
//   hardware: {gpu: h100-sxm}
//   parallel: {tp: 8}
//   engine: {profile: vllm}
//   workload: {isl: [1024, 8192], osl: 128, batch: 1-64*2}
//
// The groups of a document say which kind it asks: `load` a simulated service, `training` an
// iteration of training, and so on; the header of each question shows its documents
// (scenario/kinds/*/*_question.h). Without such a group it asks about a batch (steady_question.h).
//
// Money, for questions about serving and training (account_choice.h):
//
//   cost: {tier: on_demand}
//
// A Scenario asks at one point: every parameter has one value. A document in which lists or ranges
// ask for several is read into one Scenario for each combination (scenario_sweep.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/scenario/question/asked.h"
#include "orrery/scenario/question/steady_question.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Version of the form of scenario files. Within a major version keys and values are added, and none
// is renamed, removed or given another meaning: a file is read by every program of its minor
// version or a later one.
inline constexpr const char* kScenarioFormat = "1.0";

// The deployment that a question about serving describes.
struct ServingSetup {
  std::string model;  // bundled id, Hugging Face id, path to a config.json, or its text
  struct ModelOverrides {
    int kv_heads = 0;  // 0: the model's own
    bool operator==(const ModelOverrides&) const = default;
  } model_overrides;

  struct Hardware {
    std::string gpu;   // empty for a collective: the first that the node is built with
    std::string node;  // empty: the usual one of the gpu
    std::optional<Watts> power_limit;  // absent: the data sheet's
    std::optional<Hertz> clock;        // absent: not locked
    PowerKnobs knobs() const { return {power_limit, clock}; }
    bool operator==(const Hardware&) const = default;
  } hardware;

  ParallelPlan parallel;

  struct PrecisionChoice {  // empty: as the checkpoint is stored
    std::string quantization, moe_quantization, kv_cache_dtype, dtype;
    bool operator==(const PrecisionChoice&) const = default;
  } precision;

  struct EngineChoice {
    std::string profile = "vllm";
    // How it is started, "default" or "tuned" (EngineSetup). Empty: not said. The answer is then
    // that of the default one, and its intervals cover both.
    std::string setup;
    Node overrides;  // any key of EngineProfile
    bool operator==(const EngineChoice& other) const;
  } engine;

  struct Workload {
    std::int64_t max_model_len = 0;  // longest sequence in tokens; 0: isl + osl
    // Exponent of the power law of expert loads; 0: balanced. The default is that of the kernel
    // sweeps with uneven loads, with which measured services are judged (inference_rows.cc).
    double expert_skew = 1.01;
    bool operator==(const Workload&) const = default;
  } workload;

  bool operator==(const ServingSetup&) const = default;
};

// One question at one point. Not every kind reads all of the common part: a kernel has a GPU alone,
// and a training job has its own layout and formats. What a kind does not read has its default.
struct Scenario : ServingSetup {
  std::string name = "scenario";
  std::string question;  // in a sentence; shown above the answer

  std::string
      objective;  // of objective_names(): by which the best point of a sweep is named; or none

  CostChoice cost;  // of serving and training
  PlantChoice plant;

  Asked asked = SteadyQuestion();

  const QuestionKind& kind() const { return asked.kind(); }
  template <class Question>
  const Question* if_asked() const {
    return asked.find<Question>();
  }
  // The question of this kind. A scenario that asks another kind asks this one afterwards.
  template <class Question>
  Question& ask() {
    if (asked.find<Question>() == nullptr) asked = Question();
    return *asked.find<Question>();
  }
  // REQUIRES a question of this kind.
  template <class Question>
  const Question& as() const {
    return *asked.find<Question>();
  }

  // Values of the document whose effect the catalog decides about: those that only models with
  // experts have, and of a question about the edge those that only networks or only LLMs have.
  // Where they have none, they are refused.
  std::vector<Fields::Undecided> undecided;
};

// Declares the keys of the common part, with those of a batch in the group `workload`.
void declare(Fields& fields, Scenario& scenario, SteadyQuestion& batch);

}  // namespace orrery
