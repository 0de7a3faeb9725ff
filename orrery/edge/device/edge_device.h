// Facts of devices at the edge: phones, single boards, laptops, small servers
// (catalog/edge/devices.yaml) and of the cores in them (catalog/edge/cores.yaml).
//
// A device has clusters of equal cores, the fast ones first, and GPUs. What runs a network is a
// processor: some cores, or a GPU. A law of latency (edge/predict) sees it as facts, numbers with a
// name, such as the logarithm of its arithmetic rate.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/bundle.h"
#include "orrery/base/units.h"

namespace orrery {

struct EdgeCore {
  std::string name;            // "cortex-a76"
  std::string isa;             // "armv7", "armv8", "armv8.2", "x86", "loongarch", "riscv"
  double flops_per_cycle = 0;  // of floats; a multiply-add counts two
  bool half = false;           // arithmetic of 16-bit floats
  bool dot_product = false;    // dot products of bytes
  bool assumed = false;        // not looked up in a document
};

struct EdgeCluster {
  std::string core;
  Hertz clock;
  int cores = 1;
};

struct EdgeGpu {
  std::string row;   // the name that tables give it
  std::string kind;  // "mali", "adreno", "powervr", "apple", "tegra", "integrated", "desktop", ...
  FlopsPerSecond rate;  // of floats at the highest clock
  std::string source;   // the document that states the rate; empty: assumed
};

struct EdgeDevice {
  std::string id;
  std::string row;                    // the name that tables give it
  std::vector<EdgeCluster> clusters;  // fast ones first
  std::vector<EdgeGpu> gpus;
};

// A fact of a processor that a law may use.
struct EdgeFact {
  std::string name;
  double value = 0;
};

// A law knows a processor by these.
struct EdgeFacts {
  std::vector<EdgeFact> numbers;
  std::string design;  // the core, or the design of the GPU: processors of one are alike
};

// The part of a run that some equal cores do.
struct EdgeShare {
  std::string core;
  int cores = 1;
  FlopsPerSecond rate;  // of all of them
  double of_work = 1;   // their part of the rows of every kernel
};

// The side of the clusters from which a run takes its cores.
enum class EdgePlacement { kFast, kSlow };

class EdgeDevices {
 public:
  // Reads both files. InputError: malformed, a cluster of an unknown core, two devices of one id.
  explicit EdgeDevices(const Bundle& bundle);

  const std::vector<EdgeDevice>& all() const { return devices_; }
  // InputError with the nearest id where there is none.
  const EdgeDevice& device(std::string_view id) const;
  // The device that tables call `row`; nullptr where there is none.
  const EdgeDevice* of_row(std::string_view row) const;
  const EdgeCore& core(const std::string& name) const { return cores_.at(name); }

  // The parts of a run that `threads` cores do: rows of a kernel go to the cores as they get done,
  // so that a core takes as much as its rate is of all, and unlike cores end together. More threads
  // than cores count as all cores. REQUIRES: a device with clusters.
  std::vector<EdgeShare> split(const EdgeDevice& device, int threads, EdgePlacement from) const;

  // The facts of `threads` cores that split the work: "rate", the logarithm of their float rate
  // over 20 GFLOP/s; "threads", the logarithm of their number; "dot_product"; and the instruction
  // set ("x86"), which is 1. The design is that of the first core. REQUIRES: as split().
  EdgeFacts facts(const EdgeDevice& device, int threads, EdgePlacement from) const;
  // The facts of a GPU: "rate", the logarithm of its float rate over 1 TFLOP/s, and its kind.
  static EdgeFacts facts(const EdgeGpu& gpu);

 private:
  std::map<std::string, EdgeCore> cores_;
  std::vector<EdgeDevice> devices_;
};

}  // namespace orrery
