// The question: model + hardware + parallelism + precision + engine + workload, as one document.
//
//   model: llama-3-70b              # bundled id, Hugging Face id, or path to a config.json
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
// Any key can be swept, each value (or combination of values) by itself, and a file can begin with
// all that another says (its name and question apart):
//
//   include: I3.4.yaml
//   sweep: {load: {max_concurrency: [1, 8, 64]}}
//
// Every face builds a Scenario. Numbers marked as swept may be lists or ranges; the answer has a
// point for each combination, in the order tp, pp, isl, osl, batch with the last running fastest.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "orrery/base/fields.h"
#include "orrery/scenario/question/collective_question.h"
#include "orrery/scenario/question/kernel_question.h"
#include "orrery/scenario/question/service.h"
#include "orrery/scenario/question/sweep.h"
#include "orrery/scenario/question/training_question.h"
#include "orrery/workload/plan/engine.h"

namespace orrery {

// Version of the form of scenario files. Within a major version keys and values are added, and none
// is renamed, removed or given another meaning: a file is read by every program of its minor
// version or a later one.
inline constexpr const char* kScenarioFormat = "1.0";

struct Scenario {
  std::string name = "scenario";
  // What is asked, by the group that a file has: `load`, `collective`, `kernel`, `training`; else
  // a fixed batch or closed loop.
  enum class Kind { kSteady, kService, kCollective, kKernel, kTraining } kind = Kind::kSteady;
  std::string question;  // in a sentence; shown above the answer

  std::string model;
  struct ModelOverrides {
    int kv_heads = 0;  // 0: the model's own
  } model_overrides;

  struct Hardware {
    std::string gpu;   // empty for a collective: the first that the node is built with
    std::string node;  // empty: the usual one of the gpu
  } hardware;

  struct Parallel {
    Sweep tp = {1}, pp = {1};
    int dp = 1, ep = 1;
  } parallel;

  struct PrecisionChoice {  // empty: as the checkpoint is stored
    std::string quantization, moe_quantization, kv_cache_dtype, dtype;
  } precision;

  struct EngineChoice {
    std::string profile = "vllm";
    Node overrides;  // any key of EngineProfile
  } engine;

  struct Workload {
    Sweep isl = {1024}, osl = {128};
    Sweep batch = {1};
    std::int64_t requests_per_user = 10;  // of a closed loop
    bool closed_loop = false;   // batch is a concurrency: a request that ends is replaced at once
    bool equal_lengths = true;  // of a closed loop: users stay in step; false: lengths scatter
    std::int64_t max_model_len = 0;  // 0: isl + osl
    double expert_skew = 0;          // exponent of the power law of expert loads
    std::int64_t past = 0;           // tokens of the prompt that are already cached (prefix hit)
  } workload;

  ServiceScenario service;  // instead of a workload
  // Without model, engine and workload.
  CollectiveQuestion collective;
  KernelQuestion kernel;
  // Without engine, workload, parallel and precision; its `chance` is a group of its own.
  TrainingQuestion training;

  // What was set and has an effect with some models only; a model without experts refuses it.
  std::vector<Fields::Undecided> of_the_model;

  // Of a file with a `sweep`: what is swept, and a Scenario for each combination, the last key
  // running fastest; the fields above are then the first one's.
  struct SweptKey {
    std::string path;                 // "load.max_concurrency"
    std::vector<std::string> values;  // as written
  };
  std::vector<SweptKey> swept;
  std::vector<Scenario> variants;
  std::vector<std::string> at;  // of a variant: the value of each swept key
};

// How many points the answer has.
double point_count(const Scenario& scenario);

void declare(Fields& fields, Scenario& scenario);

// A document that read_scenario reads back as the same question: without what it does not ask.
nlohmann::ordered_json to_json(const Scenario& scenario);

// InputError at the key `format` of a file: it is no version, or one that this program does not
// read.
void check_format(const Node& document);

// InputError with file:line:key. A document with an `include` is read by read_scenario_document
// first (scenario_file.h).
Scenario read_scenario(const Node& document);
Scenario read_scenario(const std::filesystem::path& file);

}  // namespace orrery
