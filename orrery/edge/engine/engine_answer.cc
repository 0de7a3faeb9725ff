#include "orrery/edge/engine/engine_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"

namespace orrery {
namespace {

// The rows of the largest products that were measured: more take proportionally longer.
constexpr std::int64_t kMostRows = 8192;

// A batch of inputs: all counts of a kernel are of the whole batch, weights are read once.
EdgeKernel batched(EdgeKernel kernel, int batch) {
  kernel.batch *= batch, kernel.macs *= batch;
  kernel.in_elements *= batch, kernel.out_elements *= batch;
  return kernel;
}

Bytes beyond(Bytes bytes, Bytes cache) { return std::max(bytes - cache, Bytes(0)); }

const EngineKind* known_engine(const std::string& name) {
  if (const EngineKind* kind = engine_kind(name)) return kind;
  std::vector<std::string> names;
  for (const EngineKind& e : engine_kinds()) names.emplace_back(e.name);
  throw InputError(fmt::format("runtime: no engine '{}' runs networks on a GPU of the catalog{}",
                               name, did_you_mean(name, names)));
}

}  // namespace

Bytes least_moved(const std::vector<EdgeKernel>& kernels, EnginePrecision precision, Bytes cache) {
  Bytes weights, tensors;
  for (const EdgeKernel& k : kernels) {
    if (k.macs == 0) continue;  // tables that are looked up, and tensors that may be views
    weights += real(k.weights) * element_bytes(precision);
    tensors += 2 * beyond(real(k.out_elements) * element_bytes(precision), cache);
  }
  return beyond(weights, cache) + tensors;
}

EnginePredictor::EnginePredictor(const EngineLaw& law, const Gpu& gpu, const std::string& engine,
                                 const Bundle& bundle)
    : law_(law), gpu_(gpu), engine_(known_engine(engine)) {
  kernels_ = make_kernel_model(gpu_, kernels_of(std::string(engine_->kernels)), bundle);
  Elementwise least;
  least.read = least.written = Bytes(64);
  floor_ = kernels_->predict(least).time.value;
}

Seconds EnginePredictor::time_of(const EngineCall& call) const {
  if (const Gemm* gemm = std::get_if<Gemm>(&call.op); gemm != nullptr && gemm->m > kMostRows) {
    Gemm part = *gemm;
    part.m = kMostRows;
    const double parts = double(gemm->m) / double(kMostRows);
    return time_of({part, call.moved * (1 / parts)}) * parts;
  }
  const KernelTime k = kernels_->predict(call.op);
  const Seconds by_op = std::max(k.compute, k.memory);
  const Seconds by_call = std::max(k.compute, call.moved / gpu_.memory.bandwidth);
  if (by_op <= Seconds(0) || k.time.value <= floor_) return k.time.value;
  return floor_ + (k.time.value - floor_) * std::min(1.0, by_call / by_op);
}

EngineTimes EnginePredictor::times(const EdgeGraph& graph, EnginePrecision precision,
                                   int batch) const {
  if (batch < 1) throw InputError(fmt::format("batch: expected 1 or more, got {}", batch));
  const bool tf32 = gpu_.supports(Dtype::kTf32);
  EngineTimes t;
  std::vector<EdgeKernel> batches;
  for (EdgeKernel& k : fuse(graph, fusion_rules(engine_->name))) {
    Seconds time;
    batches.push_back(batched(k, batch));
    for (const EngineCall& call : engine_calls(batches.back(), *engine_, precision, tf32)) {
      time += time_of(call);
      const Flops work = flops(call.op);
      if (work > Flops(0)) t.least += work / gpu_.peak(arithmetic(call.op));
    }
    t.sum += time;
    t.kernels.push_back({std::move(k), time});
  }
  // Where the catalog does not know the size of the cache, it may hold everything.
  if (gpu_.l2)
    t.least = std::max(t.least, least_moved(batches, precision, *gpu_.l2) / gpu_.memory.bandwidth);
  return t;
}

EdgeAnswer EnginePredictor::answer(const EdgeGraph& graph, EnginePrecision precision,
                                   int batch) const {
  EngineTimes t = times(graph, precision, batch);
  EdgeAnswer a;
  a.macs = graph.macs(), a.weights = graph.weights();
  const Seconds latency = t.with(law_.factor(engine_->name, gpu_.architecture.id));
  if (t.sum > Seconds(0)) {
    for (EdgeAnswer::Kernel& k : t.kernels) k.time = k.time * (latency / t.sum);
  }
  a.kernels = std::move(t.kernels);
  a.latency = {latency, law_.deviation(engine_->name, gpu_.architecture.id), 0,
               Origin::kTransferred};
  a.notes.push_back(
      fmt::format("{} with {}: kernels by the GPU's data sheet and its kernels of other models",
                  gpu_.name, engine_->name));
  if (!law_.engines.contains(engine_->name) || !law_.architectures.contains(gpu_.architecture.id))
    a.notes.push_back(fmt::format(
        "no published run of {} on {} was fitted; what they differ by from others is only bounded",
        engine_->name, gpu_.architecture.id));
  const bool attends = std::any_of(a.kernels.begin(), a.kernels.end(), [](const auto& k) {
    return k.kernel.family == EdgeFamily::kAttention;
  });
  if (attends)
    a.notes.push_back(fmt::format("attention: heads of {} columns are assumed", kAssumedHeadWidth));
  if (const std::string unknown = unknown_ops_note(graph); !unknown.empty())
    a.notes.push_back(unknown + "; they are counted by their data alone");
  return a;
}

}  // namespace orrery
