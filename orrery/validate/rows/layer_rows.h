// Rows of data/layers, and the op of a step that each measured layer is.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/hardware/catalog.h"
#include "orrery/kernel/tiers/kernel_model.h"
#include "orrery/model/catalog/catalog.h"
#include "orrery/scenario/setup/deployment.h"
#include "orrery/serving/profile/engine_profile.h"
#include "orrery/workload/inference/program.h"

namespace orrery {

// A layer as the tables call it and the op of a program that does the same work. `fits` tells
// whether some of the layer's rows fitted the elementwise surface.
struct LayerName {
  std::string_view layer, op;
  bool fits = false;
};
std::span<const LayerName> layer_names();

// The sequences of a measured call, from the columns `unit` and `count`: decoding sequences with
// one cached token, or the new tokens of one sequence.
inline SequenceGroup layer_group(std::string_view unit, std::int64_t count) {
  SequenceGroup group;
  if (unit == "sequences") {
    group.sequences = count;
    group.past = 1;
  } else {
    group.new_tokens = count;
  }
  return group;
}

// The values of the columns that both tables have.
struct LayerRow {
  std::string source, gpu, model, dtype;
  int tp = 1;
  double time_us = 0;
};

class LayerRowReader {
 public:
  explicit LayerRowReader(CsvReader& csv)
      : csv_(csv),
        source_(csv.column("source")),
        gpu_(csv.column("gpu")),
        model_(csv.column("model")),
        dtype_(csv.column("dtype")),
        tp_(csv.column("tp")),
        time_(csv.column("time_us")) {}
  LayerRow read() const {
    auto text = [this](int column) { return std::string(csv_.text(column)); };
    return {text(source_),
            text(gpu_),
            text(model_),
            text(dtype_),
            static_cast<int>(csv_.integer(tp_)),
            csv_.number(time_)};
  }

 private:
  CsvReader& csv_;
  int source_, gpu_, model_, dtype_, tp_, time_;
};

// The GPU, model and kernels of a row. They are kept from row to row, since tables are sorted by
// them.
class LayerSubject {
 public:
  explicit LayerSubject(const Bundle& bundle) : catalog_(bundle), bundle_(bundle) {}

  // Sets the subject to that of a row. Throws as the loaders and check_plan do.
  void set(const LayerRow& row) {
    const std::string key = fmt::format("{}|{}|{}|{}", row.gpu, row.model, row.dtype, row.tp);
    if (key == key_) return;
    key_.clear();
    gpu_ = catalog_.gpu(row.gpu);
    model_ = load_model(row.model, bundle_);
    plan_.tp = row.tp;
    check_plan(model_, plan_);
    Scenario scenario;
    scenario.model = model_.id;
    scenario.hardware.gpu = gpu_->id;
    const Deployment d =
        make_deployment(scenario, model_, *gpu_, load_engine("vllm", *gpu_, bundle_));
    engine_ = d.engine;
    precision_.activations = precision_.attention = precision_.kv_cache =
        row.dtype == "fp16" ? Dtype::kFp16 : Dtype::kBf16;
    precision_.weights = precision_.lm_head = plain_format(precision_.activations);
    kernels_ = make_kernel_model(*gpu_, d.classes, bundle_);
    key_ = key;
  }

  const Gpu& gpu() const { return *gpu_; }
  const EngineProfile& engine() const { return engine_; }
  // The op called `name` in a step of one group of sequences, if the step has it.
  std::optional<Op> op(std::string_view name, const SequenceGroup& group) const {
    for (const ProgramOp& p : forward_program(model_, plan_, precision_, {{group}}).ops) {
      if (p.name == name) return p.op;
    }
    return std::nullopt;
  }
  Estimate<Seconds> time(const Op& op) const { return kernels_->predict(op).time; }

 private:
  const Catalog catalog_;
  const Bundle& bundle_;
  std::string key_;
  std::optional<Gpu> gpu_;
  Architecture model_;
  ParallelPlan plan_;
  Precision precision_;
  EngineProfile engine_;
  std::unique_ptr<KernelModel> kernels_;
};

}  // namespace orrery
