// The question: model + hardware + parallelism + precision + engine + workload, as one document.
//
//   model: llama-3-70b            # bundled id, Hugging Face id, path to a config.json or its text
//   hardware: {gpu: h100-sxm}
//   parallel: {tp: 8}
//   engine: {profile: vllm}
//   workload: {isl: [1024, 8192], osl: 128, batch: 1-64*2}
//
// A service under load is simulated (orrery/serving/cluster/simulation.h):
//
//   load: {arrivals: poisson, rate: [2, 4], requests: 1000, isl: "uniform(128, 512)", osl: 128}
//   cluster: {replicas: 4, router: least-outstanding}
//   slo: {ttft: 500 ms, tpot: 50 ms}
//
// A collective by itself needs no model (collective_question.h):
//
//   hardware: {node: hgx-h100}
//   collective: {kind: all-reduce, bytes: 1K-16G*4, gpus: [8, 64]}
//
// A kernel by itself likewise (kernel_question.h):
//
//   hardware: {gpu: h100-sxm}
//   kernel: {op: gemm, m: 1-4096*2, n: 8192, k: 8192}
//
// Training a model (training_question.h):
//
//   training: {gpus: 64, tp: 8, pp: 8, micro_batch: 1, global_batch: 64}
//
// A network or an LLM at the edge (edge_question.h):
//
//   edge: {network: mobilenet_v2, device: [raspberry-pi-5, rk3588]}
//
// A recorded trace (replay_question.h):
//
//   replay: {trace: rank0.json.gz, scale: [attention=0.5]}
//
// A plan: the deployment that serves a load best (plan_question.h):
//
//   load: {rate: 20}
//   slo: {tpot: 30 ms}
//   plan: {gpu: [h100-sxm, h200-sxm]}
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
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/energy/power/clock_power.h"
#include "orrery/scenario/question/account_choice.h"
#include "orrery/scenario/question/collective_question.h"
#include "orrery/scenario/question/edge_question.h"
#include "orrery/scenario/question/kernel_question.h"
#include "orrery/scenario/question/plan_question.h"
#include "orrery/scenario/question/replay_question.h"
#include "orrery/scenario/question/service.h"
#include "orrery/scenario/question/training_question.h"
#include "orrery/workload/plan/engine.h"
#include "orrery/workload/plan/plan.h"

namespace orrery {

// Version of the form of scenario files. Within a major version keys and values are added, and none
// is renamed, removed or given another meaning: a file is read by every program of its minor
// version or a later one.
inline constexpr const char* kScenarioFormat = "1.0";

// A fixed batch, or a closed loop of users of which each has one request under way at a time.
struct SteadyQuestion {
  std::int64_t isl = 1024, osl = 128;   // tokens of a prompt, of an output
  std::int64_t batch = 1;               // requests of the batch; of a closed loop its users
  std::int64_t requests_per_user = 10;  // closed loop: requests of each user; 0: unlimited
  bool closed_loop = false;  // a request that ends is replaced at once by the user's next
  bool equal_lengths =
      true;               // closed loop: all requests have these lengths; false: lengths scatter
  std::int64_t past = 0;  // tokens of the prompt that the prefix cache already holds
};

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

  struct Parallel {
    std::int64_t tp = 1, pp = 1;
    int dp = 1, ep = 1, cp = 1;
    ExpertPlan experts;
    ParallelPlan plan() const {
      return {static_cast<int>(tp), static_cast<int>(pp), dp, ep, experts, cp};
    }
    bool operator==(const Parallel&) const = default;
  } parallel;

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

// One question at one point. Collectives, replays and the edge have neither model nor engine, a
// kernel has a GPU alone, and a training job has its own layout and formats. The other values of
// their setup are the defaults.
struct Scenario : ServingSetup {
  std::string name = "scenario";
  std::string question;  // in a sentence; shown above the answer

  std::string
      objective;  // of objective_names(): by which the best point of a sweep is named; or none

  CostChoice cost;  // of serving and training
  PlantChoice plant;

  using Asked = std::variant<SteadyQuestion, ServiceQuestion, CollectiveQuestion, KernelQuestion,
                             TrainingQuestion, ReplayQuestion, PlanQuestion, EdgeQuestion>;
  Asked asked;

  template <class Question>
  const Question* if_asked() const {
    return std::get_if<Question>(&asked);
  }
  // The question of this kind. A scenario that asks another kind asks this one afterwards.
  template <class Question>
  Question& ask() {
    if (!std::holds_alternative<Question>(asked)) asked = Question();
    return std::get<Question>(asked);
  }
  // REQUIRES a question of this kind.
  template <class Question>
  const Question& as() const {
    return std::get<Question>(asked);
  }

  // Values of the document whose effect the catalog decides about: those that only models with
  // experts have, and of a question about the edge those that only networks or only LLMs have.
  // Where they have none, they are refused.
  std::vector<Fields::Undecided> undecided;
};

}  // namespace orrery
