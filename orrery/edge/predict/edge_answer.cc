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

// The part of the time that kernels of unknown types have.
double unknown_share(const EdgeAnswer& answer) {
  Seconds all, unknown;
  for (const EdgeAnswer::Kernel& k : answer.kernels) {
    all += k.time;
    if (k.kernel.family == EdgeFamily::kUnknown) unknown += k.time;
  }
  return all > Seconds(0) ? unknown / all : 0;
}

}  // namespace

const char* EdgePredictor::law_name(const EdgeProcessor& processor) {
  return processor.gpu ? "ncnn-gpu" : "ncnn-cpu";
}

EdgePredictor::EdgePredictor(const EdgeLaw& law, const EdgeDevice& device,
                             const EdgeDevices& devices, const EdgeProcessor& processor,
                             const std::string& runtime)
    : runtime_(fusion_rules(runtime).name), law_(law), gpu_(processor.gpu) {
  if (processor.gpu) {
    if (device.gpus.empty())
      throw InputError(fmt::format("{}: no GPU is known of this device", device.id));
    const EdgeGpu& gpu = device.gpus.front();
    costs_ = law_.costs(EdgeDevices::facts(gpu));
    notes_.push_back(
        gpu.source.empty()
            ? fmt::format(
                  "{} with Vulkan, whose arithmetic rate is assumed: no document was looked up",
                  gpu.row)
            : fmt::format("{} with Vulkan", gpu.row));
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
    shares_ = devices.split(device, threads, processor.from);
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
    measured.push_back({{work_of(fuse(t.graph, fusion_rules(runtime_)), t.precision),
                         deviation_of(t.graph, t.precision)},
                        t.time});
  costs_ = calibrated(costs_, measured);
  timed_ += measured.size();
}

// The law knows the bundled networks as ncnn executes them.
int EdgePredictor::deviation_of(const EdgeGraph& graph, EdgePrecision precision) const {
  if (gpu_ && precision == EdgePrecision::kInt8)
    throw InputError(fmt::format(
        "{}: {} executes networks of bytes (int8) on the cores, not on the GPU: leave out --gpu",
        graph.name, kFittedRuntime));
  if (graph.bundled.empty() || runtime_ != kFittedRuntime) return kNoDeviation;
  return law_.deviation_of(graph.bundled + (precision == EdgePrecision::kInt8 ? "_int8" : ""));
}

EdgeAnswer EdgePredictor::answer(const EdgeGraph& graph, EdgePrecision precision) const {
  EdgeAnswer a;
  a.macs = graph.macs(), a.weights = graph.weights(), a.notes = notes_;
  const Origin origin = timed_ > 0 ? Origin::kFitted : Origin::kTransferred;
  EdgeWork sum{};
  for (EdgeKernel& k : fuse(graph, fusion_rules(runtime_))) {
    const EdgeWork work = work_of(k, precision);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += work[i];
    const Seconds time = median_time(costs_, work);
    a.kernels.push_back({std::move(k), time});
  }
  const Seconds kernels = median_time(costs_, sum);
  a.latency = time_of(costs_, {sum, deviation_of(graph, precision)}, law_.residual, origin);
  // All kernels share the known deviation of their network.
  for (EdgeAnswer::Kernel& k : a.kernels)
    if (kernels > Seconds(0)) k.time *= a.latency.value / kernels;
  if (const std::string unknown = unknown_ops_note(graph); !unknown.empty())
    a.notes.push_back(
        fmt::format("{}; they are counted by their data alone, with {:.1f} % of the predicted time",
                    unknown, 100 * unknown_share(a)));
  if (timed_ > 0)
    a.notes.push_back(fmt::format("calibrated on {} networks timed on the device", timed_));
  return a;
}

}  // namespace orrery
