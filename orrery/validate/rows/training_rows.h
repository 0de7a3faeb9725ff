// Reads measured rows of training/iteration.csv as jobs on machines.
//
// A row is complete if it states a time or a rate, tp, pp, the GPUs, the sequence length and two of
// micro batch, global batch and accumulation, and if the facts of its GPU and model are known.
// Other settings that a row does not state are the stack's defaults (stack_defaults.h) and listed
// in `undeclared`. A row that cannot be predicted is refused with the reason.
//
// The number of micro-batches follows from the global batch. A row is not trusted if it states
// another accumulation, or for reasons of its source; `distrusted` has the reason. Such rows are
// judged and reported, but nothing is fitted to them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/hardware/catalog.h"
#include "orrery/validate/rows/stack_defaults.h"
#include "orrery/validate/rows/training_models.h"
#include "orrery/workload/plan/training_job.h"

namespace orrery {

struct TrainingRow {
  std::string table = "iteration.csv";
  int line = 0;  // of the table
  std::string source, reference;
  std::string model_id, gpu_name;  // as the table names them
  std::string gpu;                 // id of the catalog
  std::string dtype;               // bf16, fp16, fp8, mxfp8, nvfp4
  std::string framework, version;
  std::optional<double>
      release;  // of the version, in years (training/iteration/stack_release_date.h)
  std::optional<TorchVersion> torch;  // PyTorch, where the version states it
  std::string attention;              // library of attention, where the row or its framework does
  StackDefaults stack;
  Architecture model;
  TrainingJob job;
  int gpus = 0;  // 0: not stated
  NodeType node;
  bool fused_experts = false;        // StackTraits::fused_experts
  bool compiled = false;             // torch.compile, or a stack without eager kernels
  std::optional<Seconds> iteration;  // measured
  std::optional<double> tokens_per_s_per_gpu;
  std::optional<double> memory_gb;  // as stated, GB or GiB by memory_kind
  std::string memory_kind;
  bool oom = false;       // it did not fit
  bool complete = false;  // its time can be judged
  bool usable = false;    // a fit uses it: complete, or without a micro batch (taken as 1)
  std::vector<std::string> undeclared;
  std::string distrusted;  // reason why nothing is fitted to it; empty: trusted
  std::string refused;     // reason why it cannot be predicted; empty: it can

  StackRelease software() const { return {release, torch}; }
  bool declares(std::string_view field) const;
  std::string name() const;  // "iteration.csv:12 llama-3-8b on 64 h100_sxm"
};

// Reads `dir`/iteration.csv and `dir`/models.csv, every row in their order.
std::vector<TrainingRow> read_training_rows(const std::filesystem::path& dir,
                                            const Catalog& catalog,
                                            const Bundle& bundle = Bundle());

// The library that computes a row's attention on its GPU: what the row states, else what its
// framework calls, else what its stack does.
std::string attention_of(const TrainingRow& row, const Gpu& gpu);

// Number formats of a job whose large products run in `dtype` (bf16, fp16, fp8, mxfp8, nvfp4);
// InputError for others.
TrainingPrecision training_precision(std::string_view dtype, const StackDefaults& stack);

}  // namespace orrery
