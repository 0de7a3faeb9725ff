// The answer of `orrery edge`: how long a network takes on a processor of a device.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/estimate.h"
#include "orrery/edge/device/edge_device.h"
#include "orrery/edge/fusion/fused_kernel.h"
#include "orrery/edge/predict/edge_law.h"

namespace orrery {

struct EdgeProcessor {
  bool gpu = false;  // the first GPU of the device; otherwise cores
  int threads = 0;   // 0: all cores
  EdgePlacement from = EdgePlacement::kFast;
};

// A network that was timed on the processor, to calibrate the prediction.
struct TimedNetwork {
  EdgeGraph graph;
  EdgePrecision precision = EdgePrecision::kFloat;
  Seconds time;
};

struct EdgeAnswer {
  Estimate<Seconds> latency;
  std::int64_t macs = 0, weights = 0;
  struct Kernel {
    EdgeKernel kernel;
    Seconds time;  // the sum over kernels is the latency
  };
  std::vector<Kernel> kernels;
  std::vector<std::string> notes;
};

// A processor of a device, with what was timed on it. Thread-compatible.
class EdgePredictor {
 public:
  // `law` is that of law_name() for the processor. `runtime`: whose fusion rules make the kernels
  // (fuse.h). InputError: the device has no GPU, or no cores with facts, or fewer cores than
  // threads, or the runtime is unknown.
  EdgePredictor(const EdgeLaw& law, const EdgeDevice& device, const EdgeDevices& devices,
                const EdgeProcessor& processor, const std::string& runtime);
  static const char* law_name(const EdgeProcessor& processor);

  // The parts of the run that its cores do; empty on a GPU.
  const std::vector<EdgeShare>& shares() const { return shares_; }

  // Costs move towards these times. InputError: a network of bytes on a GPU.
  void calibrate(std::span<const TimedNetwork> timed);

  // InputError: a network of bytes on a GPU, which ncnn executes on the cores.
  EdgeAnswer answer(const EdgeGraph& graph, EdgePrecision precision) const;

 private:
  int deviation_of(const EdgeGraph& graph, EdgePrecision precision) const;

  std::string runtime_;
  EdgeLaw law_;
  bool gpu_;
  EdgeCosts costs_;
  std::vector<EdgeShare> shares_;
  std::size_t timed_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace orrery
