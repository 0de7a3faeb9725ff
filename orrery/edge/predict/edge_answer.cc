#include "orrery/edge/predict/edge_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.h"
#include "orrery/edge/fusion/fuse.h"

namespace orrery {
namespace {

constexpr const char* kFittedRuntime = "ncnn";  // whose latencies the laws are fitted on

int cores_of(const EdgeDevice& device) {
  int cores = 0;
  for (const EdgeCluster& c : device.clusters) cores += c.cores;
  return cores;
}

}  // namespace

const char* EdgePredictor::law_name(const EdgeProcessor& processor) {
  return processor.gpu ? "ncnn-gpu" : "ncnn-cpu";
}

EdgePredictor::EdgePredictor(const EdgeLaw& law, const EdgeDevice& device,
                             const EdgeDevices& devices, const EdgeProcessor& processor,
                             const std::string& runtime)
    : runtime_(fusion_rules(runtime).name), law_(law) {
  if (processor.gpu) {
    if (device.gpus.empty())
      throw InputError(fmt::format("{}: no GPU is known of this device", device.id));
    costs_ = law_.costs(EdgeDevices::facts(device.gpus.front()));
    notes_.push_back(
        fmt::format("{} with Vulkan, whose arithmetic rate is assumed: no document was looked up",
                    device.gpus.front().row));
  } else {
    const int cores = cores_of(device);
    if (cores == 0)
      throw InputError(
          fmt::format("{}: no cores are known of this device; --gpu asks for its GPU", device.id));
    if (processor.threads > cores)
      throw InputError(
          fmt::format("{}: {} threads on {} cores", device.id, processor.threads, cores));
    const int threads = processor.threads > 0 ? processor.threads : cores;
    costs_ = law_.costs(devices.facts(device, threads, processor.from));
    if (processor.threads == 0) notes_.push_back("not declared: all cores compute (--threads)");
    const auto assumed = [&](const EdgeCluster& c) { return devices.core(c.core).assumed; };
    if (std::any_of(device.clusters.begin(), device.clusters.end(), assumed))
      notes_.push_back("the arithmetic rate of the cores is assumed: no document was looked up");
  }
  if (runtime_ != kFittedRuntime)
    notes_.push_back(fmt::format("kernels as {} fuses them, at the costs of {}'s kernels", runtime_,
                                 kFittedRuntime));
}

void EdgePredictor::calibrate(std::span<const TimedNetwork> timed) {
  std::vector<MeasuredNetwork> measured;
  for (const TimedNetwork& t : timed)
    measured.push_back({work_of(fuse(t.graph, fusion_rules(runtime_)), t.precision), t.time});
  costs_ = calibrated(costs_, measured);
  timed_ += measured.size();
}

EdgeAnswer EdgePredictor::answer(const EdgeGraph& graph, EdgePrecision precision) const {
  EdgeAnswer a;
  a.macs = graph.macs(), a.weights = graph.weights(), a.notes = notes_;
  const Origin origin = timed_ > 0 ? Origin::kFitted : Origin::kTransferred;
  EdgeWork sum{};
  for (EdgeKernel& k : fuse(graph, fusion_rules(runtime_))) {
    const EdgeWork work = work_of(k, precision);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += work[i];
    const Seconds time = time_of(costs_, work, 0, origin).value;
    a.kernels.push_back({std::move(k), time});
  }
  a.latency = time_of(costs_, sum, law_.residual, origin);
  if (const std::string unknown = unknown_ops_note(graph); !unknown.empty())
    a.notes.push_back(unknown + " are counted by their data alone");
  if (timed_ > 0)
    a.notes.push_back(fmt::format("calibrated on {} networks timed on the device", timed_));
  return a;
}

}  // namespace orrery
