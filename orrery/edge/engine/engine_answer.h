// The answer of `orrery edge` for a network on a GPU of catalog/gpus, as an inference engine runs
// it (TensorRT, ONNX Runtime, PyTorch, OpenVINO): the kernel room's times of what the engine's
// kernels are (engine_ops.h), added up, times what engines were measured to differ by
// (engine_law.h).
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "orrery/edge/engine/engine_law.h"
#include "orrery/edge/engine/engine_ops.h"
#include "orrery/edge/graph/graph.h"
#include "orrery/edge/predict/edge_answer.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/tiers/kernel_model.h"

namespace orrery {

// The times of a network's kernels before the law of engines.
struct EngineTimes {
  std::vector<EdgeAnswer::Kernel> kernels;
  Seconds sum;
  // No less than all multiply-adds at the data sheet's rate, and no less than the bytes that must
  // pass through the memory at its bandwidth (least_moved).
  Seconds least;

  // No factor makes a network faster than its bound.
  Seconds with(double factor) const { return std::max(sum * factor, least); }
};

// The bytes that runs of a network one after the other must move between the memory and a cache of
// `cache` bytes: weights beyond what the cache can keep from run to run, and of every tensor that a
// product writes what the cache cannot hold until it is read, twice. The bound is a lower one:
// tensors and weights share the cache, which is counted in full for each of them.
Bytes least_moved(const std::vector<EdgeKernel>& kernels, EnginePrecision precision, Bytes cache);

// Thread-compatible.
class EnginePredictor {
 public:
  // InputError: no such engine.
  EnginePredictor(const EngineLaw& law, const Gpu& gpu, const std::string& engine,
                  const Bundle& bundle);

  // The time of `batch` inputs at once. InputError: a batch below 1. NoData: the GPU does not
  // multiply the format.
  EdgeAnswer answer(const EdgeGraph& graph, EnginePrecision precision, int batch = 1) const;
  EngineTimes times(const EdgeGraph& graph, EnginePrecision precision, int batch = 1) const;

 private:
  Seconds time_of(const EngineCall& call) const;

  EngineLaw law_;
  Gpu gpu_;
  const EngineKind* engine_;
  std::unique_ptr<KernelModel> kernels_;
  Seconds floor_;  // of a kernel with next to no work
};

}  // namespace orrery
